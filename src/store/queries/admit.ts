import { command, query } from "../query.ts";

/** The result of the checks before the quota; "locked": retry, waiting for the workspace's rows. */
export type AdmissionVerdict =
  | "admitted"
  | "unknown_token"
  | "revoked_token"
  | "expired_token"
  | "billing_inactive"
  | "entitlement_missing"
  | "scope_missing"
  | "not_ready"
  | "locked";

/** One token with what its requests need; `requests` is how many of them there are. */
export type Caller = {
  shopKey: number;
  tokenId: string;
  secretHash: Buffer;
  scope: string | null;
  entitlements: readonly string[];
  counted: boolean;
  requests: number;
};

/** All but `verdict` and `granted_requests` may be null while the token is unknown. */
export type AdmitRow = {
  verdict: AdmissionVerdict;
  /** Which entitlement or scope. */
  missing: string | null;
  shop_key: number;
  organization_id: string;
  shop_id: string | null;
  shop_domain: string;
  currency_code: string;
  entitlements: string[];
  daily_quota: number | null;
  /** Requests today before these; null: no daily quota. */
  used_requests: number | null;
  /** How many of the caller's requests are within the daily quota. */
  granted_requests: number;
  usage_day: string;
  readiness: string;
  primary_window_days: number;
  min_sold_units: number;
  visible_card_size: number;
  data_version: number;
  data_as_of: Date | null;
  sources: {
    source: string;
    kind: "store" | "label_cost";
    status: string | null;
    currency_code: string | null;
    last_synced_at: string | null;
  }[];
};

type AdmitOptions = {
  /** Whether to wait for rows that another server has locked; else their callers are "locked". */
  waits: boolean;
  /** null = the database's clock. */
  now: Date | null;
};

/**
 * Runs all checks for callers, sorted by workspace, and counts their requests: all or none. One row each, in their order; primary
 * keys serve every look-up. On Citus, callers must be of one node.
 */
export const admitCallers = query<AdmitRow, [callers: readonly Caller[], input: AdmitOptions]>(
  "admit_callers",
  `select shop_key, verdict, missing, organization_id, shop_id, shop_domain, currency_code, entitlements, daily_quota,
                used_requests, granted_requests, usage_day, readiness, primary_window_days, min_sold_units,
                visible_card_size, data_version, data_as_of, sources
           from admit_callers($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
  (callers, { waits, now }) => [
    callers[0]?.shopKey,
    callers.map((caller) => caller.shopKey),
    callers.map((caller) => caller.tokenId),
    callers.map((caller) => caller.secretHash),
    callers.map((caller) => caller.scope),
    callers.map((caller) => caller.entitlements.join(",")),
    callers.map((caller) => caller.counted),
    callers.map((caller) => caller.requests),
    waits,
    now,
  ],
);

/** Uncounts requests that were counted on `day` and then refused; by daily_usage's primary key. */
export const giveBackRequests = command<[shopKey: number, day: string, requests: number]>(
  "give_back_requests",
  `update daily_usage set requests = requests - $3 where shop_key = $1 and day = $2 and requests >= $3`,
);

/** Requests of one day with the same token, endpoint, surface and outcome; `quotaRequests` of them are in daily_usage. */
type UsageToAdd = {
  day: string;
  tokenId: string;
  endpoint: string;
  surface: string;
  outcome: string;
  requests: number;
  quotaRequests: number;
};

/**
 * Adds counts of a workspace to usage_detail, by its primary key; no effect if the workspace is gone. In the order of the key, so
 * that two servers cannot deadlock.
 */
export const addUsage = command<[shopKey: number, counts: readonly UsageToAdd[]]>(
  "add_usage",
  `insert into usage_detail as d (shop_key, day, token_id, endpoint, surface, outcome, requests, quota_requests)
         select w.shop_key, u.day, u.token_id, u.endpoint, u.surface, u.outcome, u.requests, u.quota_requests
           from workspace w
          cross join unnest($2::date[], $3::text[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::integer[])
                u (day, token_id, endpoint, surface, outcome, requests, quota_requests)
          where w.shop_key = $1
          order by u.day, u.token_id, u.endpoint, u.surface, u.outcome
         on conflict (shop_key, day, token_id, endpoint, surface, outcome) do update
            set requests = d.requests + excluded.requests, quota_requests = d.quota_requests + excluded.quota_requests`,
  (shopKey, counts) => [
    shopKey,
    counts.map((count) => count.day),
    counts.map((count) => count.tokenId),
    counts.map((count) => count.endpoint),
    counts.map((count) => count.surface),
    counts.map((count) => count.outcome),
    counts.map((count) => count.requests),
    counts.map((count) => count.quotaRequests),
  ],
);
