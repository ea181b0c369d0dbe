import { createReadStream, createWriteStream, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip, gzipSync } from "node:zlib";
import { parse } from "csv-parse";
import pgCopy from "pg-copy-streams";
import { REFUND_ONLY, UNSPECIFIED } from "../src/metrics/returned-units.ts";
import type { Database } from "../src/store/database.ts";

/** Writes a loaded store as an import folder. */
export async function writeImportFolder(database: Database, shopKey: number, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const [name, select] of Object.entries(files(shopKey))) {
    await database.transaction(async ({ client }) => {
      const rows = client.query(pgCopy.to(`copy (${select}) to stdout with (format csv, header)`));
      await pipeline(rows, createWriteStream(join(folder, `${name}.csv`)));
    });
  }
}

/** Times are the middle of the day that the facts know. */
const AT = (day: string): string => `to_char(${day}, 'YYYY-MM-DD"T12:00:00Z"')`;
const MONEY = (minor: string): string => `(${minor} / 100.0)::numeric(12, 2)`;

function files(shopKey: number): Record<string, string> {
  const events = `return_event e
    left join return_request r on r.shop_key = e.shop_key and r.order_id = e.order_id and r.line_id = e.line_id`;
  return {
    products: `select product_gid as product_id, title, handle, vendor, family, analytics_category, image_url
      from product where shop_key = ${shopKey}`,
    variants: `select variant_id, product_gid as product_id, sku, title, case when used then 'used' else 'new' end as condition,
             counterpart_sku, ${MONEY("unit_cost_minor")} as unit_cost
      from variant where shop_key = ${shopKey}`,
    order_lines: `select order_id, line_id, ${AT("ordered_on")} as ordered_at, line_product_gid as product_id,
             line_variant_id as variant_id, line_sku as sku, line_title as title, line_vendor as vendor,
             greatest(sold_units, 1) as units, ${MONEY("900 + hashtext(line_sku) % 400")} as unit_price,
             greatest(sold_units, 1) - sold_units as removed_units
      from order_line where shop_key = ${shopKey} order by order_id, line_id`,
    returns: `select r.return_id, r.order_id, r.line_id, r.status, r.units, ${AT("e.occurred_on")} as closed_at,
             nullif(e.reason, '${UNSPECIFIED}') as reason
      from return_request r
      left join return_event e on e.shop_key = r.shop_key and e.order_id = r.order_id and e.line_id = r.line_id
       and e.event_number = 0 and r.status = 'CLOSED'
     where r.shop_key = ${shopKey} order by 1`,
    refunds: `select e.line_id || '-' || e.event_number as refund_id, e.order_id, e.line_id, ${AT("e.occurred_on")} as refunded_at,
             e.refunded_units as units, ${MONEY("e.refund_minor")} as subtotal,
             case when e.restocked_units > 0 then 'RETURN' else 'NO_RESTOCK' end as restock_type,
             case when e.reason is distinct from '${REFUND_ONLY}' then r.return_id end as return_id
      from ${events} where e.shop_key = ${shopKey} and e.refunded_units > 0 order by 1`,
    return_labels: `select label_id, return_id, ${AT("charged_at")} as charged_at, ${MONEY("amount_minor")} as amount
      from return_label where shop_key = ${shopKey}`,
  };
}

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
