import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { refuseTooMuchText, type FolderFile } from "./folder-files.ts";
import { CELL_END, PROGRESS, ROW_END, type ParquetTop } from "./parquet-values.ts";
import { ImportError } from "./problems.ts";

const PROCESS_MEGABYTES = 512;
/** Longest time without output; far above the time for a page. */
const LONGEST_SILENCE_MS = 60_000;
/** Bytes that a value may have in the file for each byte of its text: 16 bytes of a DECIMAL may be one digit and a comma. */
const UNPACKED_PER_TEXT = 8;

/**
 * Reads a Parquet file page by page in a separate process with limited memory and time, so that no file can use more. Yields the
 * same records as `readRecords` does for CSV, with the row number in place of the line. Throws ImportError for a file that
 * cannot be read.
 */
export async function readParquet(
  file: FolderFile,
  known: readonly string[],
  on: {
    top: (top: ParquetTop) => void;
    record: (cells: string[], row: number) => void;
    portion: () => Promise<void>;
    bytes: (bytes: number) => void;
    /** Its reason is thrown. */
    signal?: AbortSignal | undefined;
  },
): Promise<void> {
  const script = join(import.meta.dirname, "parquet-process.ts");
  const mostUnpacked = (file.textLimit?.most ?? Infinity) * UNPACKED_PER_TEXT;
  const options = [
    `--max-old-space-size=${PROCESS_MEGABYTES}`,
    script,
    file.path,
    `${mostUnpacked}`,
    ...known,
  ];
  // An empty environment keeps the secrets of this process from it.
  const reading = spawn(process.execPath, options, { env: {}, stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(reading, "close") as Promise<[code: number | null, signal: string | null]>;
  ended.catch(() => {});
  let problem = "";
  reading.stderr.setEncoding("utf8").on("data", (text: string) => (problem += text.slice(0, 1000)));
  let isSilent = false;
  let isBusy = false;
  const silence = setTimeout(() => {
    if (isBusy) silence.refresh();
    else isSilent = reading.kill("SIGKILL");
  }, LONGEST_SILENCE_MS);
  const stop = (): boolean => reading.kill("SIGKILL");
  on.signal?.addEventListener("abort", stop);
  let row = 0;
  let rest = "";
  let isTop = true;
  try {
    for await (const text of reading.stdout.setEncoding("utf8") as AsyncIterable<string>) {
      isBusy = true;
      refuseTooMuchText(file, text.length);
      const records = (rest + text).split(ROW_END);
      rest = records.pop() ?? "";
      for (const record of records) {
        if (isTop) on.top(JSON.parse(record) as ParquetTop);
        else if (record.startsWith(PROGRESS)) on.bytes(Number(record.slice(PROGRESS.length)));
        else on.record(record.split(CELL_END), (row += 1));
        isTop = false;
      }
      await on.portion();
      isBusy = false;
      silence.refresh();
    }
    const [code] = await ended;
    on.signal?.throwIfAborted();
    if (code !== 0) throw new ImportError(`${file.fileName}: ${whyEnded(code, isSilent, problem)}`);
  } finally {
    clearTimeout(silence);
    on.signal?.removeEventListener("abort", stop);
    stop();
  }
}

/** `problem`: the message that the process wrote, if any. */
function whyEnded(code: number | null, isSilent: boolean, problem: string): string {
  if (code === 1 && problem !== "") return problem;
  if (isSilent) return "takes too long to be read: write it with smaller row groups";
  return `needs more than ${PROCESS_MEGABYTES} MB to be read: write it with smaller row groups, such as 100,000 rows`;
}
