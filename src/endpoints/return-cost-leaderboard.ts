import type { returnCostLeaderboard as contract } from "../contract/return-cost-leaderboard.ts";
import { latestCompleteMonth } from "../metrics/completeness.ts";
import { currencyExponent, decimalFromMinor, minorFromNumber } from "../metrics/money.ts";
import { monthToText } from "../metrics/month.ts";
import { rate } from "../metrics/rate.ts";
import { rankReturnCost } from "../metrics/return-cost-leaderboard.ts";
import { cogsCoverage, marginImpactMinor, returnsCostMinor } from "../metrics/totals.ts";
import type { Totals } from "../metrics/totals.ts";
import { windowDays } from "../metrics/window.ts";
import { loadReturnCosts } from "../store/queries/return-cost-leaderboard.ts";
import type { CostAnswer, CostSkuRow } from "../store/queries/return-cost-leaderboard.ts";
import type { Answer } from "../contract/call.ts";
import type { Call } from "./call.ts";
import { coverageOf, monthNumber, rangeEcho, totalsOf } from "./cohort-months.ts";
import { labelCostsIncluded } from "./label-costs.ts";
import { hasFullLeaderboards, leaderboardProducts } from "./leaderboard.ts";
import { requestSelection, requireFound, selectorEcho } from "./selection.ts";

type RankedRow = Totals & { sku: string; productGid: string | null; vendor: string | null };

/** SKUs by highest returns cost over a range of cohort months (M11, M13). */
export async function returnCostLeaderboard(call: Call<typeof contract>): Promise<Answer> {
  const { database, workspace, input } = call;
  const { vendor = null, min_cost = null, limit = 10 } = input;
  const { selector, selection } = requestSelection(input, null);
  const exponent = currencyExponent(workspace.currencyCode);
  const rules = {
    minCostMinor: min_cost === null ? null : minorFromNumber(min_cost, exponent),
    labelCostsIncluded: labelCostsIncluded(workspace),
    vendor,
    limit,
  };
  const loaded = await loadReturnCosts(database, workspace, {
    selection,
    windowDays: windowDays(input.window ?? "primary", workspace.primaryWindowDays),
    startMonth: input.start_month,
    endMonth: lastMonth(call),
    ...rules,
  });
  requireFound(selector, loaded);

  const ranking = rankReturnCost(loaded.rows.map(rankedRow), rules);
  const productOf = await leaderboardProducts(database, workspace, ranking.rows);
  return {
    kind: "json",
    body: {
      data: {
        rows: ranking.rows.map((row) => ({
          ...presentCosts(row, exponent, rules.labelCostsIncluded),
          ...productOf(row.sku),
        })),
        currency_code: workspace.currencyCode,
        total_eligible_count: loaded.eligible_count,
        label_costs_included: rules.labelCostsIncluded,
      },
      meta: {
        selector: selectorEcho(selector, loaded.skus),
        ...rangeEcho(input),
        ...coverageOf(workspace, input),
        limit,
        returned: ranking.rows.length,
        vendor,
        vendor_known: vendor === null ? null : loaded.vendor_known,
        filters: { min_cost, vendor },
        totals: presentTotals(loaded, exponent, rules.labelCostsIncluded),
        full_leaderboards: hasFullLeaderboards(workspace),
      },
    },
  };
}

function rankedRow(row: CostSkuRow): RankedRow {
  return { sku: row.sku, productGid: row.product_gid, vendor: row.vendor, ...totalsOf(row) };
}

/** The sum of all rows that pass the filters, shown or not. */
function presentTotals(loaded: CostAnswer, exponent: number, labelsIncluded: boolean) {
  const labelMinor = labelsIncluded ? loaded.eligible_label_minor : 0;
  return {
    total_cost_amount: decimalFromMinor(loaded.eligible_refund_minor + labelMinor, exponent),
    total_refunded_amount: decimalFromMinor(loaded.eligible_refund_minor, exponent),
    total_return_label_cost: decimalFromMinor(labelMinor, exponent),
    sold_units: loaded.eligible_sold_units,
    returned_units: loaded.eligible_returned_units,
    return_rate: rate(loaded.eligible_returned_units, loaded.eligible_sold_units),
  };
}

/** The range's last month that takes part: later ones are left out as incomplete (M5). */
function lastMonth({ workspace, input }: Call<typeof contract>): string {
  const days = windowDays(input.window ?? "primary", workspace.primaryWindowDays);
  if (days === null || input.include_incomplete === true) return input.end_month;
  const latest = latestCompleteMonth(days, workspace.asOfDay);
  if (latest === null) return "0001-01";
  return latest < monthNumber(input.end_month) ? monthToText(latest) : input.end_month;
}

function presentCosts(row: RankedRow, exponent: number, labelsIncluded: boolean) {
  const amount = (minor: number): number => decimalFromMinor(minor, exponent);
  const marginMinor = marginImpactMinor(row, labelsIncluded);
  return {
    sku: row.sku,
    total_cost_amount: amount(returnsCostMinor(row, labelsIncluded)),
    total_refunded_amount: amount(row.refundMinor),
    total_return_label_cost: amount(labelsIncluded ? row.labelMinor : 0),
    sold_units: row.soldUnits,
    returned_units: row.returnedUnits,
    return_rate: rate(row.returnedUnits, row.soldUnits),
    refunded_units: row.refundedUnits,
    estimated_margin_impact: marginMinor === null ? null : amount(marginMinor),
    cogs_coverage: cogsCoverage(row),
  };
}
