import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { FILE_NAMES, type FileName } from "./file-formats.ts";
import { ImportError } from "./problems.ts";

/** The endings of file names. */
export const FILE_ENDINGS = [".csv", ".csv.gz", ".parquet"] as const;

/** One file of an import folder; `fileName` is as it stands there, with one of the endings. */
export type FolderFile = {
  name: FileName;
  fileName: string;
  path: string;
  bytes: number;
  /** When it was last written. */
  changedAtMs: number;
  /** Shared by the files of a folder. */
  textLimit?: TextLimit;
  /** How many rows each row group of a Parquet file has, once it is read; of a CSV file none. */
  groupRows?: readonly number[];
};

/** Counts the unpacked bytes of a folder's files; false = they are more than are allowed. */
type TextLimit = { most: number; admits: (bytes: number) => boolean };

export function openTextLimit(mostBytes: number): TextLimit {
  let bytes = 0;
  return { most: mostBytes, admits: (added) => (bytes += added) <= mostBytes };
}

/** The files allowed for a workspace whose orders and catalogue come from a connection. */
const BESIDE_A_STORE: ReadonlySet<FileName> = new Set(["return_labels", "sale_events"]);

/**
 * The files of the import format in a folder, in the order they are read. Extra files are ignored. Throws ImportError
 * for a folder without any of them, or that would overwrite data of `connectedStore` (null = no store is).
 */
export async function findFolderFiles(folder: string, connectedStore: string | null): Promise<FolderFile[]> {
  const present = await readdir(folder).catch(async (error: NodeJS.ErrnoException) => {
    throw await folderProblem(folder, error);
  });
  refuseOtherKinds(present);
  const files: FolderFile[] = [];
  for (const name of FILE_NAMES) {
    const fileNames = fileNamesOf(name).filter((fileName) => present.includes(fileName));
    const [fileName] = fileNames;
    if (fileNames.length > 1)
      throw new ImportError(`${fileNames.join(" and ")}: there must be only one of them`);
    if (fileName === undefined) continue;
    const path = join(folder, fileName);
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      throw unreadable({ fileName }, error);
    });
    if (!found.isFile()) {
      const kind = found.isDirectory() ? "a folder" : "a pipe or a device";
      throw new ImportError(`${fileName}: is ${kind}, but a file is expected: replace it with the file`);
    }
    files.push({ name, fileName, path, bytes: found.size, changedAtMs: found.mtimeMs });
  }
  if (connectedStore === null && files.length === 0) {
    await refuseOrderExports(folder, present);
    throw new ImportError(
      `${folder}: nothing to import, as the folder contains none of ${KNOWN_FILES} (each may end in .csv.gz or .parquet)`,
    );
  }
  const problem = besideStoreProblem(files, connectedStore, folder);
  if (problem !== null) throw new ImportError(problem);
  return files;
}

/** The names under which a file of the format is looked for. */
export function fileNamesOf(name: FileName): string[] {
  return FILE_ENDINGS.map((ending) => name + ending);
}

/** Why files cannot be imported into a workspace connected to this store (null: none); null: they can. */
export function besideStoreProblem(
  files: readonly Pick<FolderFile, "name" | "fileName">[],
  connectedStore: string | null,
  folder: string,
): string | null {
  if (connectedStore === null) return null;
  const overwriting = files.find((file) => !BESIDE_A_STORE.has(file.name));
  if (overwriting === undefined && files.length > 0) return null;
  const what = overwriting === undefined ? `${folder}: nothing to import` : overwriting.fileName;
  return (
    `${what}: this workspace gets its orders and products from ${connectedStore}, ` +
    "so that a folder may hold return_labels.csv and sale_events.csv only"
  );
}

/**
 * The text of a file in chunks, without byte order mark. `onBytes` gets the bytes read from disk so far. Throws
 * ImportError for a spreadsheet, a damaged gzip, a wrong encoding, a failing disk or too much text.
 */
export async function* readText(file: FolderFile, onBytes: (bytes: number) => void): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let line = 1;
  let isStart = true;
  for await (const { chunk, bytesRead } of readBytes(file)) {
    if (isStart) refuseOtherContent(file.fileName, chunk);
    isStart = false;
    refuseTooMuchText(file, chunk.length);
    const text = decodeChunk(decoder, chunk, () => wrongEncoding(file, line + lineOfBadBytes(chunk)));
    line += countLineBreaks(chunk);
    onBytes(bytesRead);
    yield text;
  }
  decodeChunk(decoder, null, () => wrongEncoding(file, line));
}

async function* readBytes(file: FolderFile): AsyncGenerator<{ chunk: Buffer; bytesRead: number }> {
  const source = createReadStream(file.path);
  const bytes: Readable & AsyncIterable<Buffer> = file.fileName.endsWith(".gz")
    ? pipeline(source, createGunzip({ chunkSize: 64 * 1024 }), () => {})
    : source;
  const chunks = bytes[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await chunks.next().catch((error: NodeJS.ErrnoException) => {
        throw unreadable(file, error);
      });
      if (next.done === true) return;
      yield { chunk: next.value, bytesRead: source.bytesRead };
    }
  } finally {
    bytes.destroy();
    source.destroy();
  }
}

function decodeChunk(decoder: TextDecoder, chunk: Buffer | null, failure: () => ImportError): string {
  try {
    return chunk === null ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw failure();
  }
}

/** Counts text that was read of a file; throws ImportError when the files of its folder hold more than they may. */
export function refuseTooMuchText({ fileName, textLimit }: FolderFile, bytes: number): void {
  if (textLimit?.admits(bytes) !== false) return;
  const limit = `${textLimit.most.toLocaleString("en")} bytes`;
  throw new ImportError(`${fileName}: uncompressed, the files contain more than ${limit} of text`);
}

function wrongEncoding(file: FolderFile, line: number): ImportError {
  return new ImportError(`${file.fileName}: line ${line}: wrong encoding, the file must be UTF-8`);
}

/** Throws ImportError for a file that was written or replaced since it was found: what was read may be a part of it. */
export async function refuseChangedFile({ fileName, path, bytes, changedAtMs }: FolderFile): Promise<void> {
  const now = await stat(path).catch(() => null);
  if (now?.size === bytes && now.mtimeMs === changedAtMs) return;
  throw new ImportError(`${fileName}: has changed while it was read: import it once it is complete`);
}

function unreadable({ fileName }: Pick<FolderFile, "fileName">, error: NodeJS.ErrnoException): ImportError {
  const isGzip = error.code?.startsWith("Z_") === true;
  const what = isGzip ? "the gzip is damaged or cut off" : "the file cannot be read";
  return new ImportError(`${fileName}: ${what} (${error.message})`);
}

const LINE_BREAK = 10;

function countLineBreaks(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(LINE_BREAK); at >= 0; at = chunk.indexOf(LINE_BREAK, at + 1)) count += 1;
  return count;
}

/** How many line breaks precede the first bytes that are not UTF-8; a character cut off by the chunk's start is skipped. */
function lineOfBadBytes(chunk: Buffer): number {
  let lines = 0;
  let start = 0;
  for (let at = chunk.indexOf(LINE_BREAK); at >= 0; at = chunk.indexOf(LINE_BREAK, start)) {
    if (start > 0 && !isUtf8(chunk.subarray(start, at))) return lines;
    if (start === 0 && !isUtf8(chunk.subarray(firstWholeCharacter(chunk), at))) return lines;
    lines += 1;
    start = at + 1;
  }
  return lines;
}

function firstWholeCharacter(chunk: Buffer): number {
  const index = chunk.findIndex((byte) => (byte & 0xc0) !== 0x80);
  return Math.min(3, Math.max(0, index));
}

/** Other kinds of files: their extension, their kind, and what to do instead. */
const OTHER_KINDS: readonly (readonly [ending: RegExp, kind: string])[] = [
  [/\.(?:xlsx|xlsm|xls|ods|numbers)(?:\.gz)?$/iu, "a spreadsheet"],
  [/\.(?:tsv|tab)(?:\.gz)?$/iu, "a tab-separated file"],
];

/** The names that an import looks for, for a message. */
const KNOWN_FILES = FILE_NAMES.map((name) => `${name}.csv`).join(", ");

/** For a path that is not a folder. */
async function folderProblem(path: string, error: NodeJS.ErrnoException): Promise<ImportError> {
  const found = await stat(path).catch(() => null);
  if (error.code === "ENOENT") return new ImportError(`${path}: there is no such folder`);
  if (found?.isFile() !== true) {
    return new ImportError(`${path}: the folder cannot be read (${error.code ?? error.message})`);
  }
  const kind = kindOf(basename(path));
  const fix = kind === null ? "give the folder that holds it" : `give the folder that holds ${saved(kind)}`;
  return new ImportError(
    `${path}: is ${kind ?? "a file"}, but a folder of CSV or Parquet files is expected: ${fix}`,
  );
}

/**
 * Throws ImportError for a file with a name of the format but of another kind: if it were ignored,
 * its rows would be missing from the figures.
 */
function refuseOtherKinds(present: readonly string[]): void {
  for (const name of FILE_NAMES) {
    if (fileNamesOf(name).some((fileName) => present.includes(fileName))) continue;
    const other = present.find((file) => file.startsWith(`${name}.`) && kindOf(file) !== null);
    const kind = other === undefined ? null : kindOf(other);
    if (kind !== null)
      throw new ImportError(`${other}: is ${kind}, not CSV: replace it with ${saved(kind, name)}`);
  }
}

/** Columns that only the order export of Shopify's admin has. */
const SHOPIFY_EXPORT = ["Name", "Financial Status", "Lineitem quantity"];
const HEADER_BYTES = 4096;

/**
 * Throws ImportError when the columns are those of an order export of Shopify's admin. It has the refunded amount of an order, but
 * neither the lines nor the times: imported as returns, it would give wrong rates.
 */
export function refuseOrderExport(fileName: string, columns: readonly string[]): void {
  if (!SHOPIFY_EXPORT.every((name) => columns.includes(name))) return;
  throw new ImportError(
    `${fileName}: is an order export of Shopify's admin, which does not say which units came back, or when: ` +
      "connect the store instead (./returns connect shopify, or Settings, Sources)",
  );
}

/** The same for the files of a folder that has none of the format. */
async function refuseOrderExports(folder: string, present: readonly string[]): Promise<void> {
  for (const fileName of present.filter((name) => name.endsWith(".csv"))) {
    const path = join(folder, fileName);
    // Reading a pipe without a writer would never end.
    if ((await stat(path).catch(() => null))?.isFile() !== true) continue;
    const start = createReadStream(path, { end: HEADER_BYTES, encoding: "utf8" });
    const [text = ""] = (await start.toArray().catch(() => [])) as string[];
    const [header = ""] = text.replace("\ufeff", "").split(/[\r\n]/u, 1);
    refuseOrderExport(fileName, header.replaceAll('"', "").split(/[,;\t]/u));
  }
}

function kindOf(fileName: string): string | null {
  return OTHER_KINDS.find(([ending]) => ending.test(fileName))?.[1] ?? null;
}

function saved(kind: string, name?: string): string {
  const what = kind === "a spreadsheet" ? "its sheet saved as CSV UTF-8" : "the same rows as CSV with commas";
  return name === undefined ? `${what}, under one of the names ${KNOWN_FILES}` : `${what}, named ${name}.csv`;
}

const ZIP_SIGNATURE = Buffer.from("PK\u0003\u0004");
const PARQUET_SIGNATURE = Buffer.from("PAR1");
const OLD_OFFICE_SIGNATURE = Buffer.from([0xd0, 0xcf, 0x11, 0xe0]);

/** Throws ImportError for a spreadsheet or a Parquet file that was only renamed to .csv; `start` is how the file begins. */
function refuseOtherContent(fileName: string, start: Buffer): void {
  if (start.subarray(0, PARQUET_SIGNATURE.length).equals(PARQUET_SIGNATURE)) {
    throw new ImportError(`${fileName}: is a Parquet file by its content, not CSV: name it .parquet`);
  }
  const isWorkbook = [ZIP_SIGNATURE, OLD_OFFICE_SIGNATURE].some((signature) =>
    start.subarray(0, signature.length).equals(signature),
  );
  if (isWorkbook) {
    throw new ImportError(
      `${fileName}: is a spreadsheet (.xlsx or .xls) or a zip file by its content, not CSV: ` +
        "save the sheet as CSV UTF-8 under this name",
    );
  }
}

const SEPARATORS: readonly (readonly [separator: string, word: string])[] = [
  [";", "semicolons"],
  ["\t", "tabs"],
  ["|", "vertical bars"],
];

/**
 * Throws ImportError when the header is of known columns, but not separated by commas; `start` is the beginning of the
 * text. Excel writes such files where a comma is the decimal sign.
 */
export function refuseOtherSeparators(fileName: string, start: string, known: ReadonlySet<string>): void {
  const [first = "", second = ""] = start.split(/\r\n|\r|\n/u, 2);
  const header = /^"?sep=/iu.test(first) ? second : first;
  const knownBy = (separator: string): number =>
    header.split(separator).filter((cell) => known.has(cell.trim().replaceAll('"', ""))).length;
  const withCommas = knownBy(",");
  const other = SEPARATORS.find(([separator]) => knownBy(separator) > withCommas);
  if (other === undefined) return;
  throw new ImportError(
    `${fileName}: line 1: the cells are separated by ${other[1]}: export the file with commas between them`,
  );
}
