import type { ReportData } from "../contract/report.ts";
import { monthToText } from "../lib/month.ts";
import { designEffect, type Orders } from "../metrics/design-effect.ts";
import type { CohortRange } from "../metrics/completeness.ts";
import { decimalFromMinor, decimalOrNull } from "../metrics/money.ts";
import { rate, share, signedChange, wilsonInterval } from "../metrics/rate.ts";
import { REFUND_ONLY, UNSPECIFIED } from "../metrics/returned-units.ts";
import { medianDays, timingBuckets } from "../metrics/timing.ts";
import { cogsCoverage, costPerReturnedUnitMinor, marginImpactMinor } from "../metrics/totals.ts";
import { sumTotals, type Totals } from "../metrics/totals.ts";
import type { CohortMonthRow } from "../store/queries/cohort.ts";
import type { OutcomeFigures } from "../store/queries/report-outcomes.ts";
import type { ReportFigures } from "../store/queries/report-figures.ts";
import { presentPlace, type PeriodFigures } from "./order-periods.ts";
import type { ReportOutlooks } from "./report-outlook.ts";
import { compareReasons, presentReason } from "./report-reason.ts";
import { cohortMonths, presentCost, presentSoldValue, rateFigures } from "./cohort-months.ts";
import type { CohortMonth, coverageOf, Money } from "./cohort-months.ts";

/** The common basis of a report's parts: the counted months, their sum, and the underlying facts. */
export type ReportBasis = Money & {
  coverage: ReturnType<typeof coverageOf>;
  months: readonly CohortMonth[];
  totals: Totals;
  figures: Omit<ReportFigures, "found" | "vendor_found" | "skus" | "months" | "sale_events">;
  outlooks: ReportOutlooks;
  /** M6: of the selection. */
  orders: Orders;
};

type Part<Name extends keyof ReportData> = Exclude<ReportData[Name], undefined>;

/** M6, M7, M9, M11: the sum of the counted months. */
export function presentSummary(basis: ReportBasis): Part<"summary"> {
  const { totals } = basis;
  return {
    ...rateFigures(totals),
    return_rate_interval: intervalOf(basis.months, totals, basis),
    refunded_units: totals.refundedUnits,
    ...presentCost(totals, basis),
    cost_per_returned_unit: decimalOrNull(
      costPerReturnedUnitMinor(totals, basis.labelCostsIncluded),
      basis.currencyExponent,
    ),
    median_days_to_return: medianDays(unitsByLag(basis)),
    ...presentSoldValue(totals, basis),
    ...basis.coverage,
    outlook: basis.outlooks.ofRange,
  };
}

/** The complete months before (M5), and how far the rate has moved since; the change is null when either side sold nothing. */
export function presentComparison(
  totals: Totals,
  range: CohortRange,
  rows: readonly CohortMonthRow[],
): Part<"comparison"> {
  const before = sumTotals(cohortMonths(range, rows).map((month) => month.totals));
  return {
    start_month: monthToText(range.startMonth),
    end_month: monthToText(range.endMonth),
    ...rateFigures(before),
    return_rate_change: signedChange(
      totals.returnedUnits,
      totals.soldUnits,
      before.returnedUnits,
      before.soldUnits,
    ),
  };
}

/** M7, M26: one row per counted month, or per given week or day, zeros included. Only months have an outlook. */
export function presentTrend(basis: ReportBasis, periods: readonly PeriodFigures[] | null): Part<"trend"> {
  return (periods ?? basis.months).map(({ isComplete, totals, ...place }) => ({
    ...presentPlace(place),
    ...rateFigures(totals),
    return_rate_interval:
      "period" in place
        ? wilsonInterval(
            totals.returnedUnits,
            totals.soldUnits,
            designEffect(basis.orders, { ...totals, squaredSoldUnits: place.squaredSoldUnits }),
          )
        : intervalOf([place], totals, basis),
    is_complete: isComplete,
    refunded_units: totals.refundedUnits,
    ...presentCost(totals, basis),
    ...presentSoldValue(totals, basis),
    outlook: "period" in place ? null : basis.outlooks.ofMonth(place.month),
  }));
}

/** M8: returned units by reason, most units first, then by code point, a stated one before an absent one. */
export function presentReasons({ figures, totals }: ReportBasis): Part<"return_reasons"> {
  return figures.reasons
    .map(({ reason, returned_units: returnedUnits }) => ({
      ...presentReason(reason),
      returned_units: returnedUnits,
      share: rate(returnedUnits, totals.returnedUnits),
    }))
    .toSorted((left, right) => right.returned_units - left.returned_units || compareReasons(left, right));
}

export function presentRefunds(basis: ReportBasis): Part<"refunds"> {
  const { totals, figures } = basis;
  return {
    refunded_units: totals.refundedUnits,
    refunded_amount: decimalFromMinor(totals.refundMinor, basis.currencyExponent),
    returned_not_refunded_units: figures.returned_not_refunded_units,
    refunded_not_returned_units: figures.refunded_not_returned_units,
  };
}

/** M3: returned units by days since the order; buckets beyond the window hold zeros. */
export function presentTiming(basis: ReportBasis): Part<"timing_buckets"> {
  return timingBuckets(unitsByLag(basis)).map((bucket) => ({
    bucket: bucket.bucket,
    from_day: bucket.fromDay,
    to_day: bucket.toDay,
    returned_units: bucket.returnedUnits,
    share: bucket.share,
    cumulative_share: bucket.cumulativeShare,
  }));
}

/** Request units by present state; shares of the returned units that carry a reason, a refund, a label. */
export function presentLifecycle(basis: ReportBasis): Part<"lifecycle_coverage"> {
  const { figures, totals } = basis;
  const { returnedUnits } = totals;
  const withReason = (key: string) => figures.reasons.find((row) => row.reason === key)?.returned_units ?? 0;
  return {
    requested_units: figures.request_units.REQUESTED,
    open_units: figures.request_units.OPEN,
    closed_units: figures.request_units.CLOSED,
    declined_units: figures.request_units.DECLINED,
    canceled_units: figures.request_units.CANCELED,
    refund_only_units: withReason(REFUND_ONLY),
    share_with_reason: share(
      returnedUnits - withReason(REFUND_ONLY) - withReason(UNSPECIFIED),
      returnedUnits,
    ),
    share_with_refund: share(returnedUnits - figures.returned_not_refunded_units, returnedUnits),
    share_with_label: basis.labelCostsIncluded
      ? share(figures.returned_units_with_label, returnedUnits)
      : null,
  };
}

/** M9, M10, M11, M13. */
export function presentCosts(basis: ReportBasis): Part<"costs"> {
  const { totals, figures, currencyExponent } = basis;
  return {
    ...presentCost(totals, basis),
    unmatched_label_cost: decimalOrNull(figures.unmatched_label_minor, currencyExponent),
    estimated_margin_impact: decimalOrNull(
      marginImpactMinor(totals, basis.labelCostsIncluded),
      currencyExponent,
    ),
    cogs_coverage: cogsCoverage(totals),
  };
}

/** M23: how the returned units ended; the rows add up to the returned units and the refunded amount (M7). */
export function presentOutcomes(
  figures: OutcomeFigures,
  { currencyExponent }: Pick<Money, "currencyExponent">,
): Part<"outcomes"> {
  const row = (
    outcome: "exchange" | "refund" | "other",
    returnedUnits: number,
    { refundMinor = 0, keptMinor = 0 },
  ) => ({
    outcome,
    returned_units: returnedUnits,
    share: rate(returnedUnits, figures.returned_units),
    refunded_amount: decimalFromMinor(refundMinor, currencyExponent),
    kept_amount: decimalFromMinor(keptMinor, currencyExponent),
  });
  const { exchanged_units: exchanged, other_units: other, exchange_refund_minor: ofExchanges } = figures;
  return {
    rows: [
      row("exchange", exchanged, { refundMinor: ofExchanges, keptMinor: figures.kept_minor }),
      row("refund", figures.returned_units - exchanged - other, {
        refundMinor: figures.refund_minor - ofExchanges,
      }),
      row("other", other, {}),
    ],
    unattributed_refund_amount: decimalOrNull(figures.unattributed_refund_minor, currencyExponent),
  };
}

function intervalOf(
  months: readonly Pick<CohortMonth, "month">[],
  { soldUnits, returnedUnits }: Pick<Totals, "soldUnits" | "returnedUnits">,
  { orders }: ReportBasis,
) {
  const effect = designEffect(orders, { soldUnits, months: months.map(({ month }) => month) });
  return wilsonInterval(returnedUnits, soldUnits, effect);
}

function unitsByLag({ figures }: ReportBasis) {
  return figures.lags.map((row) => ({ lagDays: row.lag_days, returnedUnits: row.returned_units }));
}
