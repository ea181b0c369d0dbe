import { dayFromText, firstDayOfMonth, monthOfDay } from "../lib/month.ts";

// A day is the number of UTC days since 1970-01-01; a time is in milliseconds since then.

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Reads a day written as YYYY-MM-DD; throws an Error that names the text when it is no day of the calendar. */
export function dayOfText(text: string): number {
  const day = dayFromText(text);
  if (day === null) throw new Error(`a day is written as YYYY-MM-DD, like 2026-01-31, not "${text}"`);
  return day;
}

export function timeText(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19)}Z`;
}

export function dayOfDate(year: number, monthIndex: number, dayOfMonth: number): number {
  return firstDayOfMonth(year * 12 + monthIndex) + dayOfMonth - 1;
}

export function yearOf(day: number): number {
  return Math.floor(monthOfDay(day) / 12);
}

/** 0 is January. */
export function monthIndexOf(day: number): number {
  return monthOfDay(day) % 12;
}

/** 0 is Sunday. */
export function weekdayOf(day: number): number {
  return new Date(day * DAY_MS).getUTCDay();
}

/** The first day of the month that lies monthsLater (negative: earlier) from the month of the given day. */
export function firstOfMonth(day: number, monthsLater = 0): number {
  return firstDayOfMonth(monthOfDay(day) + monthsLater);
}
