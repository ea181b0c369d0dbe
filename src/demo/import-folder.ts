import { stringify } from "csv-stringify/sync";
import { mkdir, open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";

/** The files of an import folder and their columns, in the order in which they are written. */
export const IMPORT_COLUMNS = {
  products: [
    "product_id",
    "title",
    "handle",
    "vendor",
    "family",
    "analytics_category",
    "image_url",
    "image_alt",
  ],
  variants: ["variant_id", "product_id", "sku", "title", "condition", "counterpart_sku", "unit_cost"],
  order_lines: [
    "order_id",
    "line_id",
    "ordered_at",
    "product_id",
    "variant_id",
    "sku",
    "title",
    "vendor",
    "units",
    "unit_price",
    "test",
    "canceled_at",
    "removed_units",
    "gift_card",
  ],
  returns: [
    "return_id",
    "order_id",
    "line_id",
    "status",
    "units",
    "processed_units",
    "requested_at",
    "closed_at",
    "reason",
  ],
  refunds: [
    "refund_id",
    "order_id",
    "line_id",
    "refunded_at",
    "units",
    "subtotal",
    "restock_type",
    "return_id",
  ],
  return_labels: [
    "label_id",
    "order_id",
    "return_id",
    "tracking_number",
    "charged_at",
    "amount",
    "currency",
    "voided_at",
  ],
  sale_events: ["slug", "label", "starts_on", "ends_on", "skus"],
} as const;

export type ImportFile = keyof typeof IMPORT_COLUMNS;
export type ImportRow<File extends ImportFile> = Record<
  (typeof IMPORT_COLUMNS)[File][number],
  string | number
>;

/** Writes rows to the files of one folder, holding only some thousand rows in memory. */
export interface ImportFolderWriter {
  add<File extends ImportFile>(file: File, row: ImportRow<File>): void;
  /** Writes out the files that have gathered enough rows; await it now and then between rows. */
  drain(): Promise<void>;
  /** Writes out what is left and closes the files. */
  finish(): Promise<void>;
  /** Closes the files as they are, after an error. */
  abandon(): Promise<void>;
  rowCount(file: ImportFile): number;
}

interface OpenFile {
  handle: FileHandle;
  columns: readonly string[];
  waiting: Record<string, string | number>[];
  rowCount: number;
}

const ROWS_PER_WRITE = 2000;

/** Creates the folder where needed and replaces files of the same names in it. */
export async function openImportFolder(folder: string): Promise<ImportFolderWriter> {
  await mkdir(folder, { recursive: true });
  const files = new Map<ImportFile, OpenFile>();
  const closeAll = async () => {
    for (const { handle } of files.values()) await handle.close();
  };
  try {
    for (const name of Object.keys(IMPORT_COLUMNS) as ImportFile[]) {
      const handle = await open(join(folder, `${name}.csv`), "w");
      files.set(name, { handle, columns: IMPORT_COLUMNS[name], waiting: [], rowCount: 0 });
      await handle.write(`${IMPORT_COLUMNS[name].join(",")}\n`);
    }
  } catch (error) {
    await closeAll();
    throw error;
  }
  const fileOf = (name: ImportFile): OpenFile => {
    const file = files.get(name);
    if (file === undefined) throw new RangeError(`an import folder has no file ${name}`);
    return file;
  };
  return {
    add: (name, row) => {
      const file = fileOf(name);
      file.waiting.push(row);
      file.rowCount += 1;
    },
    drain: async () => {
      for (const file of files.values()) if (file.waiting.length >= ROWS_PER_WRITE) await writeOut(file);
    },
    finish: async () => {
      for (const file of files.values()) await writeOut(file);
      await closeAll();
    },
    abandon: closeAll,
    rowCount: (name) => fileOf(name).rowCount,
  };
}

async function writeOut(file: OpenFile): Promise<void> {
  if (file.waiting.length === 0) return;
  const text = stringify(file.waiting, { columns: [...file.columns] });
  file.waiting = [];
  await file.handle.writeFile(text);
}
