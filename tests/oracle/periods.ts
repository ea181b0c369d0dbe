import { dayOf, daysFrom, dayText, lastDayOf, monthOf } from "./calendar.ts";
import { wilsonOf } from "./numbers.ts";
import { correlationOfRequest, squaresOf } from "./clusters.ts";
import type { LedgerLine } from "./ledger.ts";
import type { Question } from "./oracle.ts";
import { countedMonths, isDayComplete, isMonthComplete, windowDaysOf } from "./selection.ts";

/** A row of a series: the days that it counts, and how the answer names them. */
export type OraclePeriod = {
  days: ReadonlySet<number>;
  named: { cohort_month: string; period_start?: string };
  isComplete: boolean;
};

/** M26: goes day by day; a new row begins on a Monday, on the first of a month, or every day. */
export function periodsOf({ store, params }: Question): OraclePeriod[] {
  const [first, last] = [String(params["start_month"]), String(params["end_month"])];
  const windowDays = windowDaysOf(store, params);
  if (params["interval"] !== "week" && params["interval"] !== "day") {
    return countedMonths(store, params, first, last).map((month) => ({
      days: new Set(daysFrom(dayOf(`${month}-01`), lastDayOf(month))),
      named: { cohort_month: `${month}-01` },
      isComplete: isMonthComplete(store, month, windowDays),
    }));
  }
  const rows: number[][] = [];
  for (let day = dayOf(`${first}-01`); day <= lastDayOf(last); day++) {
    const text = dayText(day);
    const isMonday = new Date(`${text}T00:00:00Z`).getUTCDay() === 1;
    if (params["interval"] === "day" || isMonday || text.endsWith("-01")) rows.push([]);
    rows.at(-1)?.push(day);
  }
  return rows
    .map((days) => ({
      days: new Set(days),
      named: { cohort_month: `${monthOf(days[0] ?? 0)}-01`, period_start: dayText(days[0] ?? 0) },
      isComplete: days.every((day) => isDayComplete(store, day, windowDays)),
    }))
    .filter(({ isComplete }) => isComplete || params["include_incomplete"] === true);
}

/** M6, M26: the interval of a week or day, from its own orders. */
export function intervalOfPeriod(
  question: Question,
  { sold, returned, lines }: { sold: number; returned: number; lines: readonly LedgerLine[] },
) {
  const effect = sold === 0 ? 1 : 1 + correlationOfRequest(question) * (squaresOf(lines) / sold - 1);
  return wilsonOf(returned, sold, effect);
}
