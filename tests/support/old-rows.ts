import type pg from "pg";
import type { Tenant } from "./tenants.ts";

/** Rows that expire, with the times that a test sets. */

type Shop = Pick<Tenant, "shopKey">;

export async function addRuns(
  pool: pg.Pool,
  { shopKey }: Shop,
  kind: string,
  startedAt: readonly Date[],
): Promise<void> {
  await pool.query(
    `insert into sync_run (shop_key, run_id, source, kind, requested_by, status, started_at)
     select $1::bigint, gen_random_uuid(), 'shopify', $2::text, 'schedule', 'succeeded', s from unnest($3::timestamptz[]) s`,
    [shopKey, kind, startedAt],
  );
}

export async function addDeliveries(
  pool: pg.Pool,
  { shopKey }: Shop,
  receivedAt: readonly Date[],
): Promise<void> {
  await pool.query(
    `insert into webhook_delivery (shop_key, source, webhook_id, topic, received_at)
     select $1::bigint, 'shopify', gen_random_uuid()::text, 't', r from unnest($2::timestamptz[]) r`,
    [shopKey, receivedAt],
  );
}

export async function addEvents(
  pool: pg.Pool,
  shopKey: number,
  action: string,
  happenedAt: readonly Date[],
): Promise<void> {
  await pool.query(
    `insert into audit_event (shop_key, actor, action, detail, happened_at)
     select $1::bigint, 'operator', $2::text, '{}', h from unnest($3::timestamptz[]) h`,
    [shopKey, action, happenedAt],
  );
}
