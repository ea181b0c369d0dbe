import { dayToText } from "../lib/month.ts";
import type { LineFact } from "../metrics/classify.ts";
import type { Connection } from "../store/database.ts";
import { resolveNames } from "../store/queries/facts.ts";
import type { LineNames, ResolvedRow } from "../store/queries/facts.ts";
import { openCopyBuffer, writtenCells } from "./copy.ts";
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
  /** By what lines name: the cells that follow from it. */
  const cells = new Map<string, string>();
  const buffer = openCopyBuffer(
    connection,
    `order_line (shop_key, order_id, line_id, ordered_on, cohort_month, sold_units, line_title, line_vendor,
                 line_product_gid, line_variant_id, line_sku, product_gid, sku, used, counterpart_sku, unit_cost_minor)`,
  );
  const resolve = async (lines: readonly OrderLine[], keys: readonly string[]): Promise<void> => {
    if (cells.size > MOST_REMEMBERED) cells.clear();
    const missing = new Map<string, LineNames>();
    for (const [place, key] of keys.entries()) {
      if (!cells.has(key)) missing.set(key, namesOf((lines[place] as OrderLine).line));
    }
    if (missing.size === 0) return;
    const rows = await resolveNames(connection, shopKey, [...missing.values()]);
    for (const [place, [key, names]] of [...missing].entries()) {
      const row = rows[place] as ResolvedRow;
      cells.set(key, resolvedCells(names, row));
      if (row.product_gid !== null) touched.products.add(row.product_gid);
      if (row.sku !== null) touched.skus.add(row.sku);
    }
  };
  return {
    put: async (lines) => {
      const keys = lines.map(({ line }) => keyOf(line));
      await resolve(lines, keys);
      for (const [place, { orderId, cohortMonth, line }] of lines.entries()) {
        touched.months.add(cohortMonth);
        const day = dayToText(line.orderedOnDay);
        buffer.add(
          [shopKey, orderId, line.lineId, day, cohortMonth, line.soldUnits, line.title, line.vendor],
          cells.get(keys[place] as string),
        );
      }
      await buffer.send();
    },
  };
}

/** Text never holds control characters. */
function keyOf({ productId, variantId, sku }: LineFact): string {
  return `${productId ?? "\u0001"}\u0000${variantId ?? "\u0001"}\u0000${sku ?? "\u0001"}`;
}

function namesOf({ productId, variantId, sku }: LineFact): LineNames {
  return { productGid: productId === null ? null : productGidOf(productId), variantId, sku };
}

function resolvedCells({ productGid, variantId, sku }: LineNames, row: ResolvedRow): string {
  const { product_gid: resolvedGid, sku: resolvedSku, used, counterpart_sku, unit_cost_minor } = row;
  return writtenCells([
    productGid,
    variantId,
    sku,
    resolvedGid,
    resolvedSku,
    used,
    counterpart_sku,
    unit_cost_minor,
  ]);
}
