import { rememberLast } from "../lib/remember-last.ts";
import type { Format } from "./figure.ts";

/** 0.0432 → "4.3 %". */
export const percent: Format<number> = (value) => `${(value * 100).toFixed(1)} %`;

/** 0.8 → "80 %". */
export const wholePercent: Format<number> = (value) => `${Math.round(value * 100)} %`;

/** −0.0213 → "−2.1 points", a difference of two rates. */
export const points: Format<number> = (value) =>
  `${value < 0 ? "−" : "+"}${Math.abs(value * 100).toFixed(1)} points`;

const wholeNumber = new Intl.NumberFormat("en");

/** 12345 → "12,345". */
export const count: Format<number> = (value) => wholeNumber.format(value);

/** 12.5 → "12.5 days". */
export const days: Format<number> = (value) => `${value} ${value === 1 ? "day" : "days"}`;

/** The amounts of a workspace's currency: 1234.5 → "€1,234.50". Making a formatter takes longer than a page of amounts. */
export const money = rememberLast((currencyCode: string): Format<number> => {
  const format = new Intl.NumberFormat("en", { style: "currency", currency: currencyCode });
  return (value) => format.format(value);
});

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** "2026-09" → "Sep 2026". */
export const month: Format<string> = (value) =>
  `${MONTHS[Number(value.slice(5, 7)) - 1] ?? ""} ${value.slice(0, 4)}`;

/** "2026-09-03" or an instant of that day in UTC → "3 Sep 2026". */
export const day: Format<string> = (value) => `${Number(value.slice(8, 10))} ${month(value) as string}`;

/** "2026-09-03T06:00:00.000Z" → "3 Sep 2026, 06:00 UTC". */
export const instant: Format<string> = (value) => `${day(value) as string}, ${value.slice(11, 16)} UTC`;
