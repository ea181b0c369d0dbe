import { currencyExponent } from "../metrics/money.ts";
import type { Queryable } from "../store/database.ts";
import { loadLeaderboardProducts, type Ranking } from "../store/queries/ranking.ts";
import type { Workspace } from "../store/workspace.ts";
import { presentSoldValue, rateFigures } from "./cohort-months.ts";

/** Product data of both leaderboards for each ranked SKU, by SKU. */
export async function leaderboardProducts(
  database: Queryable,
  workspace: Workspace,
  ranked: readonly { sku: string; product_gid: string | null }[],
): Promise<(sku: string) => Record<string, string | null>> {
  const rows = ranked.length === 0 ? [] : await loadLeaderboardProducts(database, workspace, ranked);
  const rowsBySku = new Map(rows.map((row) => [row.sku, row]));
  return (sku) => {
    const row = rowsBySku.get(sku);
    return {
      store_product_gid: row?.product_gid ?? null,
      shopify_product_gid: row?.product_gid ?? null,
      product_title: row?.product_title ?? null,
      handle: row?.handle ?? null,
      vendor: row?.vendor ?? null,
      product_image_url: row?.image_url ?? null,
      product_image_alt_text: row?.image_alt ?? null,
    };
  };
}

/** M20: of all SKUs that pass the filters. */
export function soldValueOfTotals(loaded: Ranking<unknown>, currencyCode: string) {
  return presentSoldValue(
    {
      soldUnits: loaded.eligible_sold_units,
      valuedSoldUnits: loaded.eligible_valued_sold_units,
      soldMinor: loaded.eligible_sold_minor,
      refundMinor: loaded.eligible_refund_minor,
    },
    currencyExponent(currencyCode),
  );
}

/** The units of all rows that pass the filters, shown or not, and their rate. */
export function eligibleRate(loaded: Ranking<unknown>) {
  return rateFigures({
    soldUnits: loaded.eligible_sold_units,
    returnedUnits: loaded.eligible_returned_units,
  });
}

/** Whether the plan may see the whole ranking. */
export function hasFullLeaderboards(workspace: Workspace): boolean {
  return workspace.entitlements.includes("full_leaderboards");
}
