import type { returnRateLeaderboard as contract } from "../contract/return-rate-leaderboard.ts";
import { leaderboardMonths, usualMonths, type MonthRange } from "../metrics/completeness.ts";
import { areLabelCostsIncluded } from "../metrics/label.ts";
import { monthToText } from "../lib/month.ts";
import { loadReturnRates } from "../store/queries/return-rate-leaderboard.ts";
import { jsonAnswer, type Answer } from "../contract/endpoint.ts";
import type { EndpointCall } from "./call.ts";
import { rateFigures } from "./cohort-months.ts";
import { hasFullLeaderboards, rankedRows, rankingMeta } from "./leaderboard.ts";
import { requestSelection, requireFound, selectorEcho } from "./selection.ts";

const DEFAULT_LIMIT = 10;

/** SKUs by highest return rate over the latest complete month or year, in the primary window (M12). */
export async function returnRateLeaderboard(call: EndpointCall<typeof contract>): Promise<Answer> {
  const { database, workspace, input } = call;
  const { period = "year", vendor = null, min_sold_units = null, min_return_rate = null } = input;
  const selection = requestSelection(input, null);
  const { primaryWindowDays: windowDays, asOfDay, minSoldUnits } = workspace;
  const months = leaderboardMonths(period, windowDays, asOfDay);
  const cardSize = hasFullLeaderboards(workspace) ? null : workspace.visibleCardSize;
  const limit = Math.min(input.limit ?? DEFAULT_LIMIT, cardSize ?? Infinity);
  const loaded = await loadReturnRates(database, workspace, {
    selection,
    months,
    usualMonths: months === null ? [] : usualMonths({ ...months, windowDays, asOfDay }),
    labelCostsIncluded: areLabelCostsIncluded(workspace),
    windowDays,
    minSoldUnits,
    filters: { minSoldUnits: min_sold_units, minReturnRate: min_return_rate, vendor },
    cardSize,
    limit,
  });
  await requireFound({ ...call, selection }, loaded);

  return jsonAnswer(
    {
      rows: rankedRows(workspace, loaded.rows, (row) =>
        rateFigures({ soldUnits: row.sold_units, returnedUnits: row.returned_units }),
      ),
      total_eligible_count: loaded.eligible_count,
      min_sold_units: Math.max(minSoldUnits, min_sold_units ?? 0),
    },
    {
      selector: selectorEcho(selection, loaded.skus),
      ...rankedMonths(months),
      window: "primary",
      period,
      ...rankingMeta(workspace, loaded, {
        limit,
        vendor,
        filters: { min_return_rate, min_sold_units },
        costs: {},
      }),
    },
  );
}

/** The months ranked end with the newest complete one and leave none out (M12); none are ranked before the first sync. */
function rankedMonths(months: MonthRange | null) {
  if (months === null) return { months_included: 0, excluded_months: [], complete_through: null };
  const { startMonth, endMonth } = months;
  return {
    start_month: monthToText(startMonth),
    end_month: monthToText(endMonth),
    months_included: endMonth - startMonth + 1,
    excluded_months: [],
    complete_through: monthToText(endMonth),
  };
}
