import { spawn } from "node:child_process";
import { once } from "node:events";
import { getCompileCacheDir } from "node:module";
import { dirname, join } from "node:path";
import { refuseTooMuchText, type FolderFile } from "./folder-files.ts";
import { CELL_END, type ParquetTop } from "./parquet-values.ts";
import { ImportError } from "./problems.ts";

const PROCESS_MEGABYTES = 512;
/** Longest time without output; far above the time for a page. */
const LONGEST_SILENCE_MS = 60_000;
/** What reading may cost the process for each byte of text: 16 bytes of a DECIMAL may be one digit and a comma. */
const COST_PER_TEXT = 16;

/** Where the content of a file goes. */
type ParquetOutput = {
  top: (top: ParquetTop) => void;
  record: (cells: string[], row: number) => void;
  portion: () => Promise<void>;
  bytes: (bytes: number) => void;
};

/**
 * Reads the Parquet files of a folder page by page in one separate process with limited memory and time. `read` is called for each
 * file in turn and yields the same records as `readRecords` does for CSV, with the row number in place of the line. It throws
 * ImportError for a file that cannot be read, and the signal's reason. `close` ends the process.
 */
export function openParquet(
  files: readonly FolderFile[],
  knownOf: (file: FolderFile) => readonly string[],
  signal?: AbortSignal,
): { read(file: FolderFile, on: ParquetOutput): Promise<void>; close(): void } {
  let running: ReturnType<typeof startReading> | undefined;
  const stop = (): void => void running?.child.kill("SIGKILL");
  signal?.addEventListener("abort", stop);
  // What the process wrote that is not read yet: whole cells, and the start of one.
  let cells: string[] = [];
  let rest = "";
  return {
    read: async (file, on) => {
      const { child, ended, chunks, problem } = (running ??= startReading(files, knownOf));
      let isSilent = false;
      let top: ParquetTop | undefined;
      let [row, rowCount, width] = [0, Infinity, Infinity];
      for (;;) {
        let at = 0;
        if (top === undefined && cells.length > 0) {
          top = JSON.parse(cells[0] as string) as ParquetTop;
          on.top(top);
          rowCount = top.groupRows.reduce((sum, rows) => sum + rows, 0);
          [at, width] = [1, top.width];
        }
        while (row < rowCount && at + width <= cells.length)
          on.record(cells.slice(at, (at += width)), (row += 1));
        cells = cells.slice(at);
        if (row > 0) on.bytes((file.bytes * row) / rowCount);
        await on.portion();
        if (row === rowCount) return;
        const silence = setTimeout(() => (isSilent = child.kill("SIGKILL")), LONGEST_SILENCE_MS);
        const next = await chunks.next().finally(() => clearTimeout(silence));
        if (next.done === true) break;
        refuseTooMuchText(file, next.value.length);
        const more = (rest + next.value).split(CELL_END);
        rest = more.pop() ?? "";
        cells = cells.length === 0 ? more : [...cells, ...more];
      }
      const [code] = await ended;
      signal?.throwIfAborted();
      throw new ImportError(`${file.fileName}: ${whyEnded(code, isSilent, problem())}`);
    },
    close: () => {
      signal?.removeEventListener("abort", stop);
      stop();
    },
  };
}

function startReading(files: readonly FolderFile[], knownOf: (file: FolderFile) => readonly string[]) {
  const allowedCost = (files[0]?.textLimit?.most ?? Infinity) * COST_PER_TEXT;
  const options = [
    `--max-old-space-size=${PROCESS_MEGABYTES}`,
    join(import.meta.dirname, "parquet-process.ts"),
    `${allowedCost}`,
    ...files.map((file) => JSON.stringify([file.path, ...knownOf(file)])),
  ];
  // No more of the environment keeps the secrets of this process from it; with code that was compiled before it starts sooner.
  const cache = getCompileCacheDir();
  const env = cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) };
  const child = spawn(process.execPath, options, { env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "close") as Promise<[code: number | null, signal: string | null]>;
  ended.catch(() => {});
  let problem = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (problem += text.slice(0, 1000)));
  const chunks = (child.stdout.setEncoding("utf8") as AsyncIterable<string>)[Symbol.asyncIterator]();
  return { child, ended, chunks, problem: () => problem };
}

/** `problem`: the message that the process wrote, if any. */
function whyEnded(code: number | null, isSilent: boolean, problem: string): string {
  if (code === 1 && problem !== "") return problem;
  if (isSilent) return "takes too long to be read: write it with smaller row groups";
  return `needs more than ${PROCESS_MEGABYTES} MB to be read: write it with smaller row groups, such as 100,000 rows`;
}
