import type { Input } from "../contract/endpoint.ts";
import type { report, ReportData } from "../contract/report.ts";
import {
  dayFromText,
  dayToText,
  monthOfDay,
  firstDayOfMonth,
  lastDayOfMonth,
  monthsBetween,
} from "../lib/month.ts";
import { INDEPENDENT_UNITS, designEffect, type Orders } from "../metrics/design-effect.ts";
import { signedChange, wilsonInterval } from "../metrics/rate.ts";
import { baselinePeriod, countDays, nonSaleDays, spanOf } from "../metrics/sale-event.ts";
import type { DayRange } from "../metrics/sale-event.ts";
import type { SaleEventRow } from "../store/queries/report-figures.ts";
import { hasWholeMonths, loadSaleFigures } from "../store/queries/report-sale-event.ts";
import type {
  SaleFiguresRange,
  SaleFiguresRow,
  SalePeriod,
  MonthDays,
} from "../store/queries/report-sale-event.ts";
import type { Selection } from "../store/queries/selection.ts";
import { rateFigures } from "./cohort-months.ts";
import { loadOrders } from "./design-effects.ts";
import type { ReportQuery } from "./report-build.ts";

type SaleEventRequest = Pick<Input<typeof report>, "saleEvent" | "saleEventBaseline" | "saleEventScope">;

/** M15: a sale event against its baseline, at day grain; null when the workspace has no event of that slug. */
export async function loadSaleEvent(
  query: ReportQuery,
  events: readonly SaleEventRow[],
  {
    saleEvent,
    saleEventBaseline: baseline = "matched_prior",
    saleEventScope = "current_selection",
  }: SaleEventRequest,
): Promise<ReportData["sale_event"]> {
  const { database, workspace, selection, range } = query;
  const event = events.find((row) => row.slug === saleEvent);
  if (event === undefined) return null;

  const period = baselinePeriod(daysOf(event), baseline);
  const baselineDays = period === null ? nonSaleDays(range, events.map(daysOf)) : [period];
  const lastDay = range.includeIncomplete ? null : lastCompleteDay(range.windowDays, range.asOfDay);
  const counted = {
    event: daysUntil([daysOf(event)], lastDay),
    baseline: daysUntil(baselineDays, lastDay),
  };
  const span = period === null ? null : spanOf(counted.baseline);
  const scope = saleEventScope === "current_selection" ? selection : scopeOf(event);
  const days = [...monthDaysOf("event", counted.event), ...monthDaysOf("baseline", counted.baseline)];
  const rows = await loadSaleFigures(database, workspace, { scope, windowDays: range.windowDays, days });
  const whole = hasWholeMonths(scope) ? days.filter(({ isWhole }) => isWhole) : [];
  const months = whole.map(({ monthDay }) => monthOfDay(monthDay));
  const isOfRequest = saleEventScope === "current_selection" && months.length === 0;
  const orders = isOfRequest
    ? query.orders
    : ((await loadOrders(query, [selectionsOf(scope)], months))[0] ?? INDEPENDENT_UNITS);
  const figuresIn = (side: SalePeriod) =>
    figuresOf(
      rows.find((row) => row.period === side),
      orders,
      whole.filter((month) => month.period === side).map(({ monthDay }) => monthOfDay(monthDay)),
    );
  const figures = { event: figuresIn("event"), baseline: figuresIn("baseline") };
  return {
    slug: event.slug,
    label: event.label,
    starts_on: event.starts_on,
    ends_on: event.ends_on,
    baseline,
    scope: saleEventScope,
    event: { days: countDays(counted.event), ...figures.event },
    baseline_period: {
      days: countDays(counted.baseline),
      starts_on: span === null ? null : dayToText(span.startsOnDay),
      ends_on: span === null ? null : dayToText(span.endsOnDay),
      ...figures.baseline,
    },
    return_rate_change: signedChange(
      figures.event.returned_units,
      figures.event.sold_units,
      figures.baseline.returned_units,
      figures.baseline.sold_units,
    ),
  };
}

/** M5 at day grain: the last day whose window has closed; null when every day counts, as with lifetime. */
export function lastCompleteDay(windowDays: number | null, asOfDay: number | null): number | null {
  if (windowDays === null) return null;
  return asOfDay === null ? -Infinity : asOfDay - windowDays - 1;
}

/** The days of the ranges up to `lastDay`; null = all of them. */
export function daysUntil(ranges: readonly DayRange[], lastDay: number | null): DayRange[] {
  if (lastDay === null) return [...ranges];
  return ranges
    .filter((range) => range.startsOnDay <= lastDay)
    .map((range) => ({ startsOnDay: range.startsOnDay, endsOnDay: Math.min(range.endsOnDay, lastDay) }));
}

function scopeOf(event: SaleEventRow): SaleFiguresRange["scope"] {
  if (event.skus === null) return { kind: "workspace", key: "", includeUsed: false, vendor: null };
  return { kind: "skus", skus: event.skus };
}

function selectionsOf(scope: SaleFiguresRange["scope"]): Selection[] {
  if (scope.kind !== "skus") return [scope];
  return [...new Set(scope.skus)].map((key) => ({ kind: "sku", key, includeUsed: false, vendor: null }));
}

function figuresOf(row: SaleFiguresRow | undefined, orders: Orders, months: readonly number[]) {
  const soldUnits = row?.sold_units ?? 0;
  const returnedUnits = row?.returned_units ?? 0;
  return {
    ...rateFigures({ soldUnits, returnedUnits }),
    return_rate_interval: wilsonInterval(
      returnedUnits,
      soldUnits,
      designEffect(orders, { soldUnits, months, squaredSoldUnits: row?.squared_sold_units ?? null }),
    ),
  };
}

function daysOf(event: SaleEventRow): DayRange {
  const startsOnDay = dayFromText(event.starts_on);
  const endsOnDay = dayFromText(event.ends_on);
  if (startsOnDay === null || endsOnDay === null) throw new RangeError(`not a day: ${event.slug}`);
  return { startsOnDay, endsOnDay };
}

/** Ranges of days cut at the ends of months, in order. */
export function monthDaysOf(period: SalePeriod, ranges: readonly DayRange[]): MonthDays[] {
  return ranges.flatMap((range) =>
    monthsBetween(monthOfDay(range.startsOnDay), monthOfDay(range.endsOnDay)).map((month) => {
      const monthDay = firstDayOfMonth(month);
      const lastDay = lastDayOfMonth(month);
      const startsOnDay = Math.max(range.startsOnDay, monthDay);
      const endsOnDay = Math.min(range.endsOnDay, lastDay);
      const isWhole = startsOnDay === monthDay && endsOnDay === lastDay;
      return { period, monthDay, startsOnDay, endsOnDay, isWhole };
    }),
  );
}
