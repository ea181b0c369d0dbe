import type { returnRateLeaderboard as contract } from "../contract/return-rate-leaderboard.ts";
import { monthToText } from "../metrics/month.ts";
import { rate } from "../metrics/rate.ts";
import { leaderboardMonths, rankReturnRate } from "../metrics/return-rate-leaderboard.ts";
import type { Queryable } from "../store/database.ts";
import { loadReturnRates } from "../store/queries/return-rate-leaderboard.ts";
import type { RankedSkuRow } from "../store/queries/return-rate-leaderboard.ts";
import type { Answer } from "../contract/call.ts";
import type { Call } from "./call.ts";
import { hasFullLeaderboards, leaderboardProducts } from "./leaderboard.ts";
import { baseMeta } from "./meta.ts";
import { requestSelection, requireFound, selectorEcho } from "./selection.ts";

const DEFAULT_LIMIT = 10;

/** SKUs by highest return rate over the latest complete month or year, in the primary window (M12). */
export async function returnRateLeaderboard(
  database: Queryable,
  call: Call<typeof contract>,
): Promise<Answer> {
  const { workspace, input, now } = call;
  const { period = "year", vendor = null, min_sold_units = null, min_return_rate = null } = input;
  const { selector, selection } = requestSelection(input);
  const months = resolveMonths(call);
  const isFull = hasFullLeaderboards(workspace);
  const loaded = await loadReturnRates(database, workspace, {
    selection,
    months,
    minSoldUnits: workspace.minSoldUnits,
    filters: { minSoldUnits: min_sold_units, minReturnRate: min_return_rate, vendor },
    isFiltered: isFull,
    rows: isFull ? (input.limit ?? DEFAULT_LIMIT) : workspace.visibleCardSize,
  });
  requireFound(selector, loaded.found);

  const ranking = rank(call, loaded.rows);
  const productOf = await leaderboardProducts(
    database,
    workspace,
    ranking.rows.map((row) => row.sku),
  );
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
        ...baseMeta(workspace, now),
        selector: selectorEcho(selector, loaded.skus),
        ...(months === null ? {} : { start_month: months.startMonth, end_month: months.endMonth }),
        window: "primary",
        period,
        limit: ranking.limit,
        returned: ranking.rows.length,
        vendor,
        filters: { min_return_rate, min_sold_units, vendor },
        full_leaderboards: isFull,
      },
    },
  };
}

function rank({ workspace, input }: Call<typeof contract>, rows: readonly RankedSkuRow[]) {
  return rankReturnRate(
    rows.map((row) => ({
      sku: row.sku,
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
