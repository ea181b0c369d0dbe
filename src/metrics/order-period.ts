import { firstDayOfMonth, lastDayOfMonth, monthOfDay } from "../lib/month.ts";
import type { MonthRange } from "./completeness.ts";

/** Order days of one cohort month, both ends included. */
export interface OrderPeriod {
  month: number;
  startsOnDay: number;
  endsOnDay: number;
}

const DAYS_OF_WEEK = 7;

/** M26: the days of a range of months, or its weeks from Monday to Sunday, split at the ends of months; oldest first. */
export function orderPeriods({ startMonth, endMonth }: MonthRange, interval: "day" | "week"): OrderPeriod[] {
  const periods: OrderPeriod[] = [];
  const lastDay = lastDayOfMonth(endMonth);
  let startsOnDay = firstDayOfMonth(startMonth);
  while (startsOnDay <= lastDay) {
    const month = monthOfDay(startsOnDay);
    const length = interval === "day" ? 1 : DAYS_OF_WEEK - daysSinceMonday(startsOnDay);
    const endsOnDay = Math.min(startsOnDay + length - 1, lastDayOfMonth(month));
    periods.push({ month, startsOnDay, endsOnDay });
    startsOnDay = endsOnDay + 1;
  }
  return periods;
}

/** 1970-01-01 was a Thursday; earlier days are negative. */
function daysSinceMonday(day: number): number {
  return (((day + 3) % DAYS_OF_WEEK) + DAYS_OF_WEEK) % DAYS_OF_WEEK;
}
