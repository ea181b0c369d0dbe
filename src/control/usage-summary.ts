import { dayFromText, dayToText } from "../lib/month.ts";
import type { QuotaDayRow, UsageSumRow } from "../store/queries/usage.ts";

/** Requests of one UTC day. */
export type UsageDay = {
  day: string;
  /** Those that count towards the daily quota: exact. */
  quota_requests: number;
  /** The others: refused before they were counted, or of a plan without a quota. From the details. */
  other_requests: number;
  /** How many of `quota_requests` the details lack; negative = so many more than them they have. */
  missing_requests: number;
};

/** How many requests had something in common, and how many of them were not answered as asked. */
export type UsageGroup = { key: string; requests: number; refused_requests: number };

/** Requests of a range of days. All but `quota_requests` is from the details. */
export type UsageSummary = {
  by_day: UsageDay[];
  by_token: UsageGroup[];
  by_endpoint: UsageGroup[];
  by_surface: UsageGroup[];
  /** By the code of the error, the most frequent first. */
  refusals: { code: string; requests: number }[];
};

/** Joins the exact totals with the details; both ends of the range (YYYY-MM-DD) are included. */
export function summarizeUsage(
  { fromDay, toDay }: { fromDay: string; toDay: string },
  totals: readonly QuotaDayRow[],
  sums: readonly UsageSumRow[],
): UsageSummary {
  const groupsOf = (dimension: UsageSumRow["dimension"]): UsageGroup[] =>
    groupsBy(sums.filter((row) => row.dimension === dimension));
  return {
    by_day: daysBetween(fromDay, toDay).map((day) => dayOf(day, totals, sums)),
    by_token: groupsOf("token"),
    by_endpoint: groupsOf("endpoint"),
    by_surface: groupsOf("surface"),
    refusals: refusalsOf(sums.filter((row) => row.dimension === "surface")),
  };
}

function daysBetween(fromDay: string, toDay: string): string[] {
  const [first, last] = [fromDay, toDay].map((text) => dayFromText(text) as number) as [number, number];
  return Array.from({ length: last - first + 1 }, (_, index) => dayToText(first + index));
}

function dayOf(day: string, totals: readonly QuotaDayRow[], sums: readonly UsageSumRow[]): UsageDay {
  const quotaRequests = totals.find((row) => row.day === day)?.requests ?? 0;
  const rows = sums.filter((row) => row.dimension === "day" && row.key === day);
  const detailed = sumOf(rows, "quota_requests");
  return {
    day,
    quota_requests: quotaRequests,
    other_requests: sumOf(rows, "requests") - detailed,
    missing_requests: quotaRequests - detailed,
  };
}

function groupsBy(rows: readonly UsageSumRow[]): UsageGroup[] {
  return [...Map.groupBy(rows, (row) => row.key)]
    .map(([key, own]) => ({
      key,
      requests: sumOf(own, "requests"),
      refused_requests: sumOf(own.filter(isRefused), "requests"),
    }))
    .toSorted((one, other) => other.requests - one.requests || one.key.localeCompare(other.key, "en"));
}

function refusalsOf(rows: readonly UsageSumRow[]): UsageSummary["refusals"] {
  return [...Map.groupBy(rows.filter(isRefused), (row) => row.outcome)]
    .map(([code, own]) => ({ code, requests: sumOf(own, "requests") }))
    .toSorted((one, other) => other.requests - one.requests || one.code.localeCompare(other.code, "en"));
}

function isRefused({ outcome }: UsageSumRow): boolean {
  return outcome !== "ok";
}

function sumOf(rows: readonly UsageSumRow[], member: "requests" | "quota_requests"): number {
  return rows.reduce((sum, row) => sum + row[member], 0);
}
