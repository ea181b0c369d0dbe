import { lastDayOfMonth, monthOfDay } from "../../src/lib/month.ts";
import { horizonDays } from "../../src/metrics/age-curve.ts";
import { LIABILITY_MONTHS, liabilityOf, refundRate } from "../../src/metrics/liability.ts";
import type { Liability, ReturnedMonth } from "../../src/metrics/liability.ts";
import { outlookModel, outlookOf, sumOutlooks } from "../../src/metrics/outlook.ts";
import { knownBy } from "./outlooks.ts";
import { dayCurves } from "./store-lines.ts";
import type { StoreLine } from "./store-lines.ts";
import { PRIMARY_WINDOW_DAYS } from "./warnings.ts";

export type LiabilityScore = {
  monthEnds: number;
  /** Sums of absolute errors: of the estimate, and of what came after the last month end. */
  error: number;
  lastMonthError: number;
  /** Month ends whose interval contains the actual value, for units and for money. */
  heldUnits: number;
  heldMoney: number;
  /** Sum of the errors with their signs, and of what came. */
  signed: number;
  truth: number;
};

/** M21 at every month end with complete refunds, for whole stores, pooled. */
export function scoreLiability(
  stores: readonly (readonly StoreLine[])[],
  windowDays: number,
): LiabilityScore {
  const score = {
    monthEnds: 0,
    error: 0,
    lastMonthError: 0,
    heldUnits: 0,
    heldMoney: 0,
    signed: 0,
    truth: 0,
  };
  for (const lines of stores) scoreStore(lines, windowDays, score);
  return score;
}

function scoreStore(lines: readonly StoreLine[], windowDays: number, score: LiabilityScore): void {
  const store = dayCurves(lines);
  const firstDay = store[0]?.day ?? 0;
  const lastDay = store.at(-1)?.day ?? 0;
  const linesByMonth = Map.groupBy(lines, (line) => monthOfDay(line.ordered_day));
  let before: number | null = null;
  for (
    let month = monthOfDay(firstDay) + LIABILITY_MONTHS;
    lastDayOfMonth(month) + windowDays <= lastDay;
    month += 1
  ) {
    const asOfDay = lastDayOfMonth(month);
    const openMonths = monthsOf(monthOfDay(asOfDay - windowDays), month);
    const came = cameAfter(linesByMonth, openMonths, asOfDay, windowDays);
    const last = before;
    before = came.minor;
    const days = store.filter(({ day }) => day <= asOfDay).map((day) => knownBy(day, asOfDay));
    const model = outlookModel({
      asOfDay,
      horizonDays: horizonDays(Math.max(windowDays, PRIMARY_WINDOW_DAYS)),
      windowDays,
      curveDays: days,
      ownDays: days,
    });
    const newest = monthOfDay(asOfDay - windowDays) - 1;
    const complete = monthsOf(newest - LIABILITY_MONTHS + 1, newest).map((past) =>
      returnedMonth(linesByMonth.get(past) ?? [], windowDays, asOfDay),
    );
    const rate = refundRate(complete, [], complete);
    if (model === null || rate === null || last === null) continue;
    const outlook = sumOutlooks(
      openMonths.map((open) =>
        outlookOf(
          model,
          days.filter(({ day }) => monthOfDay(day) === open),
          [0.8],
        ),
      ),
      [0.8],
    );
    const liability: Liability = liabilityOf(outlook, rate);
    const { low, high } = outlook.intervals[0] as (typeof outlook.intervals)[number];
    const units = outlook.returnedUnitsSoFar + came.units;
    score.monthEnds += 1;
    score.error += Math.abs(liability.refundMinor - came.minor);
    score.signed += liability.refundMinor - came.minor;
    score.truth += came.minor;
    score.lastMonthError += Math.abs(last - came.minor);
    score.heldUnits += units >= low && units <= high ? 1 : 0;
    score.heldMoney += came.minor >= liability.lowMinor && came.minor <= liability.highMinor ? 1 : 0;
  }
}

function monthsOf(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, place) => first + place);
}

function cameAfter(
  linesByMonth: ReadonlyMap<number, readonly StoreLine[]>,
  months: readonly number[],
  asOfDay: number,
  windowDays: number,
) {
  const came = { units: 0, minor: 0 };
  for (const line of months.flatMap((month) => linesByMonth.get(month) ?? [])) {
    const isToCome = (lag: number): boolean => lag <= windowDays && line.ordered_day + lag > asOfDay;
    for (const [place, lag] of line.lag_days.entries())
      came.units += isToCome(lag) ? (line.returned_units[place] as number) : 0;
    for (const { lagDays, minor } of line.refunds) came.minor += isToCome(lagDays) ? minor : 0;
  }
  return came;
}

function returnedMonth(lines: readonly StoreLine[], windowDays: number, asOfDay: number): ReturnedMonth {
  const month = { returnedUnits: 0, refundMinor: 0, restockedCostMinor: 0, costedReturnedUnits: 0 };
  for (const line of lines) {
    const isKnown = (lag: number): boolean => lag <= windowDays && line.ordered_day + lag <= asOfDay;
    for (const [place, lag] of line.lag_days.entries())
      month.returnedUnits += isKnown(lag) ? (line.returned_units[place] as number) : 0;
    for (const { lagDays, minor } of line.refunds) month.refundMinor += isKnown(lagDays) ? minor : 0;
  }
  return month;
}
