import { appendFile, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "csv-stringify/sync";

const FILES = [
  "products",
  "variants",
  "order_lines",
  "returns",
  "refunds",
  "return_labels",
  "sale_events",
] as const;

export type ImportFile = (typeof FILES)[number];

/** Values by column; the first row of a file decides its columns and their order. */
export type ImportRow = Readonly<Record<string, string | number>>;

/** Writes rows to the files of one folder, holding only some thousand rows in memory. */
export interface ImportFolderWriter {
  add(file: ImportFile, row: ImportRow): void;
  /** Writes out the files that have gathered enough rows; await it now and then between rows. */
  drain(): Promise<void>;
  /** Writes out what is left. */
  finish(): Promise<void>;
  rowCount(file: ImportFile): number;
}

const ROWS_PER_WRITE = 2000;

/** Creates the folder where needed and replaces files of the same names in it. */
export async function openImportFolder(folder: string): Promise<ImportFolderWriter> {
  await mkdir(folder, { recursive: true });
  const pathOf = (file: ImportFile): string => join(folder, `${file}.csv`);
  for (const file of FILES) await rm(pathOf(file), { force: true });
  const waiting = new Map<ImportFile, ImportRow[]>();
  const counts = new Map<ImportFile, number>();
  const writeOut = async (fewestRows: number): Promise<void> => {
    for (const [file, rows] of waiting) {
      if (rows.length < fewestRows) continue;
      const columns = Object.keys(rows[0] ?? {});
      await appendFile(pathOf(file), stringify(rows, { columns, header: counts.get(file) === rows.length }));
      rows.length = 0;
    }
  };
  return {
    add: (file, row) => {
      const rows = waiting.get(file) ?? [];
      waiting.set(file, rows);
      rows.push(row);
      counts.set(file, (counts.get(file) ?? 0) + 1);
    },
    drain: () => writeOut(ROWS_PER_WRITE),
    finish: () => writeOut(1),
    rowCount: (file) => counts.get(file) ?? 0,
  };
}
