import {
  FEWEST_BASE_DAYS,
  FEWEST_CATEGORY_LINES,
  PRIOR_LINES,
  ageCurve,
  basePeriod,
  shareAt,
} from "./age-curve.ts";
import type { AgeCurve } from "./age-curve.ts";
import { monthOfDay, lastDayOfMonth } from "../lib/month.ts";
import { quantiles, type GammaRate } from "./negative-binomial.ts";

/**
 * Sales of an order day, and their returns by lag: sums up to each lag, ascending. A line counts as returned with its first
 * returned unit.
 */
export type DayCurve = {
  /** Counted from 1970-01-01. */
  day: number;
  soldUnits: number;
  soldLines: number;
  lagDays: readonly number[];
  returnedUnits: readonly number[];
  returnedLines: readonly number[];
};

export type OutlookBasis = {
  asOfDay: number;
  horizonDays: number;
  windowDays: number;
  /** Days of the category or store, of the base period at least; their curve is followed. */
  curveDays: readonly DayCurve[];
  /** All days of the selection since the oldest of the `OUTLOOK_MONTHS` newest complete months. */
  ownDays: readonly DayCurve[];
};

/** The returns of incomplete cohort months when their windows close, rounded to hundredths of a unit; intervals in the order of their levels. */
export type Outlook = {
  soldUnits: number;
  /** Returns so far inside the window. */
  returnedUnitsSoFar: number;
  returnedUnits: number;
  intervals: { level: number; low: number; high: number }[];
  /** Lines expected back inside the window, and the part of them that is not old enough yet. */
  wholeLines: number;
  comingLines: number;
};

/** Of this many newest complete months, those with sales show how much a selection's months differ. */
export const OUTLOOK_MONTHS = 24;
/** Prior of the relative variance between months, and its weight in months. */
const USUAL_SPREAD = 0.02;
const USUAL_MONTHS = 6;
/** Curves vary between months as rates do, which the model ignores: backtests require wider intervals by this factor. */
const WIDENING = 1.25;
/** The share of days, those with the most units per line, excluded from the usual lines. */
const UNUSUAL_DAYS = 0.05;
/** Correlation of the errors of two months: they share a rate and a curve, but chance varies. */
const MONTHS_ALIKE = 0.5;

/** The days whose curve is followed: the category's where enough of it came back within the horizon, else the store's. */
export function curveDaysOf(
  category: readonly DayCurve[],
  store: readonly DayCurve[],
  horizonDays: number,
): readonly DayCurve[] {
  const returned = sumOf(category, (day) => linesBy(day, horizonDays));
  return returned >= FEWEST_CATEGORY_LINES ? category : store;
}

/** The model before a month's own evidence. */
type OutlookModel = {
  basis: OutlookBasis;
  curve: AgeCurve;
  rate: GammaRate;
  unitsPerLine: number;
  /** Variance over mean of a day's returned lines, and of its returned units in lines: how much comes back at once. */
  lineDispersion: number;
  unitDispersion: number;
};

/**
 * M18: learns a selection's rate and its category's or store's curve. Null when the curve has fewer than 60 days with sales in
 * the base period, or none of its lines came back.
 */
export function outlookModel(basis: OutlookBasis): OutlookModel | null {
  const { asOfDay, horizonDays } = basis;
  const { fromDay, beforeDay } = basePeriod(asOfDay, horizonDays);
  const isBase = ({ day }: DayCurve): boolean => day >= fromDay && day < beforeDay;
  const curveDays = basis.curveDays.filter(isBase);
  const baseDays = basis.ownDays.filter(isBase);
  const curve = ageCurve(curveDays.map(stepsOf), horizonDays);
  if (curve === null || curveDays.length < FEWEST_BASE_DAYS) return null;
  const usual = usualUnits(curveDays, horizonDays);
  const own = usualUnits(baseDays, horizonDays);
  const unitsPerLine = (own.units + (PRIOR_LINES * usual.units) / usual.lines) / (own.lines + PRIOR_LINES);
  const lineDispersion = dispersionOf(curveDays, (day) => [day.soldLines, linesBy(day, horizonDays)]);
  const unitDispersion = dispersionOf(usual.days, (day) => [day.soldUnits, unitsBy(day, horizonDays)]);
  const sold = sumOf(baseDays, (day) => day.soldLines);
  const returned = sumOf(baseDays, (day) => linesBy(day, horizonDays));
  const shape = returned / lineDispersion + PRIOR_LINES;
  const weight = sold / lineDispersion + (PRIOR_LINES * curve.lines) / curve.returnedLines;
  const widened = 1 / (1 / shape + spreadOf(basis, lineDispersion));
  return {
    basis,
    curve,
    unitsPerLine,
    lineDispersion,
    unitDispersion: Math.max(lineDispersion, (unitDispersion * usual.lines) / usual.units),
    rate: { shape: widened, weight: (weight * widened) / shape },
  };
}

/** M18: how a cohort month will have ended; `days` are all its order days so far. */
export function outlookOf(
  model: OutlookModel,
  days: readonly DayCurve[],
  levels: readonly number[],
): Outlook {
  const { basis, curve, rate, unitsPerLine, lineDispersion, unitDispersion } = model;
  const { asOfDay, windowDays, horizonDays } = basis;
  const byEnd = shareAt(curve, windowDays);
  const inside = sumOf(days, (day) => unitsBy(day, windowDays));
  const soldUnits = sumOf(days, (day) => day.soldUnits);
  const whole = sumOf(days, (day) => day.soldLines * byEnd);
  const coming = sumOf(
    days,
    (day) => day.soldLines * (byEnd - shareAt(curve, Math.min(asOfDay - day.day, windowDays))),
  );
  const seen = sumOf(days, (day) => linesBy(day, Math.min(asOfDay - day.day, horizonDays)));
  const exposure = sumOf(days, (day) => day.soldLines * shareAt(curve, asOfDay - day.day));
  const learned = {
    shape: rate.shape + seen / lineDispersion,
    weight: rate.weight + exposure / lineDispersion,
  };
  const tails = levels
    .flatMap((level) => [(1 - level) / 2, (1 + level) / 2])
    .toSorted((left, right) => left - right);
  // The rate is equally certain in both; chance varies more where much comes back at once. The wider interval is given.
  const countsBy = (dispersion: number) => quantiles(tails, learned, coming / dispersion);
  const expected = (coming * learned.shape) / learned.weight;
  const [byLine, byUnit] = [countsBy(lineDispersion), countsBy(unitDispersion)];
  // Returns cannot exceed sales.
  const unitsOf = (more: number): number =>
    inHundredths(inside + Math.min(soldUnits - inside, unitsPerLine * Math.max(0, more)));
  const unitsAt = (tail: number): number => {
    const place = tails.indexOf(tail);
    const lines = [lineDispersion * (byLine[place] as number), unitDispersion * (byUnit[place] as number)];
    // With few lines the most likely count is 0, even at a high level: the interval still includes the expected value.
    const widest = tail < 0.5 ? Math.min(expected, ...lines) : Math.max(expected, ...lines);
    return unitsOf(expected + WIDENING * (widest - expected));
  };
  return {
    soldUnits,
    returnedUnitsSoFar: inside,
    returnedUnits: unitsOf(expected),
    intervals: levels.map((level) => ({
      level,
      low: unitsAt((1 - level) / 2),
      high: unitsAt((1 + level) / 2),
    })),
    wholeLines: whole,
    comingLines: coming,
  };
}

/** M18: the outlook of several months of one selection is the sum of theirs. */
export function sumOutlooks(months: readonly Outlook[], levels: readonly number[]): Outlook {
  const returnedUnits = inHundredths(sumOf(months, (month) => month.returnedUnits));
  const distance = (endOf: (interval: Outlook["intervals"][number]) => number, place: number): number => {
    const distances = months.map(
      (month) => endOf(month.intervals[place] as Outlook["intervals"][number]) - month.returnedUnits,
    );
    const squares = sumOf(distances, (own) => own ** 2);
    return Math.sqrt((1 - MONTHS_ALIKE) * squares + MONTHS_ALIKE * sumOf(distances, (own) => own) ** 2);
  };
  return {
    soldUnits: sumOf(months, (month) => month.soldUnits),
    returnedUnitsSoFar: sumOf(months, (month) => month.returnedUnitsSoFar),
    returnedUnits,
    intervals: levels.map((level, place) => ({
      level,
      low: inHundredths(returnedUnits - distance(({ low }) => low, place)),
      high: inHundredths(returnedUnits + distance(({ high }) => high, place)),
    })),
    wholeLines: sumOf(months, (month) => month.wholeLines),
    comingLines: sumOf(months, (month) => month.comingLines),
  };
}

/** The part of the returns to be expected inside the window that is old enough to have happened. */
export function shareObserved({ wholeLines, comingLines }: Outlook): number {
  return wholeLines === 0 ? 1 : 1 - comingLines / wholeLines;
}

function inHundredths(units: number): number {
  return Math.round(units * 100) / 100;
}

function stepsOf({ soldLines, lagDays, returnedLines }: DayCurve) {
  return {
    lines: soldLines,
    lagDays,
    returnedLines: returnedLines.map((lines, place) => lines - (returnedLines[place - 1] ?? 0)),
  };
}

/** Units that came back at most that many days after the order. */
export function unitsBy(day: DayCurve, days: number): number {
  return sumBy(day.lagDays, day.returnedUnits, days);
}

function linesBy(day: DayCurve, days: number): number {
  return sumBy(day.lagDays, day.returnedLines, days);
}

function sumBy(lagDays: readonly number[], sums: readonly number[], days: number): number {
  let place = lagDays.length;
  while (place > 0 && (lagDays[place - 1] as number) > days) place -= 1;
  return place === 0 ? 0 : (sums[place - 1] as number);
}

/** Units and lines that came back of all days but those with the most units per line. */
function usualUnits(days: readonly DayCurve[], horizonDays: number) {
  const returning = days
    .map((day) => ({ day, units: unitsBy(day, horizonDays), lines: linesBy(day, horizonDays) }))
    .filter(({ lines }) => lines > 0)
    .toSorted(
      (left, right) => left.units / left.lines - right.units / right.lines || left.day.day - right.day.day,
    );
  const usual = returning.slice(0, Math.ceil(returning.length * (1 - UNUSUAL_DAYS)));
  return {
    units: sumOf(usual, ({ units }) => units),
    lines: sumOf(usual, ({ lines }) => lines),
    days: usual.map(({ day }) => day),
  };
}

/** Variance-to-mean ratio of the returns by day, given the pooled rate; at least 1. */
function dispersionOf(
  days: readonly DayCurve[],
  countsOf: (day: DayCurve) => [sold: number, returned: number],
): number {
  const counts = days.map(countsOf);
  const rate = sumOf(counts, ([, returned]) => returned) / sumOf(counts, ([sold]) => sold);
  const squares = sumOf(counts, ([sold, returned]) => (returned - sold * rate) ** 2 / (sold * rate));
  return Math.max(1, squares / Math.max(1, counts.length - 1));
}

/**
 * Relative variance of the rate between complete months beyond chance, by the method of moments; with few months, the
 * usual one weighs more.
 */
function spreadOf({ asOfDay, windowDays, ownDays }: OutlookBasis, dispersion: number): number {
  const byMonth = Map.groupBy(ownDays, ({ day }) => monthOfDay(day));
  const firstMonth = monthOfDay(asOfDay - windowDays) - OUTLOOK_MONTHS;
  const months = [...byMonth]
    .filter(([month]) => lastDayOfMonth(month) + windowDays < asOfDay && month >= firstMonth)
    .map(([, days]) => ({
      sold: sumOf(days, (day) => day.soldLines),
      returned: sumOf(days, (day) => linesBy(day, windowDays)),
    }));
  const sold = sumOf(months, (month) => month.sold);
  const rate = sumOf(months, (month) => month.returned) / sold;
  if (months.length < 2 || rate === 0) return USUAL_SPREAD;
  const squares = sumOf(months, (month) => month.sold * (month.returned / month.sold - rate) ** 2);
  const free = sold - sumOf(months, (month) => month.sold ** 2) / sold;
  const own = Math.max(0, squares - (months.length - 1) * dispersion * rate) / free / rate ** 2;
  return (months.length * own + USUAL_MONTHS * USUAL_SPREAD) / (months.length + USUAL_MONTHS);
}

function sumOf<Item>(items: readonly Item[], valueOf: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + valueOf(item), 0);
}
