import { tenthsOfPercent } from "../lib/percent.ts";

const LONGEST_NAME = 80;

/** Characters that break a line or change its reading direction. */
const BREAKING = /[\p{Cc}\u2028\u2029]+/gu;
const DIRECTION_MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * The name of an entity or source inside a sentence: one line of at most 80 characters. Otherwise unchanged; alerts must be
 * escaped like any text when shown. The exact key is in the metadata.
 */
export function readableName(name: string): string {
  const line = name.replace(BREAKING, " ").replace(DIRECTION_MARKS, "").trim();
  const characters = Array.from(line);
  return characters.length <= LONGEST_NAME ? line : `${characters.slice(0, LONGEST_NAME - 1).join("")}…`;
}

/** `part` of `whole` as percent, with at most one decimal. */
export function percentText(part: number, whole: number): string {
  return `${whole === 0 ? 0 : tenthsOfPercent(part, whole) / 10} %`;
}

/** 1,234. */
export function countText(count: number): string {
  return count.toLocaleString("en");
}

/** 1 unit, 2 units, 1,234 units. */
export function unitsText(units: number): string {
  return `${units.toLocaleString("en")} ${units === 1 ? "unit" : "units"}`;
}

/** 1 day, 30 days. */
export function daysText(days: number): string {
  return `${days} ${days === 1 ? "day" : "days"}`;
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** "2026-09" → "Sep 2026". */
export function monthWords(month: string): string {
  return `${MONTHS[Number(month.slice(5, 7)) - 1] ?? ""} ${month.slice(0, 4)}`;
}

/** "2026-09-03" → "3 Sep 2026". */
export function dayWords(day: string): string {
  return `${Number(day.slice(8, 10))} ${monthWords(day)}`;
}

/** 2026-09-03 12:34 UTC. */
export function minuteText(instant: Date): string {
  return `${instant.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** The entity of a return-rate alert. */
export type WarnedEntity = {
  kind: "sku" | "product" | "family" | "analytics_category";
  key: string;
  /** A product's title; null: other kinds, or unknown. */
  title: string | null;
};

/** The entity inside a sentence. */
export function nameOf({ kind, key, title }: WarnedEntity): string {
  switch (kind) {
    case "sku":
      return readableName(key);
    case "product":
      return readableName(title ?? key);
    case "family":
      return `the family ${readableName(key)}`;
    case "analytics_category":
      return `the category ${readableName(key)}`;
  }
}

/** The members are parameters of every endpoint that takes a selector. */
export function selectorOf({ kind, key }: Omit<WarnedEntity, "title">): Record<string, string> {
  switch (kind) {
    case "sku":
      return { sku: key };
    case "product":
      return { product_gid: key };
    case "family":
    case "analytics_category":
      return { product_group_type: kind, product_group_key: key };
  }
}
