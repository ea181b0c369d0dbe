import { FIRST_MONTH, lastDayOfMonth, monthOfDay, monthsBetween } from "../lib/month.ts";

/**
 * M5: whether cohort `month` can no longer change inside a window of `windowDays` (null = lifetime).
 * `asOfDay` is the day up to which the source is known; null (never synced) completes no finite window.
 * A lifetime window has no end to wait for and so never counts as incomplete.
 */
export function isComplete(month: number, windowDays: number | null, asOfDay: number | null): boolean {
  return isDayComplete(lastDayOfMonth(month), windowDays, asOfDay);
}

/** M5 by day, for sale events: whether the window of a day's orders has closed. */
export function isDayComplete(
  orderedOnDay: number,
  windowDays: number | null,
  asOfDay: number | null,
): boolean {
  if (windowDays === null) return true;
  return asOfDay !== null && asOfDay > orderedOnDay + windowDays;
}

/** M5: whether a month is left out of an answer. */
export function isExcluded(
  month: number,
  windowDays: number | null,
  asOfDay: number | null,
  includeIncomplete: boolean,
): boolean {
  return !includeIncomplete && !isComplete(month, windowDays, asOfDay);
}

/** M5: the newest month that is complete for a finite window; null when the source was never synced. */
export function latestCompleteMonth(windowDays: number, asOfDay: number | null): number | null {
  return asOfDay === null ? null : monthOfDay(asOfDay - windowDays) - 1;
}

/** Cohort months, both ends included. */
export interface MonthRange {
  startMonth: number;
  endMonth: number;
}

/** M5: how much of a range of cohort months an answer counts. */
export interface MonthCoverage {
  monthsIncluded: number;
  /** Left out as incomplete, oldest first. */
  excludedMonths: number[];
  /** The newest complete month whatever the range; null for lifetime, and when nothing is complete. */
  completeThrough: number | null;
}

/** M5: what of the range counts; `windowDays` null = lifetime, `asOfDay` null = never synced. */
export function monthCoverage(
  { startMonth, endMonth }: MonthRange,
  windowDays: number | null,
  asOfDay: number | null,
  includeIncomplete: boolean,
): MonthCoverage {
  const months = monthsBetween(startMonth, endMonth);
  const excludedMonths = months.filter((month) => isExcluded(month, windowDays, asOfDay, includeIncomplete));
  const latest = windowDays === null ? null : latestCompleteMonth(windowDays, asOfDay);
  return {
    monthsIncluded: months.length - excludedMonths.length,
    excludedMonths,
    completeThrough: latest === null || latest < FIRST_MONTH ? null : latest,
  };
}

/**
 * M5: the months that a range is compared with: as many as count in it, ending with the newest complete month before
 * it. Null when none counts, when nothing before is complete, and when they would begin before the year 1.
 */
export function comparedMonths(
  startMonth: number,
  monthsIncluded: number,
  windowDays: number | null,
  asOfDay: number | null,
): MonthRange | null {
  const latest = windowDays === null ? startMonth - 1 : latestCompleteMonth(windowDays, asOfDay);
  if (latest === null || monthsIncluded === 0) return null;
  const endMonth = Math.min(latest, startMonth - 1);
  const compared = { startMonth: endMonth - monthsIncluded + 1, endMonth };
  return compared.startMonth < FIRST_MONTH ? null : compared;
}

/** M25: the twelve complete months right before a range, fewer only before the year 1; none when nothing before is complete. */
export function usualMonths(startMonth: number, windowDays: number | null, asOfDay: number | null): number[] {
  const latest = windowDays === null ? startMonth - 1 : latestCompleteMonth(windowDays, asOfDay);
  if (latest === null) return [];
  const endMonth = Math.min(latest, startMonth - 1);
  return monthsBetween(Math.max(FIRST_MONTH, endMonth - 11), endMonth);
}

/**
 * M12: the cohort months ranked: the latest complete one, or the twelve latest. Null when no source was
 * ever synced. A year starts 11 months before its last month, whether or not data does.
 */
export function leaderboardMonths(
  period: "month" | "year",
  primaryWindowDays: number,
  asOfDay: number | null,
): MonthRange | null {
  const endMonth = latestCompleteMonth(primaryWindowDays, asOfDay);
  if (endMonth === null) return null;
  return { startMonth: period === "month" ? endMonth : endMonth - 11, endMonth };
}

const STALE_AFTER_MS = 36 * 3_600_000;

/**
 * How old a source is in milliseconds when that is too old: more than 36 hours since its last sync or, where that is what
 * counts, since it was connected. Null while it is not; an absent instant is older than any. For freshness, the health check
 * and alerts alike.
 */
export function staleForMs(since: Date | null, now: Date): number | null {
  const ageMs = since === null ? Infinity : now.getTime() - since.getTime();
  return ageMs > STALE_AFTER_MS ? ageMs : null;
}

/** Data synced before this time is stale. */
export function staleSince(now: Date): Date {
  return new Date(now.getTime() - STALE_AFTER_MS);
}
