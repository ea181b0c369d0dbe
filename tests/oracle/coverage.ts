import { dayOf, monthBefore, monthOf, monthsFrom } from "./calendar.ts";
import { countedMonths, isMonthComplete, windowDaysOf } from "./selection.ts";
import type { OracleParameters, OracleStore } from "./store.ts";

/** M5: which months of the requested range count, which do not, and up to which month data is complete. */
export function coveragePart(store: OracleStore, params: OracleParameters) {
  const [first, last] = [String(params["start_month"]), String(params["end_month"])];
  const counted = countedMonths(store, params, first, last);
  const windowDays = windowDaysOf(store, params);
  return {
    months_included: counted.length,
    excluded_months: monthsFrom(first, last).filter((month) => !counted.includes(month)),
    complete_through: windowDays === null ? null : latestCompleteMonth(store, windowDays),
  };
}

/** M5: the newest month whose window has closed. */
export function latestCompleteMonth(store: OracleStore, windowDays: number): string {
  let month = monthOf(dayOf(store.as_of));
  while (!isMonthComplete(store, month, windowDays)) month = monthBefore(month);
  return month;
}

/** M5: the newest complete months before the range, as many as count in it; null when none counts. */
export function comparedMonths(store: OracleStore, params: OracleParameters): string[] | null {
  const { months_included: length } = coveragePart(store, params);
  const windowDays = windowDaysOf(store, params);
  const months: string[] = [];
  for (
    let month = monthBefore(String(params["start_month"]));
    months.length < length;
    month = monthBefore(month)
  ) {
    if (windowDays === null || isMonthComplete(store, month, windowDays)) months.unshift(month);
  }
  return length === 0 ? null : months;
}
