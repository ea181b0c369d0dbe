import { currencyExponent } from "../lib/currency.ts";
import { decimalOrNull } from "../metrics/money.ts";
import type { ListedProduct, Ranking } from "../store/queries/ranking.ts";
import type { Workspace } from "../store/workspace.ts";
import { moneyOf, presentSoldValue, rateFigures } from "./cohort-months.ts";

type RankedRow = ListedProduct & { sku: string; excess_minor: number | null };

/** The rows of a leaderboard: the figures of each SKU, its product and what its returns cost beyond the usual (M25). */
export function rankedRows<Row extends RankedRow>(
  { currencyCode }: Workspace,
  rows: readonly Row[],
  figuresOf: (row: Row) => object,
) {
  return rows.map((row) => ({
    sku: row.sku,
    ...figuresOf(row),
    store_product_gid: row.product_gid,
    shopify_product_gid: row.product_gid,
    product_title: row.product_title,
    handle: row.handle,
    vendor: row.vendor,
    product_image_url: row.image_url,
    product_image_alt_text: row.image_alt,
    excess_return_cost: decimalOrNull(row.excess_minor, currencyExponent(currencyCode)),
  }));
}

/** The end of a leaderboard's meta. The totals are of all SKUs that pass the filters, shown or not: `costs`, rate and value (M20). */
export function rankingMeta(
  workspace: Workspace,
  loaded: Ranking<unknown>,
  { limit, vendor, filters, costs }: { limit: number; vendor: string | null; filters: object; costs: object },
) {
  const totals = {
    soldUnits: loaded.eligible_sold_units,
    returnedUnits: loaded.eligible_returned_units,
    valuedSoldUnits: loaded.eligible_valued_sold_units,
    soldMinor: loaded.eligible_sold_minor,
    refundMinor: loaded.eligible_refund_minor,
  };
  return {
    limit,
    returned: loaded.rows.length,
    vendor,
    vendor_known: vendor === null ? null : loaded.vendor_known,
    filters: { ...filters, vendor },
    totals: { ...costs, ...rateFigures(totals), ...presentSoldValue(totals, moneyOf(workspace)) },
    full_leaderboards: hasFullLeaderboards(workspace),
  };
}

/** Whether the plan may see the whole ranking. */
export function hasFullLeaderboards(workspace: Workspace): boolean {
  return workspace.entitlements.includes("full_leaderboards");
}
