import { command } from "../query.ts";

/** Requests of one day that agree in token, endpoint, surface and outcome; `quotaRequests` of them are in daily_usage. */
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
 * Adds counts of a workspace to usage_detail, by its primary key; nothing when the workspace is gone. In the order of the key,
 * so that two servers wait for each other instead of both.
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
