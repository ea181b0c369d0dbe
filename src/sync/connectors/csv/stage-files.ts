import type { Connection } from "../../../store/database.ts";
import { analyzeStage, countStaged, removeRepeatedRows } from "../../../store/queries/import-stage.ts";
import type { StagedCounts } from "../../../store/queries/import-stage.ts";
import { openCopyBuffer } from "../../copy.ts";
import type { CopyValue } from "../../copy.ts";
import { readRecords } from "./csv-records.ts";
import { CellProblem, openCsvRow } from "./csv-row.ts";
import type { CsvColumns, CsvRow } from "./csv-row.ts";
import { DELETED, FILE_FORMATS } from "./file-formats.ts";
import type { FileFormat, RowContext } from "./file-formats.ts";
import { readText } from "./folder-files.ts";
import type { FolderFile } from "./folder-files.ts";
import { ImportError } from "./problems.ts";
import type { ImportWarning, ProblemList } from "./problems.ts";
import { refuseOtherSeparators } from "./recognize-files.ts";
import { fileWarnings } from "./warnings.ts";

/** What a message shows of a header. */
const SHOWN_NAMES = 20;
const SHOWN_LETTERS = 40;

export type StageOptions = RowContext & { connection: Connection; problems: ProblemList };

export type StagedFolder = {
  counts: StagedCounts;
  /** Rows of the three order files, repeated ones included. */
  orderRows: number;
  warnings: ImportWarning[];
};

/** Stages every file of a folder. Of rows with one key the last stays; those of orders all stay, to be sorted out later. */
export async function stageFolder(
  files: readonly FolderFile[],
  options: StageOptions,
  onBytes: (fileName: string, doneBytes: number) => void,
): Promise<StagedFolder> {
  const { connection } = options;
  const warnings: ImportWarning[] = [];
  let orderRows = 0;
  let bytesBefore = 0;
  for (const file of files) {
    const report = (bytes: number): void => onBytes(file.fileName, bytesBefore + bytes);
    const rows = await stageFile(file, { ...options, warnings }, report);
    bytesBefore += file.bytes;
    if (FILE_FORMATS[file.name].table === "staged_order_row") orderRows += rows;
  }
  await analyzeStage(connection);
  for (const file of files) {
    const removed = await removeRepeatedRows(connection, FILE_FORMATS[file.name].table);
    warnings.push(...fileWarnings([file], "repeated_row", { [file.name]: removed }));
  }
  return { counts: await countStaged(connection), orderRows, warnings };
}

/**
 * Reads one file into its staging table and returns how many rows that are; rows that cannot be used become problems.
 * Memory stays flat for a file of any size. Throws ImportError for a file that cannot be read at all.
 */
async function stageFile(
  file: FolderFile,
  options: StageOptions & { warnings: ImportWarning[] },
  onBytes: (bytes: number) => void,
): Promise<number> {
  const format: FileFormat = FILE_FORMATS[file.name];
  const { table, stagedColumns, removal } = format;
  const columns = ["line_number", ...stagedColumns, ...(removal === undefined ? [] : [DELETED])];
  const target = `${table} (${columns.join(", ")})`;
  const buffer = openCopyBuffer(options.connection, target);
  let rowOf: ((cells: readonly string[]) => CsvRow) | null = null;
  let width = 0;
  let stagedRows = 0;
  const onRecord = (cells: string[], line: number): void => {
    if (rowOf === null) {
      rowOf = openCsvRow(readHeader(file, format, cells, line, options.warnings));
      width = cells.length;
      return;
    }
    try {
      if (cells.length !== width) {
        const reason = `has ${cells.length} cells where the header has ${width}`;
        throw new CellProblem(null, reason, `${width} cells, as in the header`);
      }
      buffer.add([line, ...valuesOf(rowOf(cells), format, options)]);
      stagedRows += 1;
    } catch (error) {
      if (!(error instanceof CellProblem)) throw error;
      const { column, message: reason, allowed } = error;
      options.problems.add({ file: file.fileName, line, column, reason, allowed });
    }
  };
  try {
    const text = withCommas(file, readText(file, onBytes));
    await readRecords(file.fileName, text, onRecord, () => buffer.sendIfFull());
  } finally {
    // A batch that still travels has to arrive before anything else may run on the connection, also a rollback.
    await buffer.send();
  }
  if (rowOf === null) throw new ImportError(`${file.fileName}: the file is empty, not even a header row`);
  return stagedRows;
}

/** What is staged of a row after its line number; of a deleted row its key. */
function valuesOf(
  row: CsvRow,
  { stagedColumns, read, removal }: FileFormat,
  context: RowContext,
): CopyValue[] {
  if (removal === undefined) return read(row, context);
  if (!row.flag(DELETED)) return [...read(row, context), false];
  const key = removal.read(row, context);
  const others = stagedColumns.slice(key.length);
  return [...key, ...others.map(() => null), true];
}

/** The text as it is; throws ImportError when its header shows another separator. */
async function* withCommas(file: FolderFile, text: AsyncIterable<string>): AsyncGenerator<string> {
  let isStart = true;
  for await (const chunk of text) {
    if (isStart) refuseOtherSeparators(file.fileName, chunk, knownColumns(FILE_FORMATS[file.name]));
    isStart = false;
    yield chunk;
  }
}

function knownColumns({ columns, removal }: FileFormat): ReadonlySet<string> {
  return new Set([...columns, ...(removal === undefined ? [] : [DELETED])]);
}

/** The names of a header for a message: enough of them to see what is wrong. */
function shownNames(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN_NAMES).map((name) => JSON.stringify(name.slice(0, SHOWN_LETTERS)));
  return `${shown.join(", ")}${names.length > SHOWN_NAMES ? ", …" : ""}`;
}

function readHeader(
  file: FolderFile,
  format: FileFormat,
  cells: readonly string[],
  line: number,
  warnings: ImportWarning[],
): CsvColumns {
  const fail = (what: string): ImportError => new ImportError(`${file.fileName}: line ${line}: ${what}`);
  const names = cells.map((cell) => cell.trim());
  if (names.some((name) => name.includes("\0"))) throw fail("wrong encoding, the file must be UTF-8");
  const columns = new Map<string, number>();
  for (const [index, name] of names.entries()) {
    if (name !== "" && columns.has(name)) throw fail(`the column ${name} stands twice in the header`);
    columns.set(name, index);
  }
  const { removal, required } = format;
  // Rows that are not deleted are refused one by one where such a file lacks their columns.
  const needed = removal !== undefined && columns.has(DELETED) ? removal.keys : required;
  const missing = needed.filter((name) => !columns.has(name));
  if (missing.length > 0) {
    const what = missing.length === 1 ? "the required column" : "the required columns";
    const areMissing = `${what} ${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} missing`;
    throw fail(`${areMissing}; the header has ${shownNames(names)}`);
  }
  const known = knownColumns(format);
  for (const name of names) {
    if (known.has(name)) continue;
    warnings.push({
      kind: "unknown_column",
      file: file.fileName,
      message: `the unknown column ${JSON.stringify(name)} is ignored`,
      count: 1,
    });
  }
  return columns;
}
