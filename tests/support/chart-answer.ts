import fc from "fast-check";
import { INDEPENDENT_UNITS } from "../../src/metrics/design-effect.ts";
import { pooledAges, curveAges, observedDays } from "../../src/metrics/return-curve.ts";
import { rate, share, signedChange, wilsonInterval } from "../../src/metrics/rate.ts";
import { lastDayOfMonth, monthToDate } from "../../src/lib/month.ts";

type Units = { soldUnits: number; returnedUnits: number };
export type ChartAnswer = { name: string; body: { data: Record<string, unknown>; meta: object } };

/** The data that charts draw from a report; every text of a person or a source is `label`. */
export type ChartStory = {
  startMonth: number;
  /** One entry for each order month, oldest first; the newest `openMonths` of them are open. */
  months: readonly Units[];
  openMonths: number;
  windowDays: number | null;
  hasOutlook: boolean;
  label: string;
  refundPerUnit: number;
  labelPerUnit: number;
  sale: { event: Units; baseline: Units } | null;
};

const SHARE_BY_AGE = [0.28, 0.55, 0.82, 0.91, 0.95, 0.99, 1];

/** The answer of a report with these months, its figures made by the API's own arithmetic. */
export function chartAnswer(story: ChartStory, name = "report"): ChartAnswer {
  const { months, label } = story;
  const returned = months.reduce((sum, row) => sum + row.returnedUnits, 0);
  return {
    name,
    body: {
      meta: {},
      data: {
        currency_code: "EUR",
        window_days: story.windowDays,
        label_costs_included: story.labelPerUnit > 0,
        trend: months.map((row, index) => trendRow(story, row, index)),
        costs: { unmatched_label_cost: story.labelPerUnit > 0 ? 12.5 : null },
        return_reasons: [0.6, 0.3, 0.1].map((part, index) => ({
          reason: label,
          kind: index === 1 ? "unspecified" : "stated",
          label,
          returned_units: Math.round(returned * part),
          share: part,
        })),
        timing_buckets: timingBuckets(returned),
        sale_event: saleEvent(story),
        sale_events: [
          { slug: "sale", label, starts_on: "2025-11-28", ends_on: "2025-12-01" },
          { slug: "before", label, starts_on: "2024-11-28", ends_on: "2024-12-01" },
        ],
        ...curves(story),
      },
    },
  };
}

function trendRow(story: ChartStory, row: Units, index: number) {
  const isOpen = index >= story.months.length - story.openMonths;
  const refunded = Math.round(row.returnedUnits * story.refundPerUnit * 100) / 100;
  const labels = Math.round(row.returnedUnits * story.labelPerUnit * 100) / 100;
  const ownRate = rate(row.returnedUnits, row.soldUnits);
  return {
    cohort_month: monthToDate(story.startMonth + index),
    ...figures(row),
    is_complete: story.windowDays === null ? null : !isOpen,
    refunded_units: row.returnedUnits,
    refunded_amount: refunded,
    return_label_cost: labels,
    returns_cost: Math.round((refunded + labels) * 100) / 100,
    sold_amount: row.soldUnits * 20,
    sold_amount_coverage: row.soldUnits === 0 ? null : 1,
    refund_share: row.soldUnits === 0 ? null : refunded / (row.soldUnits * 20),
    outlook:
      isOpen && story.hasOutlook && story.windowDays !== null && row.soldUnits > 0
        ? {
            return_rate: Math.min(1, ownRate * 1.5),
            low: ownRate,
            high: Math.min(1, ownRate * 2),
            level: 0.8,
            share_observed: 0.4,
          }
        : null,
  };
}

function figures({ soldUnits, returnedUnits }: Units) {
  return {
    sold_units: soldUnits,
    returned_units: returnedUnits,
    return_rate: rate(returnedUnits, soldUnits),
    return_rate_interval: wilsonInterval(returnedUnits, soldUnits, 1),
  };
}

function timingBuckets(returned: number) {
  const ends = [7, 14, 30, 60, 90, null];
  let cumulative = 0;
  return ends.map((to, index) => {
    const units = index === ends.length - 1 ? returned - cumulative : Math.floor(returned / 6);
    cumulative += units;
    const from = index === 0 ? 0 : Number(ends[index - 1]) + 1;
    return {
      bucket: to === null ? `${from}+` : `${from}-${to}`,
      from_day: from,
      to_day: to,
      returned_units: units,
      share: share(units, returned),
      cumulative_share: share(cumulative, returned),
    };
  });
}

function saleEvent({ sale, label }: ChartStory) {
  if (sale === null) return null;
  const { event, baseline } = sale;
  return {
    slug: "sale",
    label,
    starts_on: "2025-11-28",
    ends_on: "2025-12-01",
    baseline: "matched_prior",
    scope: "current_selection",
    event: { days: 4, ...figures(event) },
    baseline_period: { days: 4, starts_on: "2025-11-24", ends_on: null, ...figures(baseline) },
    return_rate_change: signedChange(
      event.returnedUnits,
      event.soldUnits,
      baseline.returnedUnits,
      baseline.soldUnits,
    ),
  };
}

function curves({ months, startMonth }: ChartStory) {
  const asOfDay = lastDayOfMonth(startMonth + months.length - 1) + 20;
  const cohorts = months.map(({ soldUnits, returnedUnits }, index) => ({
    month: startMonth + index,
    soldUnits,
    returnedUnits: SHARE_BY_AGE.map((part) => Math.round(part * returnedUnits)),
  }));
  const shown = (age: {
    ageDays: number;
    returnedUnits: number | null;
    returnRate: number | null;
    interval: unknown;
  }) => ({
    age_days: age.ageDays,
    returned_units: age.returnedUnits,
    return_rate: age.returnRate,
    return_rate_interval: age.interval,
  });
  return {
    return_curves: cohorts.map((curve) => ({
      cohort_month: monthToDate(curve.month),
      sold_units: curve.soldUnits,
      observed_days: observedDays(curve.month, asOfDay),
      ages: curveAges(curve, { asOfDay, includeIncomplete: true, orders: INDEPENDENT_UNITS }).map((age) => ({
        ...shown(age),
        is_complete: age.isComplete,
      })),
    })),
    pooled_return_curve: pooledAges(cohorts, { asOfDay, orders: INDEPENDENT_UNITS }).map((age) => ({
      ...shown(age),
      months_included: age.monthsIncluded,
      sold_units: age.soldUnits,
    })),
  };
}

/** Any story: no months, months without sales, all open, everything returned, thousands of units. */
export const anyStory: fc.Arbitrary<ChartStory> = fc.record({
  startMonth: fc.integer({ min: 24_000, max: 24_400 }),
  months: fc.array(anyUnits(), { maxLength: 40 }),
  openMonths: fc.integer({ min: 0, max: 40 }),
  windowDays: fc.constantFrom(null, 14, 30, 45, 90, 365),
  hasOutlook: fc.boolean(),
  label: fc.constant("Label"),
  refundPerUnit: fc.constantFrom(0, 19.99, -3.5),
  labelPerUnit: fc.constantFrom(0, 4.25),
  sale: fc.option(fc.record({ event: anyUnits(), baseline: anyUnits() })),
});

function anyUnits(): fc.Arbitrary<Units> {
  return fc
    .tuple(
      fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 90_000 })),
      fc.double({ min: 0, max: 1, noNaN: true }),
    )
    .map(([soldUnits, part]) => ({ soldUnits, returnedUnits: Math.round(soldUnits * part) }));
}

/** A year and two open months: steady, then a rise from June 2026 on. */
export const risingStory: ChartStory = {
  startMonth: 2025 * 12 + 8,
  months: [
    [1204, 49],
    [1310, 51],
    [2480, 109],
    [2205, 115],
    [1188, 56],
    [1020, 42],
    [1100, 42],
    [1160, 46],
    [1190, 51],
    [1240, 60],
    [1302, 86],
    [1333, 95],
    [1410, 76],
    [980, 14],
  ].map(([soldUnits = 0, returnedUnits = 0]) => ({ soldUnits, returnedUnits })),
  openMonths: 2,
  windowDays: 30,
  hasOutlook: true,
  label: "Too small",
  refundPerUnit: 38.4,
  labelPerUnit: 6.1,
  sale: { event: { soldUnits: 802, returnedUnits: 58 }, baseline: { soldUnits: 310, returnedUnits: 13 } },
};
