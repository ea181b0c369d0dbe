import type { ReportBreakdown, ReportData, WholeReport } from "../contract/report.ts";
import type { ReportBridge, ReportFit } from "../contract/report-sections.ts";
import type { BridgeRow } from "../store/queries/report-bridge.ts";
import type { BuiltReport } from "./report-build.ts";

/** One figure of the report. `unit` is a currency code for money. */
export type ReportRow = {
  section: string;
  cohort_month: string;
  key: string;
  label: string;
  metric: string;
  value: string | number | boolean | null;
  unit: string;
};

type Place = { section: string; cohortMonth?: string; key?: string; label?: string };
type Figures = Record<string, string | number | boolean | null>;

/**
 * Every figure of a report once, section by section: `metric` is the JSON member, `key` distinguishes members with the same name.
 * A null is a row without value; a null comparison, outlook or sale event has no rows.
 */
export function* reportRows({
  data: report,
  parts,
  bridgeLines,
}: Pick<BuiltReport, "data" | "parts" | "bridgeLines">): Generator<ReportRow[]> {
  const { breakdown, outcomes, bridge, liability, fit } = parts;
  const rowsOf = (place: Place, figures: Figures) => figureRows(place, figures, report.currency_code);
  const { refunded_amount: refundedAmount, ...otherCosts } = report.costs;

  yield [...summaryRows(report, rowsOf)];
  for (const row of report.trend) {
    const { cohort_month: cohortMonth, period_start: label, return_rate_interval, outlook, ...figures } = row;
    // Weeks and days of a month are distinguished by their first day.
    const place = { section: "trend", cohortMonth, ...(label === undefined ? {} : { label }) } as const;
    yield rowsOf(place, figures);
    yield rowsOf({ ...place, key: "return_rate_interval" }, boundsOf(return_rate_interval));
    if (outlook !== null) yield rowsOf({ ...place, key: "outlook" }, outlook);
  }
  for (const { reason, label, ...figures } of report.return_reasons) {
    yield rowsOf({ section: "return_reason", key: reasonKey(reason, figures.kind), label }, figures);
  }
  yield [
    ...rowsOf({ section: "refunded_amount", key: "refunds" }, report.refunds),
    ...rowsOf({ section: "refunded_amount", key: "costs" }, { refunded_amount: refundedAmount }),
  ];
  for (const { bucket, ...figures } of report.timing_buckets) {
    yield rowsOf({ section: "timing", key: bucket }, figures);
  }
  yield rowsOf({ section: "label_cost", key: "costs" }, otherCosts);
  yield rowsOf({ section: "lifecycle_coverage" }, report.lifecycle_coverage);
  yield [...saleEventRows(report, rowsOf)];
  for (const { slug, label, ...days } of report.sale_events) {
    yield rowsOf({ section: "sale_events", key: slug, label }, days);
  }
  yield [...curveRows(parts, rowsOf)];
  if (breakdown !== undefined) yield [...breakdownRows(breakdown, rowsOf)];
  if (outcomes !== undefined) {
    for (const { outcome, ...figures } of outcomes.rows) {
      yield rowsOf({ section: "outcomes", key: outcome }, figures);
    }
    const { unattributed_refund_amount: unattributed } = outcomes;
    yield rowsOf({ section: "outcomes" }, { unattributed_refund_amount: unattributed });
  }
  if (liability !== undefined && liability !== null) {
    const { months, ...total } = liability;
    yield rowsOf({ section: "liability" }, total);
    for (const { cohort_month: cohortMonth, ...figures } of months) {
      yield rowsOf({ section: "liability", cohortMonth }, figures);
    }
  }
  if (fit !== undefined && fit !== null) yield* fitRows(fit, rowsOf);
  if (bridge !== undefined) yield* bridgeRows(bridge, bridgeLines, rowsOf);
}

/**
 * A reason's text, which identifies its rows. A stated reason that equals `refund_only` or
 * `unspecified` gets a leading blank, which no stated reason has.
 */
function reasonKey(reason: string, kind: string): string {
  const readsAsNone = kind === "stated" && (reason === "refund_only" || reason === "unspecified");
  return readsAsNone ? ` ${reason}` : reason;
}

const NOTHING_INCLUDED =
  "No month of the range is complete yet, so nothing was counted and the zeros are not results; ask for months up to " +
  "complete_through, or for include_incomplete=true.";

type RowsOf = (place: Place, figures: Figures) => ReportRow[];

function* summaryRows(report: WholeReport, rowsOf: RowsOf): Generator<ReportRow> {
  const {
    return_rate_interval: interval,
    excluded_months: excludedMonths,
    outlook,
    ...figures
  } = report.summary;
  yield* rowsOf(
    { section: "summary" },
    {
      currency_code: report.currency_code,
      window_days: report.window_days,
      label_costs_included: report.label_costs_included,
      ...figures,
      excluded_months: excludedMonths.join(" "),
      ...(figures.months_included === 0 ? { note: NOTHING_INCLUDED } : {}),
    },
  );
  yield* rowsOf({ section: "summary", key: "return_rate_interval" }, boundsOf(interval));
  if (outlook !== null) yield* rowsOf({ section: "summary", key: "outlook" }, outlook);
  if (report.comparison !== null) yield* rowsOf({ section: "summary", key: "comparison" }, report.comparison);
}

function* saleEventRows(report: WholeReport, rowsOf: RowsOf): Generator<ReportRow> {
  yield* rowsOf({ section: "sale_event" }, { sale_event_unknown: report.sale_event_unknown });
  if (report.sale_event === null) return;
  const { event, baseline_period: baselinePeriod, ...figures } = report.sale_event;
  yield* rowsOf({ section: "sale_event" }, figures);
  yield* rowsOf({ section: "sale_event", key: "event" }, withBounds(event));
  yield* rowsOf({ section: "sale_event", key: "baseline_period" }, withBounds(baselinePeriod));
}

function* curveRows(
  { return_curves: curves = [], pooled_return_curve: pooled = [] }: BuiltReport["parts"],
  rowsOf: RowsOf,
): Generator<ReportRow> {
  for (const { cohort_month: cohortMonth, ages, ...figures } of curves) {
    yield* rowsOf({ section: "return_curve", cohortMonth }, figures);
    for (const age of ages) {
      yield* rowsOf({ section: "return_curve", cohortMonth, key: `${age.age_days}d` }, withBounds(age));
    }
  }
  for (const age of pooled) {
    yield* rowsOf({ section: "pooled_return_curve", key: `${age.age_days}d` }, withBounds(age));
  }
}

function* breakdownRows({ breakdown_by: by, rows }: ReportBreakdown, rowsOf: RowsOf): Generator<ReportRow> {
  yield* rowsOf({ section: "breakdown" }, { breakdown_by: by });
  for (const row of rows) {
    const { key, label, selector: _selector, top_reason: topReason, ...rest } = row;
    const {
      monthly_return_rates: _rates,
      product_title: _title,
      product_image_url: _image,
      ...figures
    } = rest;
    yield* rowsOf(
      { section: "breakdown", key, label },
      {
        ...withBounds(figures),
        top_reason: topReason?.reason ?? null,
        top_reason_share: topReason?.share ?? null,
      },
    );
  }
}

/** Sizes, then from size to size, by keys such as `m > l`. */
function* fitRows(
  { sizes, bracketing, exchanges, unmapped_reasons: unmapped, ...figures }: ReportFit,
  rowsOf: RowsOf,
): Generator<ReportRow[]> {
  yield rowsOf({ section: "fit" }, figures);
  for (const { size, label, too_small: small, too_large: large, ...row } of sizes) {
    const place = { section: "fit", key: size, label } as const;
    yield rowsOf(place, {
      ...row,
      too_small_share: small?.share ?? null,
      too_small_share_low: small?.low ?? null,
      too_small_share_high: small?.high ?? null,
      too_large_share: large?.share ?? null,
      too_large_share_low: large?.low ?? null,
      too_large_share_high: large?.high ?? null,
    });
  }
  yield rowsOf({ section: "fit", key: "bracketing" }, bracketing);
  for (const { from, to, units } of exchanges) {
    yield rowsOf({ section: "fit", key: `${from} > ${to ?? ""}` }, { exchanged_units: units });
  }
  for (const { reason, returned_units } of unmapped) {
    yield rowsOf({ section: "fit", key: "unmapped", label: reason }, { returned_units });
  }
}

/** The steps, and the lines of each step. */
function* bridgeRows(
  { steps, rate_change: change, ...figures }: ReportBridge,
  lines: readonly BridgeRow[],
  rowsOf: RowsOf,
): Generator<ReportRow[]> {
  yield rowsOf({ section: "bridge" }, figures);
  for (const { step, units } of steps) yield rowsOf({ section: "bridge", key: step }, { units });
  for (const [part, value] of Object.entries(change ?? {})) {
    yield rowsOf({ section: "bridge", key: part }, { return_rate_change: value });
  }
  for (const { step, units, key, label, cohort_month: cohortMonth } of lines) {
    yield rowsOf({ section: "bridge_line", cohortMonth, key, label }, { [`${step}_units`]: units });
  }
}

type Interval = ReportData["summary"]["return_rate_interval"];

function boundsOf(interval: Interval): Figures {
  return { low: interval?.low ?? null, high: interval?.high ?? null };
}

/** Figures with the ends of their interval after them. */
function withBounds<Row extends { return_rate_interval: Interval }>({
  return_rate_interval: interval,
  ...figures
}: Row) {
  return { ...figures, ...boundsOf(interval) };
}

function figureRows(place: Place, figures: Figures, currencyCode: string): ReportRow[] {
  return Object.entries(figures).map(([metric, value]) => ({
    section: place.section,
    cohort_month: place.cohortMonth ?? "",
    key: place.key ?? "",
    label: place.label ?? "",
    metric,
    value,
    unit: unitOf(metric, currencyCode),
  }));
}

const UNITS: readonly [metric: RegExp, unit: string | null][] = [
  [/(?:^|_)units$/u, "units"],
  [/(?:^|_)orders$|^returns_with_reason$/u, "orders"],
  [/_(?:amount|cost|impact)$|^cost_per_returned_unit$/u, null],
  [/^return_rate|share|^sold_amount_coverage$|^(?:low|high|level)$/u, "ratio"],
  [/^days$|_days$|_day$|^median_days_to_return$/u, "days"],
  [/^cogs_coverage$/u, "percent"],
  [/_on$|^as_of$/u, "date"],
  [/^months_included$/u, "months"],
  [/_month$|^complete_through$/u, "month"],
  [/^(?:is_complete|low_evidence|label_costs_included|sale_event_unknown)$/u, "boolean"],
  [
    /^(?:currency_code|slug|label|baseline|scope|kind|excluded_months|note|breakdown_by|top_reason|option|sentence|fit)$/u,
    "text",
  ],
];

/** Null in the table means money, whose unit is the currency. */
function unitOf(metric: string, currencyCode: string): string {
  const found = UNITS.find(([pattern]) => pattern.test(metric));
  if (found === undefined) throw new Error(`no unit for ${metric}`);
  return found[1] ?? currencyCode;
}
