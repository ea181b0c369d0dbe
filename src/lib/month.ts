/**
 * The only code that reads and writes months and days. Days are epoch days (days since 1970-01-01 UTC); months are month indexes
 * (year × 12 + month − 1). Text is used only in requests, files and the database.
 */

const millisecondsPerDay = 86_400_000;
const monthText = /^(\d{4})-(\d{2})$/;
const dayText = /^(\d{4})-(\d{2})-(\d{2})$/;

/** January of the year 1, the first month that can be written. */
export const FIRST_MONTH = 12;

/** The UTC calendar day an instant (milliseconds since the epoch) lies in. */
export function dayOfInstant(instantMs: number): number {
  return Math.floor(instantMs / millisecondsPerDay);
}

/** The month a day lies in (M1: the cohort month of `orderedOnDay`). */
export function monthOfDay(day: number): number {
  const date = new Date(day * millisecondsPerDay);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

export function firstDayOfMonth(month: number): number {
  return dayOfDate(Math.floor(month / 12), month - Math.floor(month / 12) * 12, 1);
}

export function lastDayOfMonth(month: number): number {
  return firstDayOfMonth(month + 1) - 1;
}

/** `YYYY-MM`. Years 0001 to 9999. */
export function monthToText(month: number): string {
  const year = Math.floor(month / 12);
  return `${padded(year, 4)}-${padded(month - year * 12 + 1, 2)}`;
}

/** The month of a `YYYY-MM` text; null unless the year is 0001–9999 and the month 01–12. */
export function monthFromText(text: string): number | null {
  const match = monthText.exec(text);
  if (match === null) return null;
  const year = Number(match[1]);
  const month = Number(match[2]);
  return year < 1 || month < 1 || month > 12 ? null : year * 12 + month - 1;
}

/** The month of a text whose form was checked before; throws a RangeError for any other. */
export function knownMonth(text: string): number {
  const month = monthFromText(text);
  if (month === null) throw new RangeError(`not a month: ${text}`);
  return month;
}

/** The month of a date as the database writes it, `YYYY-MM-DD`. */
export function monthOfDate(date: string): number {
  return knownMonth(date.slice(0, "YYYY-MM".length));
}

/** The database's date of a month, its first day: `YYYY-MM-01`. */
export function monthToDate(month: number): string {
  return `${monthToText(month)}-01`;
}

/** `YYYY-MM-DD`. Years 0001 to 9999. */
export function dayToText(day: number): string {
  const date = new Date(day * millisecondsPerDay);
  return `${padded(date.getUTCFullYear(), 4)}-${padded(date.getUTCMonth() + 1, 2)}-${padded(date.getUTCDate(), 2)}`;
}

/** The day of a `YYYY-MM-DD` text; null unless it is a real calendar day of the years 0001–9999. */
export function dayFromText(text: string): number | null {
  const match = dayText.exec(text);
  if (match === null || Number(match[1]) < 1) return null;
  const day = dayOfDate(Number(match[1]), Number(match[2]) - 1, Number(match[3]));
  return dayToText(day) === text ? day : null;
}

/** Every month from `startMonth` to `endMonth`, both included; empty when they are reversed. */
export function monthsBetween(startMonth: number, endMonth: number): number[] {
  const length = Math.max(0, endMonth - startMonth + 1);
  return Array.from({ length }, (_, offset) => startMonth + offset);
}

function dayOfDate(year: number, monthOfYear: number, dayOfMonth: number): number {
  // Date.UTC would read the years 0 to 99 as 1900 to 1999.
  return new Date(0).setUTCFullYear(year, monthOfYear, dayOfMonth) / millisecondsPerDay;
}

function padded(value: number, digits: number): string {
  return String(value).padStart(digits, "0");
}
