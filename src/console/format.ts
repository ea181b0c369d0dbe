import { rememberLast } from "../lib/remember-last.ts";
import type { Format } from "./figure.ts";

/** 0.0432 → "4.3 %". What is not exactly none or all is not rounded to it: 0.0004 → "< 0.1 %", 0.9996 → "> 99.9 %". */
export function percent(value: number): string {
  const rounded = (value * 100).toFixed(1);
  if (value > 0 && rounded === "0.0") return "< 0.1 %";
  if (value < 1 && rounded === "100.0") return "> 99.9 %";
  return `${rounded} %`;
}

/** 0.8 → "80 %". */
export const wholePercent: Format<number> = (value) => `${Math.round(value * 100)} %`;

/** −0.0213 → "−2.1 points", a difference of two rates; "±0.0 points" where it rounds to none. */
export const points: Format<number> = (value) => {
  const rounded = Math.abs(value * 100).toFixed(1);
  const sign = rounded === "0.0" ? "±" : value < 0 ? "−" : "+";
  return `${sign}${rounded} points`;
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

/** The amounts of a workspace's currency: 1234.5 → "€1,234.50", −12.5 → "−€12.50". Making a formatter takes longer than a page of amounts. */
export const money = rememberLast((currencyCode: string): Format<number> => {
  const format = new Intl.NumberFormat("en", {
    style: "currency",
    currency: currencyCode,
    signDisplay: "negative",
  });
  return (value) => format.format(value).replace("-", "−");
});

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** "2026-09" → "Sep 2026". */
export const month: Format<string> = (value) =>
  `${MONTHS[Number(value.slice(5, 7)) - 1] ?? ""} ${value.slice(0, 4)}`;

/** "2026-09-03" or an instant of that day in UTC → "3 Sep 2026". */
export const day: Format<string> = (value) => `${Number(value.slice(8, 10))} ${month(value) as string}`;

/** "2026-09-03T06:00:00.000Z" → "3 Sep 2026, 06:00 UTC". */
export const instant: Format<string> = (value) => `${day(value) as string}, ${value.slice(11, 16)} UTC`;
