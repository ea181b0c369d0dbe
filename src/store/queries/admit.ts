import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";

/** What the checks before the quota say of an asker. */
export type Verdict =
  | "admitted"
  | "unknown_token"
  | "revoked_token"
  | "expired_token"
  | "billing_inactive"
  | "entitlement_missing"
  | "scope_missing"
  | "not_ready";

/** One token with what its requests need; `requests` is how many of them there are. */
export type Asker = {
  tokenId: string;
  secretHash: Buffer;
  scope: string | null;
  entitlements: readonly string[];
  counted: boolean;
  requests: number;
};

export type AdmitRow = {
  /** One for each asker, in their order; `missing` says which entitlement or scope. */
  verdicts: Verdict[];
  missing: (string | null)[];
  shop_key: number;
  organization_id: string;
  shop_id: string | null;
  shop_domain: string;
  currency_code: string;
  entitlements: string[];
  daily_quota: number | null;
  /** Requests of the day before these; null = no daily quota. */
  used_requests: number | null;
  /** How many of the counted requests that were admitted are within a daily quota. */
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

const ADMIT_MANY = defineStatement({
  name: "admit_many",
  text: `select $1::bigint as shop_key, verdicts, missing, organization_id, shop_id, shop_domain, currency_code, entitlements, daily_quota,
                used_requests, granted_requests, usage_day, readiness, primary_window_days, min_sold_units,
                visible_card_size, data_version, data_as_of, sources
           from admit_many($1, $2, $3, $4, $5, $6, $7, $8)`,
});

/**
 * Runs the whole order of checks for requests of one shop and counts them. Exactly one row; primary keys serve every
 * look-up. `now` null = the database's clock.
 */
export async function admitMany(
  database: Queryable,
  shopKey: number,
  askers: readonly Asker[],
  now: Date | null,
): Promise<AdmitRow> {
  const rows = await database.rows<AdmitRow>(ADMIT_MANY, [
    shopKey,
    askers.map((asker) => asker.tokenId),
    askers.map((asker) => asker.secretHash),
    askers.map((asker) => asker.scope),
    askers.map((asker) => asker.entitlements.join(",")),
    askers.map((asker) => asker.counted),
    askers.map((asker) => asker.requests),
    now,
  ]);
  if (rows[0] === undefined) throw new Error("admit_many returned no row");
  return rows[0];
}
