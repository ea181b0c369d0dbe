import type { Queryable, Statement } from "../database.ts";

export type AdmitRow = {
  verdict:
    | "admitted"
    | "unknown_token"
    | "revoked_token"
    | "expired_token"
    | "billing_inactive"
    | "entitlement_missing"
    | "scope_missing"
    | "not_ready"
    | "over_quota";
  missing: string | null;
  organization_id: string;
  shop_id: string | null;
  shop_domain: string;
  currency_code: string;
  entitlements: string[];
  daily_quota: number | null;
  used_requests: number | null;
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

export type AdmitValues = {
  shopKey: string;
  tokenId: string;
  secretHash: Buffer;
  scope: string | null;
  entitlements: readonly string[];
  counted: boolean;
  now: Date | null;
};

const ADMIT: Statement = {
  name: "admit",
  text: `select verdict, missing, organization_id, shop_id, shop_domain, currency_code, entitlements, daily_quota,
                used_requests, usage_day, readiness, primary_window_days, min_sold_units, visible_card_size,
                data_version, data_as_of, sources
           from admit($1, $2, $3, $4, $5, $6, $7)`,
};

/** Runs the whole order of checks and counts the request. Exactly one row; primary keys serve every look-up. */
export async function admitQuery(database: Queryable, values: AdmitValues): Promise<AdmitRow> {
  const rows = await database.rows<AdmitRow>(ADMIT, [
    values.shopKey,
    values.tokenId,
    values.secretHash,
    values.scope,
    values.entitlements,
    values.counted,
    values.now,
  ]);
  if (rows[0] === undefined) throw new Error("admit returned no row");
  return rows[0];
}
