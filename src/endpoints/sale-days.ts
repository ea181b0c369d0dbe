import { firstDayOfMonth, lastDayOfMonth, monthOfDay, monthsBetween } from "../lib/month.ts";
import type { DayRange } from "../metrics/sale-event.ts";
import type { MonthDays, SalePeriod } from "../store/queries/report-sale-event.ts";

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
