import type { returnCostLeaderboard as contract } from "../contract/return-cost-leaderboard.ts";
import { FIRST_MONTH } from "../lib/month.ts";
import { latestCompleteMonth, usualMonths } from "../metrics/completeness.ts";
import { currencyExponent, decimalFromMinor, minorFromNumber } from "../metrics/money.ts";
import { cogsCoverage, marginImpactMinor, returnsCostMinor, type Totals } from "../metrics/totals.ts";
import { loadReturnCosts, type CostAnswer } from "../store/queries/return-cost-leaderboard.ts";
import { jsonAnswer, type Answer } from "../contract/endpoint.ts";
import type { EndpointCall } from "./call.ts";
import { coverageOf, rangeEcho, rateFigures, requestRange, totalsOf } from "./cohort-months.ts";
import type { CohortRange } from "./cohort-months.ts";
import { labelCostsIncluded } from "./meta.ts";
import { eligibleRate, hasFullLeaderboards, leaderboardProducts, soldValueOfTotals } from "./leaderboard.ts";
import { requestSelection, requireFound, selectorEcho } from "./selection.ts";

/** SKUs by highest returns cost over a range of cohort months (M11, M13). */
export async function returnCostLeaderboard(call: EndpointCall<typeof contract>): Promise<Answer> {
  const { database, workspace, input } = call;
  const { vendor = null, min_cost = null, limit = 10 } = input;
  const selection = requestSelection(input, null);
  const range = requestRange(workspace, input);
  const exponent = currencyExponent(workspace.currencyCode);
  const rules = {
    minCostMinor: min_cost === null ? null : minorFromNumber(min_cost, exponent),
    labelCostsIncluded: labelCostsIncluded(workspace),
    vendor,
    limit,
  };
  const loaded = await loadReturnCosts(database, workspace, {
    selection,
    ...range,
    endMonth: lastMonth(range),
    usualMonths: usualMonths(range.startMonth, range.windowDays, range.asOfDay),
    ...rules,
  });
  await requireFound({ database, workspace }, selection, loaded);

  const productOf = await leaderboardProducts(database, workspace, loaded.rows);
  return jsonAnswer(
    {
      rows: loaded.rows.map((row) => ({
        sku: row.sku,
        ...presentCosts(totalsOf(row), exponent, rules.labelCostsIncluded),
        ...productOf(row.sku),
        excess_return_cost: row.excess_minor === null ? null : decimalFromMinor(row.excess_minor, exponent),
      })),
      currency_code: workspace.currencyCode,
      total_eligible_count: loaded.eligible_count,
      label_costs_included: rules.labelCostsIncluded,
    },
    {
      selector: selectorEcho(selection, loaded.skus),
      ...rangeEcho(input),
      ...coverageOf(range),
      limit,
      returned: loaded.rows.length,
      vendor,
      vendor_known: vendor === null ? null : loaded.vendor_known,
      filters: { min_cost, vendor },
      totals: {
        ...presentTotals(loaded, exponent, rules.labelCostsIncluded),
        ...soldValueOfTotals(loaded, workspace.currencyCode),
      },
      full_leaderboards: hasFullLeaderboards(workspace),
    },
  );
}

/** The sum of all rows that pass the filters, shown or not. */
function presentTotals(loaded: CostAnswer, exponent: number, labelsIncluded: boolean) {
  const labelMinor = labelsIncluded ? loaded.eligible_label_minor : 0;
  return {
    total_cost_amount: decimalFromMinor(loaded.eligible_refund_minor + labelMinor, exponent),
    total_refunded_amount: decimalFromMinor(loaded.eligible_refund_minor, exponent),
    total_return_label_cost: decimalFromMinor(labelMinor, exponent),
    ...eligibleRate(loaded),
  };
}

/** The range's last month that takes part: later ones are left out as incomplete (M5). */
function lastMonth({ endMonth, windowDays, asOfDay, includeIncomplete }: CohortRange): number {
  if (windowDays === null || includeIncomplete) return endMonth;
  return Math.min(endMonth, Math.max(FIRST_MONTH, latestCompleteMonth(windowDays, asOfDay) ?? FIRST_MONTH));
}

function presentCosts(totals: Totals, exponent: number, labelsIncluded: boolean) {
  const amount = (minor: number): number => decimalFromMinor(minor, exponent);
  const marginMinor = marginImpactMinor(totals, labelsIncluded);
  return {
    total_cost_amount: amount(returnsCostMinor(totals, labelsIncluded)),
    total_refunded_amount: amount(totals.refundMinor),
    total_return_label_cost: amount(labelsIncluded ? totals.labelMinor : 0),
    ...rateFigures(totals),
    refunded_units: totals.refundedUnits,
    estimated_margin_impact: marginMinor === null ? null : amount(marginMinor),
    cogs_coverage: cogsCoverage(totals),
  };
}
