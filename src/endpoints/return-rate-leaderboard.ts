import type { returnRateLeaderboard as contract } from "../contract/return-rate-leaderboard.ts";
import { leaderboardMonths, usualMonths, type MonthRange } from "../metrics/completeness.ts";
import { monthToText } from "../lib/month.ts";
import { currencyExponent, decimalFromMinor } from "../metrics/money.ts";
import { loadReturnRates } from "../store/queries/return-rate-leaderboard.ts";
import { jsonAnswer, type Answer } from "../contract/endpoint.ts";
import type { EndpointCall } from "./call.ts";
import { labelCostsIncluded } from "./meta.ts";
import { eligibleRate, hasFullLeaderboards, leaderboardProducts, soldValueOfTotals } from "./leaderboard.ts";
import { requestSelection, requireFound, selectorEcho } from "./selection.ts";
import { rateFigures } from "./cohort-months.ts";

const DEFAULT_LIMIT = 10;

/** SKUs by highest return rate over the latest complete month or year, in the primary window (M12). */
export async function returnRateLeaderboard(call: EndpointCall<typeof contract>): Promise<Answer> {
  const { database, workspace, input } = call;
  const { period = "year", vendor = null, min_sold_units = null, min_return_rate = null } = input;
  const selection = requestSelection(input, null);
  const months = leaderboardMonths(period, workspace.primaryWindowDays, workspace.asOfDay);
  const isFull = hasFullLeaderboards(workspace);
  const cardSize = isFull ? null : workspace.visibleCardSize;
  const limit = Math.min(input.limit ?? DEFAULT_LIMIT, cardSize ?? Infinity);
  const loaded = await loadReturnRates(database, workspace, {
    selection,
    months,
    usualMonths:
      months === null ? [] : usualMonths(months.startMonth, workspace.primaryWindowDays, workspace.asOfDay),
    labelCostsIncluded: labelCostsIncluded(workspace),
    windowDays: workspace.primaryWindowDays,
    minSoldUnits: workspace.minSoldUnits,
    filters: { minSoldUnits: min_sold_units, minReturnRate: min_return_rate, vendor },
    cardSize,
    limit,
  });
  await requireFound({ database, workspace }, selection, loaded);

  const exponent = currencyExponent(workspace.currencyCode);
  const productOf = await leaderboardProducts(database, workspace, loaded.rows);
  return jsonAnswer(
    {
      rows: loaded.rows.map((row) => ({
        sku: row.sku,
        ...rateFigures({ soldUnits: row.sold_units, returnedUnits: row.returned_units }),
        ...productOf(row.sku),
        excess_return_cost: row.excess_minor === null ? null : decimalFromMinor(row.excess_minor, exponent),
      })),
      total_eligible_count: loaded.eligible_count,
      min_sold_units: Math.max(workspace.minSoldUnits, min_sold_units ?? 0),
    },
    {
      selector: selectorEcho(selection, loaded.skus),
      ...rankedMonths(months),
      window: "primary",
      period,
      limit,
      returned: loaded.rows.length,
      vendor,
      vendor_known: vendor === null ? null : loaded.vendor_known,
      filters: { min_return_rate, min_sold_units, vendor },
      totals: {
        ...eligibleRate(loaded),
        ...soldValueOfTotals(loaded, workspace.currencyCode),
      },
      full_leaderboards: isFull,
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
