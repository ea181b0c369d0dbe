import type pg from "pg";
import { isCitus } from "./citus.ts";

/** Every run, webhook, upkeep and delivery of a shop changes one of these tables, and so does its usage. */
const TABLES = [
  "sync_request",
  "sync_run",
  "webhook_delivery",
  "alert_endpoint",
  "usage_detail",
  "audit_event",
];
/** Nothing listens on this port. */
const UNUSED_PORT = 1;

/**
 * Makes the rows of the first of these shops unreachable until `find`: on Citus with all shops of its node; on one server a
 * trigger refuses the shop's statements. At least one of the shops stays reachable.
 */
export async function loseWorkspace(
  pool: pg.Pool,
  shopKeys: readonly number[],
): Promise<{ lost: number[]; others: number[]; find: () => Promise<void> }> {
  const [first = 0, ...rest] = shopKeys;
  if (!isCitus()) {
    await pool.query(
      `create or replace function refuse_shop() returns trigger language plpgsql as
         $$ begin raise exception 'could not connect to the node' using errcode = '08006'; end $$`,
    );
    for (const table of TABLES) {
      await pool.query(
        `create trigger refuse_new before insert or update on ${table} for each row when (new.shop_key = ${first})
           execute function refuse_shop()`,
      );
      await pool.query(
        `create trigger refuse_old before delete on ${table} for each row when (old.shop_key = ${first})
           execute function refuse_shop()`,
      );
    }
    const find = async (): Promise<void> => {
      for (const table of TABLES) {
        await pool.query(`drop trigger if exists refuse_new on ${table}`);
        await pool.query(`drop trigger if exists refuse_old on ${table}`);
      }
    };
    return { lost: [first], others: rest, find };
  }
  const { rows } = await pool.query<{ shop_key: string; node: number; port: number }>(
    `select k.shop_key, n.nodeid as node, n.nodeport as port from unnest($1::bigint[]) k (shop_key)
       join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('workspace', k.shop_key)
       join pg_dist_node n on n.groupid = p.groupid`,
    [shopKeys],
  );
  const node = rows.find((row) => Number(row.shop_key) === first);
  const lost = rows.filter((row) => row.node === node?.node).map((row) => Number(row.shop_key));
  const move = "update pg_dist_node set nodeport = $2 where nodeid = $1";
  await pool.query(move, [node?.node, UNUSED_PORT]);
  return {
    lost,
    others: shopKeys.filter((shopKey) => !lost.includes(shopKey)),
    find: async () => void (await pool.query(move, [node?.node, node?.port])),
  };
}
