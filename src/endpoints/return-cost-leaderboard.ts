import type { returnCostLeaderboard as contract } from "../contract/return-cost-leaderboard.ts";
import { FIRST_MONTH } from "../lib/month.ts";
import { latestCompleteMonth, usualMonths, type CohortRange } from "../metrics/completeness.ts";
import { decimalOrNull, minorFromNumber } from "../metrics/money.ts";
import { cogsCoverage, marginImpactMinor, type Totals } from "../metrics/totals.ts";
import { loadReturnCosts } from "../store/queries/return-cost-leaderboard.ts";
import { jsonAnswer, type Answer } from "../contract/endpoint.ts";
import type { EndpointCall } from "./call.ts";
import { coverageOf, moneyOf, presentCost, rangeEcho, rateFigures } from "./cohort-months.ts";
import { requestRange, totalsOf, type Money } from "./cohort-months.ts";
import { rankedRows, rankingMeta } from "./leaderboard.ts";
import { requestSelection, requireFound, selectorEcho } from "./selection.ts";

/** SKUs by highest returns cost over a range of cohort months (M11, M13). */
export async function returnCostLeaderboard(call: EndpointCall<typeof contract>): Promise<Answer> {
  const { database, workspace, input } = call;
  const { vendor = null, min_cost = null, limit = 10 } = input;
  const selection = requestSelection(input, null);
  const range = requestRange(workspace, input);
  const money = moneyOf(workspace);
  const loaded = await loadReturnCosts(database, workspace, {
    selection,
    ...range,
    endMonth: lastMonth(range),
    usualMonths: usualMonths(range),
    minCostMinor: min_cost === null ? null : minorFromNumber(min_cost, money.currencyExponent),
    labelCostsIncluded: money.labelCostsIncluded,
    vendor,
    limit,
  });
  await requireFound({ ...call, selection }, loaded);

  const eligible = { refundMinor: loaded.eligible_refund_minor, labelMinor: loaded.eligible_label_minor };
  return jsonAnswer(
    {
      rows: rankedRows(workspace, loaded.rows, (row) => presentFigures(totalsOf(row), money)),
      currency_code: workspace.currencyCode,
      total_eligible_count: loaded.eligible_count,
      label_costs_included: money.labelCostsIncluded,
    },
    {
      selector: selectorEcho(selection, loaded.skus),
      ...rangeEcho(input),
      ...coverageOf(range),
      ...rankingMeta(workspace, loaded, {
        limit,
        vendor,
        filters: { min_cost },
        costs: presentTotalCost(eligible, money),
      }),
    },
  );
}

/** The range's last month that takes part: later ones are left out as incomplete (M5). */
function lastMonth({ endMonth, windowDays, asOfDay, includeIncomplete }: CohortRange): number {
  if (windowDays === null || includeIncomplete) return endMonth;
  return Math.min(endMonth, Math.max(FIRST_MONTH, latestCompleteMonth(windowDays, asOfDay) ?? FIRST_MONTH));
}

function presentFigures(totals: Totals, money: Money) {
  return {
    ...presentTotalCost(totals, money),
    ...rateFigures(totals),
    refunded_units: totals.refundedUnits,
    estimated_margin_impact: decimalOrNull(
      marginImpactMinor(totals, money.labelCostsIncluded),
      money.currencyExponent,
    ),
    cogs_coverage: cogsCoverage(totals),
  };
}

/** Costs by their names in the leaderboard. */
function presentTotalCost(totals: Pick<Totals, "refundMinor" | "labelMinor">, money: Money) {
  const { refunded_amount, return_label_cost, returns_cost } = presentCost(totals, money);
  return {
    total_cost_amount: returns_cost,
    total_refunded_amount: refunded_amount,
    total_return_label_cost: return_label_cost,
  };
}
