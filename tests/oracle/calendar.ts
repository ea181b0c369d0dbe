const DAY_MS = 86_400_000;

/** Loops over all lines convert few distinct days very often. */
const days = new Map<string, number>();
const texts = new Map<number, string>();

/** The UTC calendar day of an instant or a day, counted from 1970-01-01. */
export function dayOf(text: string): number {
  const known = days.get(text);
  if (known !== undefined) return known;
  const day = Math.floor(Date.parse(text) / DAY_MS);
  days.set(text, day);
  return day;
}

/** `YYYY-MM-DD` of a counted day. */
export function dayText(day: number): string {
  const known = texts.get(day);
  if (known !== undefined) return known;
  const text = new Date(day * DAY_MS).toISOString().slice(0, 10);
  texts.set(day, text);
  return text;
}

/** `YYYY-MM` of a counted day. */
export function monthOf(day: number): string {
  return dayText(day).slice(0, 7);
}

export function monthAfter(month: string): string {
  return monthOf(dayOf(`${month}-01`) + 31);
}

export function monthBefore(month: string): string {
  return monthOf(dayOf(`${month}-01`) - 1);
}

export function elevenMonthsBefore(month: string): string {
  let first = month;
  for (let count = 0; count < 11; count++) first = monthBefore(first);
  return first;
}

export function lastDayOf(month: string): number {
  return dayOf(`${monthAfter(month)}-01`) - 1;
}

export function noonOf(day: number): string {
  return `${dayText(day)}T12:00:00Z`;
}

/** Every day from `first` to `last`, both included. */
export function daysFrom(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** Every month from `first` to `last`, both included. */
export function monthsFrom(first: string, last: string): string[] {
  const months = [];
  for (let month = first; month <= last; month = monthAfter(month)) months.push(month);
  return months;
}

/** M3: the days from the order's day to the day of an instant, never below 0. */
export function lagOf({ orderedDay }: { orderedDay: number }, text: string): number {
  return Math.max(0, dayOf(text) - orderedDay);
}
