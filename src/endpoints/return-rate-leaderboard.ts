import type { returnRateLeaderboard as contract } from "../contract/return-rate-leaderboard.ts";
import { monthToText } from "../metrics/month.ts";
import { rate } from "../metrics/rate.ts";
import { leaderboardMonths, rankReturnRate } from "../metrics/return-rate-leaderboard.ts";
import { loadReturnRates } from "../store/queries/return-rate-leaderboard.ts";
import type { RankedSkuRow } from "../store/queries/return-rate-leaderboard.ts";
import type { Answer } from "../contract/call.ts";
import type { Call } from "./call.ts";
import { monthNumber } from "./cohort-months.ts";
import { hasFullLeaderboards, leaderboardProducts } from "./leaderboard.ts";
import { requestSelection, requireFound, selectorEcho } from "./selection.ts";

const DEFAULT_LIMIT = 10;

/** SKUs by highest return rate over the latest complete month or year, in the primary window (M12). */
export async function returnRateLeaderboard(call: Call<typeof contract>): Promise<Answer> {
  const { database, workspace, input } = call;
  const { period = "year", vendor = null, min_sold_units = null, min_return_rate = null } = input;
  const { selector, selection } = requestSelection(input, null);
  const months = resolveMonths(call);
  const isFull = hasFullLeaderboards(workspace);
  const loaded = await loadReturnRates(database, workspace, {
    selection,
    months,
    windowDays: workspace.primaryWindowDays,
    minSoldUnits: workspace.minSoldUnits,
    filters: { minSoldUnits: min_sold_units, minReturnRate: min_return_rate, vendor },
    isFiltered: isFull,
    rows: isFull ? (input.limit ?? DEFAULT_LIMIT) : workspace.visibleCardSize,
  });
  requireFound(selector, loaded);

  const ranking = rank(call, loaded.rows);
  const productOf = await leaderboardProducts(database, workspace, ranking.rows);
  return {
    kind: "json",
    body: {
      data: {
        rows: ranking.rows.map((row) => ({
          sku: row.sku,
          sold_units: row.soldUnits,
          returned_units: row.returnedUnits,
          return_rate: rate(row.returnedUnits, row.soldUnits),
          ...productOf(row.sku),
        })),
        total_eligible_count: loaded.eligible_count,
        min_sold_units: ranking.minSoldUnits,
      },
      meta: {
        selector: selectorEcho(selector, loaded.skus),
        ...rankedMonths(months),
        window: "primary",
        period,
        limit: ranking.limit,
        returned: ranking.rows.length,
        vendor,
        vendor_known: vendor === null ? null : loaded.vendor_known,
        filters: { min_return_rate, min_sold_units, vendor },
        totals: {
          sold_units: loaded.eligible_sold_units,
          returned_units: loaded.eligible_returned_units,
          return_rate: rate(loaded.eligible_returned_units, loaded.eligible_sold_units),
        },
        full_leaderboards: isFull,
      },
    },
  };
}

/** The months ranked end with the newest complete one and leave none out (M12); none are ranked before the first sync. */
function rankedMonths(months: ReturnType<typeof resolveMonths>) {
  if (months === null) return { months_included: 0, excluded_months: [], complete_through: null };
  const { startMonth, endMonth } = months;
  return {
    start_month: startMonth,
    end_month: endMonth,
    months_included: monthNumber(endMonth) - monthNumber(startMonth) + 1,
    excluded_months: [],
    complete_through: endMonth,
  };
}

function rank({ workspace, input }: Call<typeof contract>, rows: readonly RankedSkuRow[]) {
  return rankReturnRate(
    rows.map((row) => ({
      sku: row.sku,
      productGid: row.product_gid,
      vendor: row.vendor,
      soldUnits: row.sold_units,
      returnedUnits: row.returned_units,
    })),
    {
      workspaceMinSoldUnits: workspace.minSoldUnits,
      minSoldUnits: input.min_sold_units ?? null,
      minReturnRate: input.min_return_rate ?? null,
      vendor: input.vendor ?? null,
      limit: input.limit ?? DEFAULT_LIMIT,
      fullLeaderboards: hasFullLeaderboards(workspace),
      visibleCardSize: workspace.visibleCardSize,
    },
  );
}

function resolveMonths({ workspace, input }: Call<typeof contract>) {
  const months = leaderboardMonths(input.period ?? "year", workspace.primaryWindowDays, workspace.asOfDay);
  if (months === null) return null;
  return { startMonth: monthToText(months.startMonth), endMonth: monthToText(months.endMonth) };
}
