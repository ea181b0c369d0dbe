import { currencyExponent, decimalOrNull } from "../metrics/money.ts";
import { loadLeaderboardProducts, type Ranking } from "../store/queries/ranking.ts";
import type { Snapshot, Workspace } from "../store/workspace.ts";
import { moneyOf, presentSoldValue, rateFigures } from "./cohort-months.ts";

type RankedRow = { sku: string; product_gid: string | null; excess_minor: number | null };

/** The rows of a leaderboard: the figures of each SKU, its product and what its returns cost beyond the usual (M25). */
export async function rankedRows<Row extends RankedRow>(
  { database, workspace }: Snapshot,
  rows: readonly Row[],
  figuresOf: (row: Row) => object,
) {
  const products = rows.length === 0 ? [] : await loadLeaderboardProducts(database, workspace, rows);
  const productBySku = new Map(products.map((product) => [product.sku, product]));
  return rows.map((row) => {
    const product = productBySku.get(row.sku);
    return {
      sku: row.sku,
      ...figuresOf(row),
      store_product_gid: product?.product_gid ?? null,
      shopify_product_gid: product?.product_gid ?? null,
      product_title: product?.product_title ?? null,
      handle: product?.handle ?? null,
      vendor: product?.vendor ?? null,
      product_image_url: product?.image_url ?? null,
      product_image_alt_text: product?.image_alt ?? null,
      excess_return_cost: decimalOrNull(row.excess_minor, currencyExponent(workspace.currencyCode)),
    };
  });
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
