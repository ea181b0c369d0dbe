/**
 * The share of returns by age, from a base period in which all orders are old enough (M17). Ages and lags are days after the
 * order; counts are order lines with at least one returned unit.
 */

/** Returns later than the horizon are not evidence: the larger of 60 days and the longest window in question. */
export function horizonDays(windowDays: number): number {
  return Math.max(60, windowDays);
}

/** How many days the base period has. */
export const BASE_DAYS = 240;
/** Days of it on which the store sold anything, below which nothing is learned from it. */
export const FEWEST_BASE_DAYS = 60;
/** Number of a category's returned lines from which it has its own curve instead of the store's. */
export const FEWEST_CATEGORY_LINES = 200;
/** Weight of the prior, in returned lines, that an entity's rate takes from its category or store. */
export const PRIOR_LINES = 5;

/** Order days of the base period of an as-of day: `fromDay` included, `beforeDay` not. */
export function basePeriod(asOfDay: number, horizon: number): { fromDay: number; beforeDay: number } {
  return { fromDay: asOfDay - horizon - BASE_DAYS, beforeDay: asOfDay - horizon };
}

/** Lines of a base period: `returnedLines[i]` of the lines first came back `lagDays[i]` days after the order. */
export type BaseLines = { lines: number; lagDays: readonly number[]; returnedLines: readonly number[] };

export type AgeCurve = {
  lines: number;
  returnedLines: number;
  /** By age in days, 0 to the horizon: the share of the returned lines that had come back by then; 1 at the end. */
  shareByAge: readonly number[];
};

/** The curve of a base period; null when nothing came back within the horizon. */
export function ageCurve(base: Iterable<BaseLines>, horizon: number): AgeCurve | null {
  const byLag = Array.from({ length: horizon + 1 }, () => 0);
  let lines = 0;
  for (const part of base) {
    lines += part.lines;
    for (const [position, lag] of part.lagDays.entries()) {
      if (lag <= horizon) byLag[lag] = (byLag[lag] as number) + (part.returnedLines[position] as number);
    }
  }
  const returnedLines = byLag.reduce((sum, count) => sum + count, 0);
  if (returnedLines === 0) return null;
  let sofar = 0;
  return { lines, returnedLines, shareByAge: byLag.map((count) => (sofar += count) / returnedLines) };
}

/** The share that has come back by an age; 0 before the order, 1 from the horizon on. */
export function shareAt({ shareByAge }: AgeCurve, age: number): number {
  if (age < 0) return 0;
  return shareByAge[Math.min(age, shareByAge.length - 1)] as number;
}
