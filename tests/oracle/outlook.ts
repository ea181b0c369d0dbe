import { lastDayOf, monthBefore, monthOf } from "./calendar.ts";
import { logGamma, total } from "./numbers.ts";

/** A line that sold units on a day; `back` has the returned units by days after the order, ascending. Days from 1970-01-01. */
export type OutlookLine = { day: number; units: number; back: { lag: number; units: number }[] };
export type OutlookQuestion = {
  asOfDay: number;
  primaryDays: number;
  windowDays: number;
  own: readonly OutlookLine[];
  /** Lines of the selection's category, if it has one, and of the store. */
  category: readonly OutlookLine[];
  store: readonly OutlookLine[];
};
/** Units, unrounded. */
export type MonthOutlook = {
  sold: number;
  soFar: number;
  estimate: number;
  low: number;
  high: number;
  due: number;
  coming: number;
};

const LEVEL = 0.8;

/** A second implementation of M18: the outlook of each month of `months`, by loops over lines; null if there is none. */
export function monthOutlooks(
  question: OutlookQuestion,
  months: readonly string[],
): Map<string, MonthOutlook> | null {
  const { asOfDay, windowDays, own } = question;
  const horizon = Math.max(60, question.primaryDays, windowDays);
  const isBase = ({ day }: OutlookLine): boolean => day >= asOfDay - horizon - 240 && day < asOfDay - horizon;
  const backLines = (lines: readonly OutlookLine[], age: number): number =>
    lines.filter((line) => line.back.some(({ lag }) => lag <= age)).length;
  const backUnits = (lines: readonly OutlookLine[], age: number): number =>
    total(lines, (line) =>
      total(
        line.back.filter(({ lag }) => lag <= age),
        ({ units }) => units,
      ),
    );
  const ofCategory = question.category.filter(isBase);
  const curve = backLines(ofCategory, horizon) >= 200 ? ofCategory : question.store.filter(isBase);
  const curveDays = daysOf(curve);
  const k = backLines(curve, horizon);
  if (curveDays.length < 60 || k === 0) return null;
  const lags = curve.flatMap(({ back }) => back.slice(0, 1).map(({ lag }) => lag));
  const shares = Array.from({ length: horizon + 1 }, (_, age) => lags.filter((lag) => lag <= age).length / k);
  const F = (age: number): number => shares[Math.min(age, horizon)] as number;

  const dispersion = (counts: readonly [n: number, r: number][]): number => {
    const p = total(counts, ([, r]) => r) / total(counts, ([n]) => n);
    const squares = total(counts, ([n, r]) => (r - p * n) ** 2 / (p * n));
    return Math.max(1, squares / Math.max(1, counts.length - 1));
  };
  const usual = (days: readonly OutlookLine[][]) => {
    const returning = days
      .filter((lines) => backLines(lines, horizon) > 0)
      .map((lines) => ({ lines, each: backUnits(lines, horizon) / backLines(lines, horizon) }))
      .toSorted(
        (left, right) => left.each - right.each || (left.lines[0]?.day ?? 0) - (right.lines[0]?.day ?? 0),
      );
    return returning.slice(0, Math.ceil(returning.length * 0.95)).map(({ lines }) => lines);
  };
  const inMonth = Map.groupBy(own, ({ day }) => monthOf(day));
  const D = dispersion(curveDays.map((lines) => [lines.length, backLines(lines, horizon)]));
  const usualCurve = usual(curveDays);
  const ratio =
    total(usualCurve, (lines) => backUnits(lines, horizon)) /
    total(usualCurve, (lines) => backLines(lines, horizon));
  const base = own.filter(isBase);
  const usualOwn = usual(daysOf(base));
  const q =
    (total(usualOwn, (lines) => backUnits(lines, horizon)) + 5 * ratio) /
    (total(usualOwn, (lines) => backLines(lines, horizon)) + 5);
  const byUnits = dispersion(
    usualCurve.map((lines) => [total(lines, ({ units }) => units), backUnits(lines, horizon)]),
  );
  const D2 = Math.max(D, byUnits / ratio);

  const A = backLines(base, horizon) / D + 5;
  const widened = 1 / (1 / A + spread());
  const weight = ((base.length / D + (5 * curve.length) / k) * widened) / A;
  return new Map(months.map((month) => [month, ofMonth(month)]));

  function spread(): number {
    const newest: string[] = [];
    for (let month = monthOf(asOfDay); newest.length < 24; month = monthBefore(month)) {
      if (lastDayOf(month) + windowDays < asOfDay) newest.push(month);
    }
    const sums = newest
      .map((month) => inMonth.get(month) ?? [])
      .filter((lines) => lines.length > 0)
      .map((lines) => ({ s: lines.length, r: backLines(lines, windowDays) }));
    const S = total(sums, ({ s }) => s);
    const p = total(sums, ({ r }) => r) / S;
    if (sums.length < 2 || p === 0) return 0.02;
    const beyond = total(sums, ({ s, r }) => s * (r / s - p) ** 2) - (sums.length - 1) * D * p;
    const mine = Math.max(0, beyond) / ((S - total(sums, ({ s }) => s * s) / S) * p * p);
    return (sums.length * mine + 6 * 0.02) / (sums.length + 6);
  }

  function ofMonth(month: string): MonthOutlook {
    const lines = inMonth.get(month) ?? [];
    const shape =
      widened + total(lines, (line) => backLines([line], Math.min(asOfDay - line.day, horizon))) / D;
    const rate = shape / (weight + total(lines, (line) => F(asOfDay - line.day)) / D);
    const coming = total(lines, (line) => F(windowDays) - F(Math.min(asOfDay - line.day, windowDays)));
    const y = coming * rate;
    const ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2].map((level) =>
      [D, D2].map((by) => by * quantile(level, shape, (coming / by) * rate)),
    );
    const sold = total(lines, ({ units }) => units);
    const soFar = backUnits(lines, windowDays);
    const unitsOf = (toCome: number): number => Math.min(sold, soFar + q * Math.max(0, toCome));
    const [lows = [], highs = []] = ends;
    return {
      sold,
      soFar,
      estimate: hundredths(unitsOf(y)),
      low: hundredths(unitsOf(y - 1.25 * (y - Math.min(y, ...lows)))),
      high: hundredths(unitsOf(y + 1.25 * (Math.max(y, ...highs) - y))),
      due: lines.length * F(windowDays),
      coming,
    };
  }
}

/** M18: the outlook of several months of one selection together. */
export function togetherOf(months: readonly MonthOutlook[]): MonthOutlook {
  const end = (distances: number[]): number =>
    Math.sqrt(total(distances, (e) => e * e) / 2 + total(distances, (e) => e) ** 2 / 2);
  const estimate = hundredths(total(months, (month) => month.estimate));
  return {
    sold: total(months, ({ sold }) => sold),
    soFar: total(months, ({ soFar }) => soFar),
    estimate,
    low: hundredths(estimate - end(months.map((month) => month.estimate - month.low))),
    high: hundredths(estimate + end(months.map((month) => month.high - month.estimate))),
    due: total(months, ({ due }) => due),
    coming: total(months, ({ coming }) => coming),
  };
}

/** The smallest count with P(count or fewer) ≥ level, for a negative binomial with this shape and mean, by Gamma functions. */
function quantile(level: number, shape: number, mean: number): number {
  if (mean === 0) return 0;
  const logP = Math.log(mean / (shape + mean));
  const logQ = Math.log(shape / (shape + mean));
  let below = 0;
  for (let count = 0; ; count += 1) {
    below += Math.exp(
      logGamma(shape + count) - logGamma(count + 1) - logGamma(shape) + shape * logQ + count * logP,
    );
    if (below >= level) return count;
  }
}

function daysOf(lines: readonly OutlookLine[]): OutlookLine[][] {
  return [...Map.groupBy(lines, ({ day }) => day).values()];
}

function hundredths(units: number): number {
  return Math.round(units * 100) / 100;
}
