import { lastDayOfMonth, monthOfDay } from "./month.ts";

/**
 * M5: whether cohort `month` can no longer change inside a window of `windowDays` (null = lifetime).
 * `asOfDay` is the day up to which the source is known; null (never synced) completes no finite window.
 * A lifetime window has no end to wait for and so never counts as incomplete.
 */
export function isComplete(month: number, windowDays: number | null, asOfDay: number | null): boolean {
  return isDayComplete(lastDayOfMonth(month), windowDays, asOfDay);
}

/** M5 at day grain, for sale events: whether the window of what was ordered on a day has closed. */
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
