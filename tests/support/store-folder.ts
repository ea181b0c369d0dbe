import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { csvText } from "../../src/lib/csv-text.ts";
import type { StoreFiles } from "../oracle/store.ts";
import { makeFolder } from "./folder.ts";

/** Writes the rows as an import folder, and hands its path to `use`. */
export async function withStoreFolder<Result>(
  files: StoreFiles,
  use: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = makeFolder();
  await writeStoreFolder(folder, files);
  return use(folder);
}

/** One CSV file per member, with all columns that any of its rows has. A file without rows has only a header. */
export async function writeStoreFolder(folder: string, files: StoreFiles): Promise<void> {
  for (const [name, rows] of Object.entries(files)) {
    await writeFile(join(folder, `${name}.csv`), csvOf(name, rows));
  }
}

const REQUIRED_COLUMNS: Readonly<Record<string, string[]>> = {
  products: ["product_id", "title"],
  variants: ["variant_id", "product_id"],
  order_lines: ["order_id", "line_id", "ordered_at", "units"],
  returns: ["return_id", "order_id", "line_id", "status", "units"],
  refunds: ["refund_id", "order_id", "line_id", "refunded_at", "units", "subtotal"],
  return_labels: ["label_id", "charged_at", "amount"],
  sale_events: ["slug", "label", "starts_on", "ends_on"],
};

type Row = Readonly<Record<string, string | number | boolean | undefined>>;

function csvOf(name: string, rows: readonly Row[]): string {
  const columns = [
    ...new Set([...(REQUIRED_COLUMNS[name] ?? []), ...rows.flatMap((row) => Object.keys(row))]),
  ];
  return csvText([columns, ...rows.map((row) => columns.map((column) => row[column] ?? null))], "\n");
}
