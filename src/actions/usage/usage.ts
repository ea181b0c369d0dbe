import type { Actor } from "../actor.ts";
import { readInteger } from "../input.ts";
import { dayFromText, dayOfInstant, dayToText } from "../../lib/month.ts";
import type { Database } from "../../store/database.ts";
import { findPlan } from "../plan/queries.ts";
import { listTokens } from "../tokens/queries.ts";
import { listQuotaDays, sumUsage, type QuotaDayRow, type UsageSumRow } from "./queries.ts";
import type { DirectoryRow } from "../../store/queries/workspace-directory.ts";
import { requireRight } from "../right.ts";

/** The maximum per query, if usage is kept for longer. */
const LONGEST_DAYS = 3660;
const DEFAULT_DAYS = 30;
const DAY_MS = 86_400_000;

export const usageRead = { name: "usage.read", past: "Read the usage", least: "admin" } as const;

/** A workspace's API usage. */
export type Usage = {
  shop_domain: string;
  plan: string;
  /** null = unlimited. */
  daily_quota: number | null;
  /** Of the present UTC day: what counts towards the quota, exactly. */
  today: { used_requests: number; resets_at: Date; forecast: UsageForecast | null };
  from_day: string;
  to_day: string;
  /** null = forever. */
  kept_days: number | null;
} & Omit<UsageSummary, "by_token"> & { by_token: NamedGroup[] };

/** `name` null = the token is no longer there. */
type NamedGroup = UsageGroup & { name: string | null };

/** The last `days` UTC days including today: 30 by default, at most the retained ones. Throws a `Refusal` for more. */
export async function showUsage(
  database: Database,
  actor: Actor,
  workspace: DirectoryRow,
  { days, now, keepUsageDays }: { days?: string | undefined; now: Date; keepUsageDays: number },
): Promise<Usage> {
  requireRight(actor, usageRead);
  const most = Math.min(keepUsageDays, LONGEST_DAYS);
  const wanted = days === undefined ? DEFAULT_DAYS : readInteger("The number of days", days, 1, most);
  const { shop_key: shopKey, shop_domain: shopDomain, plan: planKey } = workspace;
  const range = { fromDay: firstDay(wanted, now), toDay: firstDay(1, now), tokenId: null };
  const [plan, totals, sums, tokens] = await Promise.all([
    findPlan(database, planKey),
    listQuotaDays(database, shopKey, range.fromDay, range.toDay),
    sumUsage(database, shopKey, range),
    listTokens(database, shopKey),
  ]);
  const { by_token: byToken, ...summary } = summarizeUsage(range, totals, sums);
  const used = summary.by_day.at(-1)?.quota_requests ?? 0;
  const quota = plan?.daily_quota ?? null;
  const names = new Map(tokens.map((token) => [token.token_id, token.name]));
  return {
    shop_domain: shopDomain,
    plan: planKey,
    daily_quota: quota,
    today: {
      used_requests: used,
      resets_at: new Date((dayOfInstant(now.getTime()) + 1) * DAY_MS),
      forecast: forecastUsage(used, quota, now),
    },
    from_day: range.fromDay,
    to_day: range.toDay,
    kept_days: keepUsageDays === Number.POSITIVE_INFINITY ? null : keepUsageDays,
    ...summary,
    by_token: byToken.map((group) => ({ ...group, name: names.get(group.key) ?? null })),
  };
}

/** One token's requests within the last 30 days. */
export async function showTokenUsage(
  database: Database,
  actor: Actor,
  workspace: DirectoryRow,
  { tokenId, now }: { tokenId: string; now: Date },
): Promise<UsageSummary> {
  requireRight(actor, usageRead);
  const range = { fromDay: firstDay(DEFAULT_DAYS, now), toDay: firstDay(1, now), tokenId };
  return summarizeUsage(range, [], await sumUsage(database, workspace.shop_key, range));
}

/** The first of `days` UTC days that end today. */
export function firstDay(days: number, now: Date): string {
  return dayToText(dayOfInstant(now.getTime()) - days + 1);
}

/** Requests of one UTC day. */
export type UsageDay = {
  day: string;
  /** Those that count towards the daily quota: exact. */
  quota_requests: number;
  /** The others: refused before they were counted, or of a plan without a quota. From the details. */
  other_requests: number;
  /** How many of `quota_requests` the details lack; negative: how many more they have. */
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

/** The quota at the end of the day if requests continue at the current rate. */
type UsageForecast = {
  /** When the quota is used up; null = not today. */
  used_up_at: Date | null;
  /** Requests by the end of the day, ignoring the limit. */
  requests_by_reset: number;
};

/** Of less than an hour nothing follows. */
const LEAST_ELAPSED_MS = 3_600_000;

/**
 * The forecast of a UTC day at a given time, from the average rate so far. null: no quota, no requests yet, the day is too young,
 * or the quota is used up.
 */
export function forecastUsage(used: number, quota: number | null, now: Date): UsageForecast | null {
  const startMs = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
  const elapsedMs = now.getTime() - startMs;
  if (quota === null || used === 0 || used >= quota || elapsedMs < LEAST_ELAPSED_MS) return null;
  const untilUsedUpMs = (elapsedMs * quota) / used;
  return {
    used_up_at: untilUsedUpMs < DAY_MS ? new Date(startMs + untilUsedUpMs) : null,
    requests_by_reset: Math.round((used * DAY_MS) / elapsedMs),
  };
}
