import type { Entitlement } from "../../../contract/endpoint.ts";
import { count } from "../../format.ts";

type Plan = { entitlements: readonly string[]; daily_quota: number | null };

const TEXTS: Readonly<Record<Entitlement, string>> = {
  api_access: "programs and AI agents may ask the API",
  data_export: "reports can be downloaded as CSV",
  full_leaderboards: "rankings show every SKU",
};

/** What a plan includes, in words; `cardSize` rows of a ranking are in any. */
export function entitlementTexts({ entitlements }: Pick<Plan, "entitlements">, cardSize: number): string[] {
  const isFull = entitlements.includes("full_leaderboards");
  return [
    "the pages of this console",
    ...entitlements.map((name) => TEXTS[name as Entitlement] ?? name),
    ...(isFull ? [] : [`rankings show the first ${count(cardSize) as string} SKUs`]),
  ];
}

/** 1000 → "1,000 a day". */
export function quotaText(dailyQuota: number | null): string {
  if (dailyQuota === null) return "without a limit";
  return dailyQuota === 0 ? "none" : `${count(dailyQuota) as string} a day`;
}

/** What a plan has that another has not; undefined = that has nothing. */
export function advantagesOf(plan: Plan | undefined, other: Plan | undefined): string[] {
  if (plan === undefined) return [];
  const texts = plan.entitlements
    .filter((name) => other?.entitlements.includes(name) !== true)
    .map((name) => TEXTS[name as Entitlement] ?? name);
  const more = (plan.daily_quota ?? Infinity) - (other === undefined ? 0 : (other.daily_quota ?? Infinity));
  if (Number.isNaN(more) || more <= 0) return texts;
  return [
    ...texts,
    more === Infinity ? "API requests without a limit" : `${count(more) as string} API requests a day`,
  ];
}
