import { bridgePart } from "./bridge.ts";
import { breakdownPart } from "./breakdown.ts";
import { intervalOf } from "./clusters.ts";
import { comparedMonths, coveragePart } from "./coverage.ts";
import { curvesPart } from "./curves.ts";
import { costMinor, figuresOf, soldValueOf, type Figures } from "./figures.ts";
import { fitPart } from "./fit.ts";
import type { LedgerLine } from "./ledger.ts";
import { cogsCoverageOf } from "./leaderboards.ts";
import { amountOf, byCodePoint, changeOf, nearest, rateOf, shareOf } from "./numbers.ts";
import type { Question } from "./oracle.ts";
import { outcomesPart } from "./outcomes.ts";
import { intervalOfPeriod, periodsOf, type OraclePeriod } from "./periods.ts";
import { saleEventParts } from "./sale-event.ts";
import { countedMonths, windowDaysOf } from "./selection.ts";

type Answered = { data: unknown; meta: Record<string, unknown> };

/** What is answered of these sections alone. */
const SECTIONS: Readonly<Record<string, (question: Question) => unknown>> = {
  breakdown: (question) => ({ breakdown: breakdownPart(question) }),
  outcomes: (question) => ({ outcomes: outcomesPart(question) }),
  bridge: (question) => ({ bridge: bridgePart(question) }),
  fit: (question) => ({ fit: fitPart(question) }),
  curves: curvesPart,
};

/** The whole report, without the labels of reasons, or one of these sections. */
export function report(question: Question): Answered {
  const { store, params } = question;
  const section = String(params["reportSection"]);
  const part = SECTIONS[section];
  if (part !== undefined) return { data: part(question), meta: { section } };
  const first = String(params["start_month"]);
  const months = countedMonths(store, params, first, String(params["end_month"]));
  const figures = figuresIn(question, months);
  const lines = linesIn(question, months);
  return {
    data: {
      currency_code: store.settings.currency_code,
      window_days: windowDaysOf(store, params),
      label_costs_included: question.ledger.labelCostsIncluded,
      summary: {
        ...unitFigures(figures),
        return_rate_interval: intervalOf(question, { ...figures, lines }),
        refunded_units: figures.refundedUnits,
        ...costFigures(question, figures),
        cost_per_returned_unit: costPerUnit(question, figures),
        median_days_to_return: medianOf(figures.lags),
        ...soldValueOf(figures, store.settings.currency_code),
        ...coveragePart(store, params),
      },
      comparison: comparisonPart(question, figures),
      trend: periodsOf(question).map((period) => trendRow(question, period)),
      return_reasons: reasonsPart(figures),
      refunds: {
        refunded_units: figures.refundedUnits,
        refunded_amount: amountOf(figures.refundMinor, store.settings.currency_code),
        returned_not_refunded_units: figures.returnedNotRefunded,
        refunded_not_returned_units: figures.refundedNotReturned,
      },
      timing_buckets: timingPart(figures),
      lifecycle_coverage: lifecyclePart(question, months, figures),
      costs: costsPart(question, figures),
      ...saleEventParts(question),
    },
    meta: { section: "overview" },
  };
}

function linesIn({ ledger, selected }: Question, months: readonly string[]): LedgerLine[] {
  return ledger.lines.filter((line) => selected.holds(line) && months.includes(line.month));
}

function figuresIn(question: Question, months: readonly string[]): Figures {
  return figuresOf(linesIn(question, months), windowDaysOf(question.store, question.params));
}

function unitFigures({ sold, returned }: Figures) {
  return { sold_units: sold, returned_units: returned, return_rate: rateOf(returned, sold) };
}

function costFigures(question: Question, figures: Figures) {
  const { currency_code: currency } = question.store.settings;
  return {
    refunded_amount: amountOf(figures.refundMinor, currency),
    return_label_cost: amountOf(question.ledger.labelCostsIncluded ? figures.labelMinor : 0, currency),
    returns_cost: amountOf(costMinor(question, figures), currency),
  };
}

function costPerUnit(question: Question, figures: Figures): number | null {
  if (figures.returned === 0) return null;
  const minor = nearest(BigInt(costMinor(question, figures)), BigInt(figures.returned));
  return amountOf(minor, question.store.settings.currency_code);
}

function medianOf(lags: readonly number[]): number | null {
  const sorted = lags.toSorted((left, right) => left - right);
  const [upper, lower] = [sorted[sorted.length >> 1], sorted[(sorted.length - 1) >> 1]];
  return upper === undefined || lower === undefined ? null : (lower + upper) / 2;
}

function comparisonPart(question: Question, figures: Figures) {
  const months = comparedMonths(question.store, question.params);
  if (months === null) return null;
  const before = figuresIn(question, months);
  return {
    start_month: months[0],
    end_month: months.at(-1),
    ...unitFigures(before),
    return_rate_change: changeOf(figures, before),
  };
}

function trendRow(question: Question, { days, named, isComplete }: OraclePeriod) {
  const { ledger, selected, store, params } = question;
  const windowDays = windowDaysOf(store, params);
  const lines = ledger.lines.filter((line) => selected.holds(line) && days.has(line.orderedDay));
  const figures = figuresOf(lines, windowDays);
  const interval = named.period_start === undefined ? intervalOf : intervalOfPeriod;
  return {
    ...named,
    ...unitFigures(figures),
    return_rate_interval: interval(question, { ...figures, lines }),
    is_complete: windowDays === null ? null : isComplete,
    refunded_units: figures.refundedUnits,
    ...costFigures(question, figures),
    ...soldValueOf(figures, store.settings.currency_code),
  };
}

/** M8: most units first, then by text; of equal texts the stated reason first. */
function reasonsPart({ reasons, returned }: Figures) {
  const groups = Object.values(Object.groupBy(reasons, ({ kind, reason }) => `${kind} ${reason}`));
  return groups
    .flatMap((units = []) => units.slice(0, 1).map((first) => ({ ...first, units: units.length })))
    .toSorted(
      (left, right) =>
        right.units - left.units ||
        byCodePoint(left.reason, right.reason) ||
        (left.kind === "stated" ? -1 : 1),
    )
    .map(({ reason, kind, units }) => ({
      reason,
      kind,
      returned_units: units,
      share: rateOf(units, returned),
    }));
}

/** M3. */
function timingPart({ lags }: Figures) {
  const buckets = [
    ["0-7", 0, 7],
    ["8-14", 8, 14],
    ["15-30", 15, 30],
    ["31-60", 31, 60],
    ["61-90", 61, 90],
    ["91+", 91, null],
  ] as const;
  return buckets.map(([bucket, from, to]) => {
    const upTo = lags.filter((lag) => to === null || lag <= to).length;
    const inside = upTo - lags.filter((lag) => lag < from).length;
    return {
      bucket,
      from_day: from,
      to_day: to,
      returned_units: inside,
      share: shareOf(inside, lags.length),
      cumulative_share: shareOf(upTo, lags.length),
    };
  });
}

/** Requested units by current state, independent of the window; shares of the returned units inside it. */
function lifecyclePart(question: Question, months: readonly string[], figures: Figures) {
  const requests = linesIn(question, months).flatMap((line) => line.requests);
  const unitsIn = (status: string): number =>
    requests.reduce((sum, request) => sum + (request.status === status ? request.units : 0), 0);
  const { reasons, returned } = figures;
  const withReason = reasons.filter(({ kind }) => kind === "stated");
  return {
    requested_units: unitsIn("REQUESTED"),
    open_units: unitsIn("OPEN"),
    closed_units: unitsIn("CLOSED"),
    declined_units: unitsIn("DECLINED"),
    canceled_units: unitsIn("CANCELED"),
    refund_only_units: reasons.filter(({ kind }) => kind === "refund_only").length,
    share_with_reason: shareOf(withReason.length, returned),
    share_with_refund: shareOf(returned - figures.returnedNotRefunded, returned),
    share_with_label: question.ledger.labelCostsIncluded
      ? shareOf(figures.returnedWithLabel, returned)
      : null,
  };
}

/** M10, M13. */
function costsPart(question: Question, figures: Figures) {
  const { store, ledger, selected, params } = question;
  const { currency_code: currency } = store.settings;
  const charged = ledger.unmatchedLabels.filter(
    ({ month }) => month >= String(params["start_month"]) && month <= String(params["end_month"]),
  );
  const showsUnmatched = ledger.labelCostsIncluded && !selected.isNarrowed;
  return {
    ...costFigures(question, figures),
    unmatched_label_cost: showsUnmatched
      ? amountOf(
          charged.reduce((sum, label) => sum + label.minor, 0),
          currency,
        )
      : null,
    estimated_margin_impact: figures.hasCost
      ? amountOf(costMinor(question, figures) - figures.restockedCostMinor, currency)
      : null,
    cogs_coverage: cogsCoverageOf(figures),
  };
}
