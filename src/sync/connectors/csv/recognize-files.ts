import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { FILE_NAMES } from "./file-formats.ts";
import { ImportError } from "./problems.ts";

/** What people give in place of a CSV file: how such a file's name ends, what it is, and what to do with it. */
const OTHER_KINDS: readonly (readonly [ending: RegExp, kind: string])[] = [
  [/\.(?:xlsx|xlsm|xls|ods|numbers)(?:\.gz)?$/iu, "a spreadsheet"],
  [/\.(?:tsv|tab)(?:\.gz)?$/iu, "a tab-separated file"],
];

/** The names that an import looks for, for a message. */
export const KNOWN_FILES = FILE_NAMES.map((name) => `${name}.csv`).join(", ");

/** For what the folder's path turned out to be when it could not be listed. */
export async function folderProblem(path: string, error: NodeJS.ErrnoException): Promise<ImportError> {
  const found = await stat(path).catch(() => null);
  if (error.code === "ENOENT") return new ImportError(`${path}: there is no such folder`);
  if (found?.isFile() !== true) {
    return new ImportError(`${path}: the folder cannot be read (${error.code ?? error.message})`);
  }
  const kind = kindOf(basename(path));
  const fix = kind === null ? "give the folder that holds it" : `give the folder that holds ${saved(kind)}`;
  return new ImportError(`${path}: is ${kind ?? "a file"}, where a folder of CSV files is expected: ${fix}`);
}

/**
 * Throws ImportError for a file that bears the name of one of the format but is of another kind: left out in silence,
 * its rows would be missing from the numbers.
 */
export function refuseOtherKinds(present: readonly string[]): void {
  for (const name of FILE_NAMES) {
    if (present.includes(`${name}.csv`) || present.includes(`${name}.csv.gz`)) continue;
    const other = present.find((file) => file.startsWith(`${name}.`) && kindOf(file) !== null);
    const kind = other === undefined ? null : kindOf(other);
    if (kind !== null)
      throw new ImportError(`${other}: is ${kind}, not CSV: replace it with ${saved(kind, name)}`);
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
const OLD_OFFICE_SIGNATURE = Buffer.from([0xd0, 0xcf, 0x11, 0xe0]);

/** Throws ImportError for a spreadsheet that was only renamed to .csv; `start` is how the file begins. */
export function refuseWorkbook(fileName: string, start: Buffer): void {
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
