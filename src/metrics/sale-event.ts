import { dayFromText, dayToText, firstDayOfMonth, lastDayOfMonth } from "../lib/month.ts";

/** Calendar days, both ends included. */
export interface DayRange {
  startsOnDay: number;
  endsOnDay: number;
}

export type SaleEventBaseline = "matched_prior" | "selected_non_sale" | "prior_year";

/**
 * M15: the days a sale event is compared with: as many right before, or the same ones a year earlier
 * (29 February becomes 28 February). Null for `selected_non_sale`, which is not one period.
 */
export function baselinePeriod(event: DayRange, baseline: SaleEventBaseline): DayRange | null {
  switch (baseline) {
    case "matched_prior":
      return {
        startsOnDay: event.startsOnDay - (event.endsOnDay - event.startsOnDay + 1),
        endsOnDay: event.startsOnDay - 1,
      };
    case "prior_year":
      return { startsOnDay: yearEarlier(event.startsOnDay), endsOnDay: yearEarlier(event.endsOnDay) };
    case "selected_non_sale":
      return null;
  }
}

/** M15: the days of the months from `startMonth` to `endMonth` that lie in no sale event, in order. */
export function nonSaleDays(
  months: { startMonth: number; endMonth: number },
  events: readonly DayRange[],
): DayRange[] {
  const lastDay = lastDayOfMonth(months.endMonth);
  const ranges: DayRange[] = [];
  let startsOnDay = firstDayOfMonth(months.startMonth);
  for (const event of events.toSorted((left, right) => left.startsOnDay - right.startsOnDay)) {
    const endsOnDay = Math.min(event.startsOnDay - 1, lastDay);
    if (startsOnDay <= endsOnDay) ranges.push({ startsOnDay, endsOnDay });
    startsOnDay = Math.max(startsOnDay, event.endsOnDay + 1);
  }
  if (startsOnDay <= lastDay) ranges.push({ startsOnDay, endsOnDay: lastDay });
  return ranges;
}

/** The first and the last day of ranges in order; null for none. */
export function spanOf(ranges: readonly DayRange[]): DayRange | null {
  const first = ranges[0];
  const last = ranges.at(-1);
  if (first === undefined || last === undefined) return null;
  return { startsOnDay: first.startsOnDay, endsOnDay: last.endsOnDay };
}

/** How many days the ranges hold together; they must not overlap. */
export function countDays(ranges: Iterable<DayRange>): number {
  let days = 0;
  for (const range of ranges) days += range.endsOnDay - range.startsOnDay + 1;
  return days;
}

function yearEarlier(day: number): number {
  const text = dayToText(day);
  const yearBefore = String(Number(text.slice(0, 4)) - 1).padStart(4, "0");
  // The first year that can be written has no year before it; its days stay where they are.
  return dayFromText(yearBefore + text.slice(4)) ?? dayFromText(`${yearBefore}-02-28`) ?? day;
}
