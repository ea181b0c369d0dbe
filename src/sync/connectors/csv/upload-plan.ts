import type { UploadFile } from "../../../store/queries/import-upload.ts";
import { FILE_NAMES } from "./file-formats.ts";
import type { FileName } from "./file-formats.ts";

/** A file is sent in parts of this size, its last one shorter; a POST to the console holds no more. */
export const PART_BYTES = 4 * 1024 * 1024;
/** Of all files of an upload, packed or not. */
export const MOST_UPLOAD_BYTES = 2 * 1024 ** 3;
export const UPLOAD_LIFETIME_MS = 24 * 3_600_000;
/** The name under which the rows that an import has refused are stored beside its files. */
export const REFUSED_ROWS_FILE = "refused-rows.csv";

/** The names that files of an upload may have: a fixed list, so that no name is ever part of a path unchecked. */
const NAMES: ReadonlyMap<string, FileName> = new Map(
  FILE_NAMES.flatMap((name) => [
    [`${name}.csv`, name],
    [`${name}.csv.gz`, name],
  ]),
);

/** Which file of the import format bears this name; null = none does. */
export function fileOfName(fileName: string): FileName | null {
  return NAMES.get(fileName) ?? null;
}

/** How many parts a file is sent in. */
export function partCountOf({ bytes }: Pick<UploadFile, "bytes">): number {
  return Math.ceil(bytes / PART_BYTES);
}

/** How long a part of a file is; null = the file has no such part. */
export function partBytesOf(file: Pick<UploadFile, "bytes">, part: number): number | null {
  if (!Number.isInteger(part) || part < 0 || part >= partCountOf(file)) return null;
  return Math.min(PART_BYTES, file.bytes - part * PART_BYTES);
}
