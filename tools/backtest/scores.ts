import { firstDayOfMonth, lastDayOfMonth, monthOfDay } from "../../src/lib/month.ts";
import { horizonDays } from "../../src/metrics/age-curve.ts";
import { fitOfSizes } from "../../src/metrics/fit.ts";
import type { FitCounts } from "../../src/metrics/fit.ts";
import { LIABILITY_MONTHS, liabilityOf, refundRate } from "../../src/metrics/liability.ts";
import type { Liability, ReturnedMonth } from "../../src/metrics/liability.ts";
import { outlookModel, outlookOf, sumOutlooks, unitsBy } from "../../src/metrics/outlook.ts";
import type { DayCurve } from "../../src/metrics/outlook.ts";
import { dayCurves } from "./store-lines.ts";
import type { StoreLine } from "./store-lines.ts";
import type { FitProduct } from "./stores.ts";
import { PRIMARY_WINDOW_DAYS } from "./warnings.ts";

type OutlookScore = {
  scope: "workspace" | "products";
  windowDays: number;
  /** Days since the end of the month. */
  ageDays: number;
  months: number;
  /** Mean absolute error of the rate, relative to that of the month so far. */
  errorRatio: number;
  /** Shares of the months whose rate the intervals contain. */
  heldBy80: number;
  heldBy95: number;
};

const AGES_DAYS = [0, 15, 30, 45, 60];
const WINDOWS_DAYS = [30, 90];
const LEVELS = [0.8, 0.95];
const FEWEST_LINES = 100;
/** Products with fewer lines in all are not scored: a hundred a month over a year. */
const FEWEST_LINES_OF_PRODUCT = 1200;

/** M18 for every month with a known outcome, as of days after the month's end. */
export function scoreOutlooks(lines: readonly StoreLine[]): OutlookScore[] {
  const products = Map.groupBy(
    lines.filter((line) => line.product_gid !== null && !line.used),
    (line) => line.product_gid,
  );
  const selections = {
    workspace: [lines],
    products: [...products.values()].filter((own) => own.length >= FEWEST_LINES_OF_PRODUCT),
  };
  const lastDay = lines.reduce(
    (last, line) => Math.max(last, line.ordered_day + (line.lag_days.at(-1) ?? 0)),
    0,
  );
  const store = dayCurves(lines);
  return (["workspace", "products"] as const).flatMap((scope) =>
    WINDOWS_DAYS.flatMap((windowDays) =>
      AGES_DAYS.filter((age) => age < windowDays).flatMap((ageDays) => {
        const months = selections[scope].flatMap((own) =>
          scoredMonths({ store, own: dayCurves(own), windowDays, ageDays, lastDay }),
        );
        return months.length === 0 ? [] : [{ scope, windowDays, ageDays, ...summed(months) }];
      }),
    ),
  );
}

type Scored = { error: number; errorAsIs: number; isHeld: boolean[] };
type Question = {
  store: DayCurve[];
  own: DayCurve[];
  windowDays: number;
  ageDays: number;
  lastDay: number;
};

function scoredMonths({ store, own, windowDays, ageDays, lastDay }: Question): Scored[] {
  const scored: Scored[] = [];
  const firstMonth = monthOfDay(store[0]?.day ?? 0);
  for (let month = firstMonth; lastDayOfMonth(month) + windowDays <= lastDay; month += 1) {
    const asOfDay = lastDayOfMonth(month) + ageDays;
    const whole = own.filter(({ day }) => monthOfDay(day) === month);
    if (sum(whole, (day) => day.soldLines) < FEWEST_LINES) continue;
    const known = own.filter(({ day }) => day <= asOfDay).map((day) => knownBy(day, asOfDay));
    const model = outlookModel({
      asOfDay,
      horizonDays: horizonDays(Math.max(windowDays, PRIMARY_WINDOW_DAYS)),
      windowDays,
      curveDays: store.filter(({ day }) => day <= asOfDay).map((day) => knownBy(day, asOfDay)),
      ownDays: known,
    });
    if (model === null) continue;
    const now = known.filter(({ day }) => day >= firstDayOfMonth(month) && day <= lastDayOfMonth(month));
    const sold = sum(whole, (day) => day.soldUnits);
    const truth = sum(whole, (day) => unitsBy(day, windowDays));
    const outlook = outlookOf(model, now, LEVELS);
    scored.push({
      error: Math.abs(outlook.returnedUnits - truth) / sold,
      errorAsIs: Math.abs(sum(now, (day) => unitsBy(day, windowDays)) - truth) / sold,
      isHeld: outlook.intervals.map(({ low, high }) => truth >= low - 1e-9 && truth <= high + 1e-9),
    });
  }
  return scored;
}

function summed(months: readonly Scored[]) {
  const held = (place: number): number => months.filter(({ isHeld }) => isHeld[place]).length / months.length;
  return {
    months: months.length,
    errorRatio: sum(months, ({ error }) => error) / sum(months, ({ errorAsIs }) => errorAsIs),
    heldBy80: held(0),
    heldBy95: held(1),
  };
}

/** The known part of a day's curve as of another day. */
function knownBy(day: DayCurve, asOfDay: number): DayCurve {
  const places = day.lagDays.filter((lag) => day.day + lag <= asOfDay).length;
  return {
    ...day,
    lagDays: day.lagDays.slice(0, places),
    returnedUnits: day.returnedUnits.slice(0, places),
    returnedLines: day.returnedLines.slice(0, places),
  };
}

function sum<Item>(items: readonly Item[], valueOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + valueOf(item), 0);
}

type LiabilityScore = ReturnType<typeof emptyLiability>;

function emptyLiability() {
  return {
    monthEnds: 0,
    /** Sums of absolute errors: of the estimate, and of the refunds after the previous month end used as an estimate. */
    error: 0,
    lastMonthError: 0,
    /** Month ends whose interval contains the actual value, for units and for money. */
    heldUnits: 0,
    heldMoney: 0,
    /** Sums of the signed errors, and of the actual refunds. */
    signed: 0,
    truth: 0,
  };
}

/** M21 at every month end with complete refunds, for all stores together. */
export function scoreLiability(
  stores: readonly (readonly StoreLine[])[],
  windowDays: number,
): LiabilityScore {
  const score = emptyLiability();
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

const FIT_MONTHS = 12;
/** By the returns of a misfit's sizes in the twelve months. */
const CLASSES = [0, 20, 50, 100, Infinity];

type FitScore = {
  /** Product-months without a misfit, and how many of them a sentence names. */
  fittingMonths: number;
  invented: number;
  /** Size-months without a misfit of products that have one, and how many of them a sentence names. */
  fittingSizes: number;
  inventedSizes: number;
  /** Misfits by the returns of their sizes: product-months, those that a sentence names, and those marked as thin. */
  misfits: { least: number; months: number; found: number; marked: number }[];
};

/** M22 at the end of each month, over the twelve months that end with it. */
export function scoreFit(stores: readonly (readonly FitProduct[])[]): FitScore {
  const score: FitScore = { fittingMonths: 0, invented: 0, fittingSizes: 0, inventedSizes: 0, misfits: [] };
  score.misfits = CLASSES.slice(0, -1).map((least) => ({ least, months: 0, found: 0, marked: 0 }));
  for (const store of stores) {
    const months = store[0]?.months.length ?? 0;
    for (let end = FIT_MONTHS; end <= months; end += 1) {
      const counts = store.map((product) => sumOf(product.months.slice(end - FIT_MONTHS, end)));
      for (const [place, product] of store.entries()) {
        const others = sumOf(
          [counts.filter((_sizes, other) => other !== place).flat()].map((all) => [countsOf(all)]),
        );
        scoreProduct(product, counts[place] as FitCounts[], others[0] as FitCounts, score);
      }
    }
  }
  return score;
}

function scoreProduct(
  { misfit }: FitProduct,
  counts: readonly FitCounts[],
  others: FitCounts,
  score: FitScore,
): void {
  const { sizes, whole } = fitOfSizes(counts, others);
  if (misfit === null) {
    score.fittingMonths += 1;
    if (whole.fit !== null || sizes.some(({ fit }) => fit !== null)) score.invented += 1;
    return;
  }
  for (const [size, { fit }] of sizes.entries()) {
    if (misfit.sizes.includes(size)) continue;
    score.fittingSizes += 1;
    if (fit !== null) score.inventedSizes += 1;
  }
  const wrong = misfit.sizes.map((size) => counts[size] as FitCounts);
  const { returns } = countsOf(wrong);
  const row = score.misfits.findLast(({ least }) => returns >= least);
  if (row === undefined) return;
  row.months += 1;
  if (whole.fit === misfit.fit || misfit.sizes.some((size) => sizes[size]?.fit === misfit.fit))
    row.found += 1;
  else if (misfit.sizes.every((size) => sizes[size]?.isThin)) row.marked += 1;
}

function sumOf(rows: readonly (readonly FitCounts[])[]): FitCounts[] {
  return (rows[0] ?? []).map((_size, place) => countsOf(rows.map((row) => row[place] as FitCounts)));
}

function countsOf(all: readonly FitCounts[]): FitCounts {
  const counts = { returns: 0, tooSmall: 0, tooLarge: 0 };
  for (const { returns, tooSmall, tooLarge } of all) {
    counts.returns += returns;
    counts.tooSmall += tooSmall;
    counts.tooLarge += tooLarge;
  }
  return counts;
}
