import type pg from "pg";
import { createToken } from "../../src/access/token.ts";
import { ENTITLEMENTS, SCOPES } from "../../src/contract/endpoint.ts";
import { deriveKeys } from "../../src/lib/keys.ts";
import { TEST_SECRET } from "./secret.ts";

export type Tenant = { shopKey: number; shopDomain: string; token: string; tokenId: string };

export type TenantOptions = {
  entitlements?: readonly string[];
  /** null = unlimited. */
  dailyQuota?: number | null;
  scopes?: readonly string[];
  billingStatus?: string;
  readiness?: string;
  currencyCode?: string;
  /** The as-of of its data; null = never synced. */
  dataAsOf?: string | null;
};

export const AMPLE_QUOTA = 1_000_000;

/** A workspace on its own plan, by default with all rights, with one token. */
export async function createTenant(database: pg.Pool, options: TenantOptions = {}): Promise<Tenant> {
  const shopKey = await reserveWorkspace(database);
  const shopDomain = `shop-${shopKey}.example`;
  const dataAsOf = options.dataAsOf === undefined ? "2026-07-01T06:00:00Z" : options.dataAsOf;
  await insertRows(database, "plan", [
    {
      plan_key: `plan-${shopKey}`,
      entitlements: options.entitlements ?? ENTITLEMENTS,
      daily_quota: options.dailyQuota === undefined ? AMPLE_QUOTA : options.dailyQuota,
    },
  ]);
  await insertRows(database, "workspace", [
    {
      shop_key: shopKey,
      organization_id: `organization-${shopKey}`,
      shop_id: `shop-${shopKey}`,
      shop_domain: shopDomain,
      currency_code: options.currencyCode ?? "EUR",
      plan_key: `plan-${shopKey}`,
      billing_status: options.billingStatus ?? "active",
      readiness: options.readiness ?? "ready",
      data_as_of: dataAsOf,
    },
  ]);
  await insertRows(database, "data_source", [
    { shop_key: shopKey, source: "csv", kind: "store", status: "ok", last_synced_at: dataAsOf },
  ]);
  return { shopKey, shopDomain, ...(await createTokenOf(database, shopKey, options)) };
}

/** Another token of a workspace. */
export async function createTokenOf(
  database: pg.Pool,
  shopKey: number,
  options: { scopes?: readonly string[]; expiresAt?: string; revokedAt?: string } = {},
): Promise<{ token: string; tokenId: string }> {
  const { token, tokenId, secretHash } = createToken(shopKey, deriveKeys(TEST_SECRET).tokenPepper);
  await insertRows(database, "api_token", [
    {
      shop_key: shopKey,
      token_id: tokenId,
      name: "reporting",
      secret_hash: `\\x${secretHash.toString("hex")}`,
      scopes: options.scopes ?? SCOPES,
      created_by: "owner",
      expires_at: options.expiresAt ?? null,
      revoked_at: options.revokedAt ?? null,
    },
  ]);
  return { token, tokenId };
}

/** Sets columns of a workspace, as its operator would. */
export async function changeWorkspace(
  database: pg.Pool,
  { shopKey }: Pick<Tenant, "shopKey">,
  change: Record<string, string | number | null>,
): Promise<void> {
  const names = Object.keys(change);
  const settings = names.map((name, index) => `${name} = $${index + 2}`).join(", ");
  await database.query(`update workspace set ${settings} where shop_key = $1`, [
    shopKey,
    ...Object.values(change),
  ]);
}

/** Sets what a workspace's plan includes. */
export async function changePlan(
  database: pg.Pool,
  { shopKey }: Pick<Tenant, "shopKey">,
  plan: { entitlements?: readonly string[]; dailyQuota?: number | null },
): Promise<void> {
  const key = `plan-${shopKey}`;
  if (plan.entitlements !== undefined) {
    await database.query("update plan set entitlements = $2 where plan_key = $1", [key, plan.entitlements]);
  }
  if (plan.dailyQuota !== undefined) {
    await database.query("update plan set daily_quota = $2 where plan_key = $1", [key, plan.dailyQuota]);
  }
}

/** How many requests of all days were counted for a workspace. */
export async function countedRequests(
  database: pg.Pool,
  { shopKey }: Pick<Tenant, "shopKey">,
): Promise<number> {
  const { rows } = await database.query<{ requests: number }>(
    "select coalesce(sum(requests), 0)::integer as requests from daily_usage where shop_key = $1",
    [shopKey],
  );
  return rows[0]?.requests ?? 0;
}

/** Inserts rows whose members are named as the columns; columns not named keep their defaults. */
export async function insertRows(
  database: pg.Pool,
  table: string,
  rows: readonly Record<string, unknown>[],
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {}).join(", ");
  await database.query(
    `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1)`,
    [JSON.stringify(rows)],
  );
}

async function reserveWorkspace(database: pg.Pool): Promise<number> {
  const { rows } = await database.query<{ shop_key: string }>(
    "insert into shop_directory (shop_domain) values (gen_random_uuid()::text) returning shop_key",
  );
  const shopKey = Number(rows[0]?.shop_key);
  await database.query("update shop_directory set shop_domain = $1 where shop_key = $2", [
    `shop-${shopKey}.example`,
    shopKey,
  ]);
  return shopKey;
}
