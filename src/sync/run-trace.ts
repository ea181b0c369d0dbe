import type { Attributes } from "../lib/trace.ts";

/** What a run read and changed, for its span: `returns.records.orders` and so on. */
export function recordCounts(counts: Readonly<Record<string, number>>): Attributes {
  return Object.fromEntries(
    Object.entries(counts).map(([name, count]) => [`returns.records.${name}`, count]),
  );
}
