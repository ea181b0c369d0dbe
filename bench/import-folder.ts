import { createReadStream, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createGunzip, gzipSync } from "node:zlib";
import { parse } from "csv-parse";

/** The CSV files of an import folder. */
export function filesOf(folder: string): string[] {
  return [
    "products",
    "variants",
    "order_lines",
    "returns",
    "refunds",
    "return_labels",
    "sale_events",
  ].flatMap((name) =>
    [`${name}.csv.gz`, `${name}.csv`]
      .map((file) => join(folder, file))
      .filter(existsSync)
      .slice(0, 1),
  );
}

/** The bytes of a file as they are imported. */
export function openBytes(file: string): NodeJS.ReadableStream {
  const bytes = createReadStream(file);
  return file.endsWith(".gz") ? bytes.pipe(createGunzip()) : bytes;
}

export async function headerOf(file: string): Promise<string[]> {
  for await (const record of openBytes(file).pipe(parse({ bom: true }))) return record as string[];
  return [];
}

/** A folder that takes one unit off some lines of one month (YYYY-MM). */
export async function writePartOfMonth(
  folder: string,
  target: string,
  part: { month: string; lines: number },
): Promise<void> {
  mkdirSync(target);
  const columns = ["order_id", "line_id", "ordered_at", "product_id", "variant_id", "sku", "units"];
  const rows = [[...columns, "removed_units"].join(",")];
  const file = filesOf(folder).find((name) => name.includes("order_lines")) as string;
  for await (const record of openBytes(file).pipe(parse({ bom: true, columns: true }))) {
    const line = record as Record<string, string>;
    if (!line["ordered_at"]?.startsWith(part.month)) continue;
    rows.push([...columns.map((column) => line[column]), "1"].join(","));
    if (rows.length > part.lines) break;
  }
  writeFileSync(join(target, "order_lines.csv.gz"), gzipSync(`${rows.join("\n")}\n`));
}
