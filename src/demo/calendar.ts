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
function monthIndexOf(day: number): number {
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

export type SeasonName = "steady" | "summer" | "winter" | "gifts";

/** How much of the whole store's demand falls on a month, January first; 1 is an average month. */
const STORE_DEMAND = [0.88, 0.84, 0.92, 0.96, 1, 1, 0.95, 0.93, 1, 1.08, 1.38, 1.46];

/** How a product's own demand leans towards some months, January first. */
const SEASON_DEMAND: Record<SeasonName, readonly number[]> = {
  steady: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
  summer: [0.6, 0.7, 0.9, 1.15, 1.4, 1.6, 1.6, 1.35, 0.95, 0.75, 0.65, 0.7],
  winter: [1.3, 1.15, 0.95, 0.75, 0.6, 0.5, 0.5, 0.65, 1.05, 1.35, 1.5, 1.6],
  gifts: [0.8, 0.8, 0.9, 0.9, 0.95, 0.9, 0.85, 0.85, 0.9, 1, 1.5, 1.9],
};

/** Sunday first: evenings at the start of the week sell best. */
const WEEKDAY_DEMAND = [1.18, 1.1, 1, 0.98, 0.96, 0.86, 0.92];

const DEMAND_AT_START = 0.75;
const DEMAND_AT_END = 1.3;

/** Demand of the whole store on a day, without sale events; progress runs from 0 to 1 over the store's life. */
export function storeDemand(day: number, progress: number): number {
  const growth = DEMAND_AT_START + (DEMAND_AT_END - DEMAND_AT_START) * progress;
  return growth * (STORE_DEMAND[monthIndexOf(day)] ?? 1) * (WEEKDAY_DEMAND[weekdayOf(day)] ?? 1);
}

export function seasonDemand(season: SeasonName, day: number): number {
  return SEASON_DEMAND[season][monthIndexOf(day)] ?? 1;
}
