import { monthBefore } from "./calendar.ts";
import { latestCompleteMonth } from "./coverage.ts";
import { costMinor, figuresOf } from "./figures.ts";
import type { LedgerLine } from "./ledger.ts";
import { nearest } from "./numbers.ts";
import type { Question } from "./oracle.ts";

/** M25: of the twelve months before the first, those that are complete for the window; all of them if it is unlimited. */
export function usualMonths({ store }: Question, first: string, windowDays: number | null): string[] {
  const latest = windowDays === null ? null : latestCompleteMonth(store, windowDays);
  const months: string[] = [];
  for (let month = monthBefore(first); months.length < 12; month = monthBefore(month)) {
    if (latest === null || month <= latest) months.unshift(month);
  }
  return months;
}

/** M25 in minor units; the lines of a row are of any month, and only some count. */
export function excessMinor(
  { ledger }: Question,
  lines: readonly LedgerLine[],
  {
    counted,
    usual,
    windowDays,
  }: { counted: readonly string[]; usual: readonly string[]; windowDays: number | null },
): number | null {
  const categoryOf = ({ productGid }: LedgerLine): string | null =>
    ledger.catalogue.products.find(({ gid }) => gid === productGid)?.analyticsCategory ?? null;
  const during = (all: readonly LedgerLine[], months: readonly string[]) =>
    figuresOf(
      all.filter(({ month }) => months.includes(month)),
      windowDays,
    );
  const [category, ...others] = new Set(lines.filter(({ sold }) => sold > 0).map(categoryOf));
  const sameCategory = ledger.lines.filter((line) => categoryOf(line) === category);
  const ofCategory = during(sameCategory, usual);
  const isHeldToCategory = typeof category === "string" && others.length === 0 && ofCategory.sold > 0;
  const held = isHeldToCategory ? ofCategory : during(ledger.lines, usual);
  if (held.sold === 0) return null;
  const own = during(lines, usual);
  const now = during(lines, counted);
  const cost = costMinor({ ledger }, now);
  // Usual returns of `now.sold` units, over `own.sold + 20`, over `held.sold`.
  const usualUnits =
    BigInt(now.sold) * (BigInt(own.returned) * BigInt(held.sold) + 20n * BigInt(held.returned));
  const scale = BigInt(own.sold + 20) * BigInt(held.sold);
  const excess = BigInt(now.returned) * scale - usualUnits;
  return excess <= 0n || cost <= 0 ? 0 : nearest(excess * BigInt(cost), scale * BigInt(now.returned));
}
