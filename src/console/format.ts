import { currencyExponent } from "../lib/currency.ts";
import { tenthsOfPercent } from "../lib/percent.ts";
import { rememberLast } from "../lib/remember-last.ts";
import type { Format } from "./figure.ts";

/** The API's fractions have six decimals. */
const MILLION = 1_000_000;

type Units = { return_rate?: unknown; returned_units?: unknown; sold_units?: unknown };

/**
 * 0.0432 → "4.3 %": computed from the units of `owner` if it has them, else from the six decimals. A value that is not exactly
 * none or all is not rounded to it: 0.0004 → "< 0.1 %", 0.9996 → "> 99.9 %".
 */
export function percent(value: number, owner?: unknown): string {
  const { return_rate: rate, returned_units: returned, sold_units: sold } = (owner ?? {}) as Units;
  const isOwn = rate === value && typeof returned === "number" && typeof sold === "number" && sold > 0;
  const [part, whole] = isOwn ? [returned, sold] : [Math.round(value * MILLION), MILLION];
  const tenths = tenthsOfPercent(part, whole);
  if (part > 0 && tenths === 0) return "< 0.1 %";
  if (part < whole && tenths === 1000) return "> 99.9 %";
  return `${(tenths / 10).toFixed(1)} %`;
}

/** 0.8 → "80 %". */
export const wholePercent: Format<number> = (value) =>
  `${Math.round(Math.round(value * MILLION) / 10_000)} %`;

/** A number to that many decimals, from its decimals as they are written: `decimals(1)(2.65)` is "2.7". */
export function decimals(places: number, style: "decimal" | "percent" = "decimal"): Format<number> {
  const digits = { minimumFractionDigits: places, maximumFractionDigits: places };
  const format = new Intl.NumberFormat("en", { style, useGrouping: false, ...digits });
  return (value) => format.format(`${value}`).replace("%", " %");
}

/** A difference of two rates in tenths of a point, as `points` shows it. */
export function tenthsOfPoint(change: number): number {
  return tenthsOfPercent(Math.round(change * MILLION), MILLION);
}

/** −0.0213 → "−2.1 points", a difference of two rates; "±0.0 points" where it rounds to none. */
export const points: Format<number> = (value) => {
  const tenths = tenthsOfPoint(value);
  const sign = tenths === 0 ? "±" : tenths < 0 ? "−" : "+";
  return `${sign}${(Math.abs(tenths) / 10).toFixed(1)} points`;
};

const wholeNumber = new Intl.NumberFormat("en");

/** 12345 → "12,345". */
export const count: Format<number> = (value) => wholeNumber.format(value);

/** 12.5 → "12.5 days". */
export const days: Format<number> = (value) => `${value} ${value === 1 ? "day" : "days"}`;

/** 12 → "12 months". */
export const months: Format<number> = (value) =>
  `${wholeNumber.format(value)} ${value === 1 ? "month" : "months"}`;

/** 1234 → "1,234 units". */
export const units: Format<number> = (value) =>
  `${wholeNumber.format(value)} ${value === 1 ? "unit" : "units"}`;

/**
 * M9: the amounts of a workspace's currency: 1234.5 → "€1,234.50", −12.5 → "−€12.50". The decimals are those of ISO 4217: by default, `Intl`
 * leaves out those that are not in everyday use. Making a formatter takes longer than a page of amounts.
 */
export const money = rememberLast((currencyCode: string): ((value: number) => string) => {
  const exponent = currencyExponent(currencyCode);
  const format = new Intl.NumberFormat("en", {
    style: "currency",
    currency: currencyCode,
    minimumFractionDigits: exponent,
    maximumFractionDigits: exponent,
    signDisplay: "negative",
  });
  return (value) => format.format(value).replace("-", "−");
});

/** From here on a key figure is shown in whole units of the currency. */
const WHOLE_FROM = 10_000;

/** The amount of a key figure: as `money`, large ones without decimals, as 1488795.04 → "£1,488,795". */
export const keyMoney = rememberLast((currencyCode: string): ((value: number) => string) => {
  const exact = money(currencyCode);
  const whole = new Intl.NumberFormat("en", {
    style: "currency",
    currency: currencyCode,
    signDisplay: "negative",
    maximumFractionDigits: 0,
  });
  return (value) => (Math.abs(value) < WHOLE_FROM ? exact(value) : whole.format(value).replace("-", "−"));
});

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** "2026-09" → "Sep 2026". */
export const month: Format<string> = (value) =>
  `${MONTHS[Number(value.slice(5, 7)) - 1] ?? ""} ${value.slice(0, 4)}`;

/** "2026-09-03" or an instant of that day in UTC → "3 Sep 2026". */
export const day: Format<string> = (value) => `${Number(value.slice(8, 10))} ${month(value) as string}`;

/** "2026-09-03T06:00:00.000Z" → "3 Sep 2026, 06:00 UTC". */
export const instant: Format<string> = (value) => `${day(value) as string}, ${value.slice(11, 16)} UTC`;

export function isoDay(at: Date): string {
  return day(at.toISOString()) as string;
}

/** A moment to the minute. */
export function isoInstant(at: Date): string {
  return instant(at.toISOString()) as string;
}
