import { dayToText } from "../lib/month.ts";
import type { LineFact } from "../metrics/classify.ts";
import type { Connection } from "../store/database.ts";
import { resolveNames } from "../store/queries/facts.ts";
import type { LineNames, ResolvedRow } from "../store/queries/facts.ts";
import { openCopyBuffer } from "./copy.ts";
import { productGidOf } from "./product-gid.ts";
import type { Touched } from "./touched.ts";

/** A line of an order; `cohortMonth` is the first day of its month, YYYY-MM-DD. */
export type OrderLine = { orderId: string; cohortMonth: string; line: LineFact };

export type LineWriter = {
  /** Writes lines, resolved with the catalogue, and touches their months, products and SKUs. */
  put(lines: readonly OrderLine[]): Promise<void>;
};

/** So many different things that lines name are remembered: a catalogue of that size is asked for once. */
const MOST_REMEMBERED = 100_000;

/** Opens a writer of a run. The catalogue stays as it is meanwhile. */
export function openLineWriter(connection: Connection, shopKey: number, touched: Touched): LineWriter {
  const resolved = new Map<string, ResolvedRow>();
  const buffer = openCopyBuffer(
    connection,
    `order_line (shop_key, order_id, line_id, ordered_on, cohort_month, sold_units, line_product_gid, line_variant_id,
                 line_sku, line_title, line_vendor, product_gid, sku, used, counterpart_sku, unit_cost_minor)`,
  );
  const resolve = async (all: readonly NamedLine[]): Promise<void> => {
    if (resolved.size > MOST_REMEMBERED) resolved.clear();
    const missing = new Map(
      all.filter(({ key }) => !resolved.has(key)).map(({ key, names }) => [key, names]),
    );
    if (missing.size === 0) return;
    const rows = await resolveNames(connection, shopKey, [...missing.values()]);
    for (const [place, key] of [...missing.keys()].entries()) resolved.set(key, rows[place] as ResolvedRow);
  };
  return {
    put: async (lines) => {
      const named = lines.map(namedLine);
      await resolve(named);
      for (const { key, names, orderId, cohortMonth, line } of named) {
        const row = resolved.get(key) as ResolvedRow;
        touched.months.add(cohortMonth);
        if (row.product_gid !== null) touched.products.add(row.product_gid);
        if (row.sku !== null) touched.skus.add(row.sku);
        buffer.add([
          shopKey,
          orderId,
          line.lineId,
          dayToText(line.orderedOnDay),
          cohortMonth,
          line.soldUnits,
          names.productGid,
          names.variantId,
          names.sku,
          line.title,
          line.vendor,
          row.product_gid,
          row.sku,
          row.used,
          row.counterpart_sku,
          row.unit_cost_minor,
        ]);
      }
      await buffer.send();
    },
  };
}

type NamedLine = OrderLine & { names: LineNames; key: string };

function namedLine(line: OrderLine): NamedLine {
  const { productId, variantId, sku } = line.line;
  const productGid = productId === null ? null : productGidOf(productId);
  // Text never holds control characters.
  const key = [productGid, variantId, sku].map((name) => name ?? "\u0001").join("\u0000");
  return { ...line, names: { productGid, variantId, sku }, key };
}
