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

/** M5: the newest month that is complete for a finite window; null when the source was never synced. */
export function latestCompleteMonth(windowDays: number, asOfDay: number | null): number | null {
  return asOfDay === null ? null : monthOfDay(asOfDay - windowDays) - 1;
}

/** Cohort months, both ends included. */
export interface MonthRange {
  startMonth: number;
  endMonth: number;
}

/** The cohort months of a request; `windowDays` null = lifetime, `asOfDay` null = never synced. */
export interface CohortRange extends MonthRange {
  windowDays: number | null;
  asOfDay: number | null;
  includeIncomplete: boolean;
}

/** M5: whether a month is left out of an answer. */
export function isExcluded(
  month: number,
  { windowDays, asOfDay, includeIncomplete }: Omit<CohortRange, keyof MonthRange>,
): boolean {
  return !includeIncomplete && !isComplete(month, windowDays, asOfDay);
}

/** M5: the months of a range that count, and those that are left out as incomplete, oldest first. */
export function splitMonths(range: CohortRange): { counted: number[]; excluded: number[] } {
  const months = monthsBetween(range.startMonth, range.endMonth);
  const byExclusion = Map.groupBy(months, (month) => isExcluded(month, range));
  return { counted: byExclusion.get(false) ?? [], excluded: byExclusion.get(true) ?? [] };
}

/** M5: the newest complete month of the calendar; null for lifetime, and when nothing is complete. */
export function completeThrough(windowDays: number | null, asOfDay: number | null): number | null {
  const latest = windowDays === null ? null : latestCompleteMonth(windowDays, asOfDay);
  return latest === null || latest < FIRST_MONTH ? null : latest;
}

type Before = Pick<CohortRange, "startMonth" | "windowDays" | "asOfDay">;

/** The newest complete month before a range, for lifetime the one right before it; null when there is none. */
function newestBefore({ startMonth, windowDays, asOfDay }: Before): number | null {
  const latest = windowDays === null ? startMonth - 1 : latestCompleteMonth(windowDays, asOfDay);
  return latest === null ? null : Math.min(latest, startMonth - 1);
}

/**
 * M5: the months that a range is compared with: as many as count in it, ending with the newest complete month before
 * it. Null when none counts, when nothing before is complete, and when they would begin before the year 1.
 */
export function comparedMonths(range: Before, monthsIncluded: number): MonthRange | null {
  const endMonth = newestBefore(range);
  if (endMonth === null || monthsIncluded === 0) return null;
  const startMonth = endMonth - monthsIncluded + 1;
  return startMonth < FIRST_MONTH ? null : { startMonth, endMonth };
}

/** M25: the twelve complete months right before a range, fewer only before the year 1; none when nothing before is complete. */
export function usualMonths(range: Before): number[] {
  const endMonth = newestBefore(range);
  return endMonth === null ? [] : monthsBetween(Math.max(FIRST_MONTH, endMonth - 11), endMonth);
}

/**
 * M12: the cohort months ranked: the latest complete one, or the twelve latest. Null if the store was never
 * synced. A year starts 11 months before its last month, even if the data starts later.
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
 * How long ago a source was last synced, or connected, in milliseconds, if that is more than 36 hours; null if it is not.
 * `since` null: never. The one rule of freshness, the health check and alerts.
 */
export function staleForMs(since: Date | null, now: Date): number | null {
  const ageMs = since === null ? Infinity : now.getTime() - since.getTime();
  return ageMs > STALE_AFTER_MS ? ageMs : null;
}

/** Data synced before this time is stale. */
export function staleSince(now: Date): Date {
  return new Date(now.getTime() - STALE_AFTER_MS);
}
