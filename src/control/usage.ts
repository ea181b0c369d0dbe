import { dayOfInstant, dayToText } from "../lib/month.ts";
import type { Database } from "../store/database.ts";
import { findPlan } from "../store/queries/plan.ts";
import { listTokens } from "../store/queries/token-write.ts";
import { listQuotaDays, sumUsage } from "../store/queries/usage.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import type { Actor } from "./actor.ts";
import { readInteger } from "./input.ts";
import { requireRight } from "./rights.ts";
import { forecastUsage } from "./usage-forecast.ts";
import type { UsageForecast } from "./usage-forecast.ts";
import { summarizeUsage } from "./usage-summary.ts";
import type { UsageGroup, UsageSummary } from "./usage-summary.ts";

/** What can be asked for at once, where usage is kept for longer. */
const LONGEST_DAYS = 3660;
const DEFAULT_DAYS = 30;
const DAY_MS = 86_400_000;

/** What a workspace asked of the API. */
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
export type NamedGroup = UsageGroup & { name: string | null };

/** The last `days` UTC days with today: 30 unless told otherwise, at most those that are kept. Throws a `Refusal` for more. */
export async function showUsage(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  { days, now, keepUsageDays }: { days?: string | undefined; now: Date; keepUsageDays: number },
): Promise<Usage> {
  requireRight(actor, "usage.read");
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

/** What one token asked for within the last 30 days. */
export async function showTokenUsage(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  { tokenId, now }: { tokenId: string; now: Date },
): Promise<UsageSummary> {
  requireRight(actor, "usage.read");
  const range = { fromDay: firstDay(DEFAULT_DAYS, now), toDay: firstDay(1, now), tokenId };
  return summarizeUsage(range, [], await sumUsage(database, workspace.shop_key, range));
}

/** The first of so many UTC days, of which today is the last. */
export function firstDay(days: number, now: Date): string {
  return dayToText(dayOfInstant(now.getTime()) - days + 1);
}
