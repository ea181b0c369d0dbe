import { runAction } from "../../../src/actions/action.ts";
import { textInput } from "../../../src/actions/field.ts";
import { requestSync } from "../../../src/actions/sources/actions.ts";
import { OPERATOR } from "../../../src/actions/actor.ts";
import type { Database } from "../../../src/store/database.ts";
import { listTenantTables } from "../../../src/store/queries/distribute.ts";
import { openTestKeys } from "../../../tests/support/secret.ts";
import { openTestPool } from "../../../tests/support/service.ts";
import { eventually } from "../../../tests/support/worker.ts";
import { findingOf, withDatabase } from "../database.ts";
import type { Finding } from "../database.ts";
import { makeCluster, readGiven } from "./cluster.ts";
import type { Cluster, Given, Rows } from "./cluster.ts";
import { addNode, killNode, leaveAlone, moveShard, restartCoordinator, upgradeRolling } from "./faults.ts";
import { startFleet } from "./fleet.ts";
import type { Fleet } from "./fleet.ts";
import { connectShop, importVersion, openShop, startStores } from "./shops.ts";
import type { Shop, Store } from "./shops.ts";
import { startTraffic } from "./traffic.ts";
import type { Traffic } from "./traffic.ts";

const STORES = 4;
const SHOPS = 24;

/**
 * Faults of a cluster whose address is given, while imports, syncs, webhooks and requests of some dozens of shops go on; at
 * the end the data is compared with that of one plain PostgreSQL.
 */
export async function run(log: (line: string) => void): Promise<Finding[]> {
  const given = readGiven();
  const cluster = await makeCluster(given);
  const { stores, stop } = await startStores(STORES);
  const fleet = startFleet(cluster.url, stores[0] as Store);
  try {
    log(`filling ${SHOPS} shops`);
    const { imported, synced, importGroups } = await fillShops(cluster, fleet, stores);
    const traffic = startTraffic({ database: cluster.database, fleet, imported, synced, importGroups });
    const scene: Scene = { given, cluster, fleet, traffic, imported, synced, log };
    const findings: Finding[] = [];
    for (const cause of [leaveAlone, killNode, restartCoordinator, moveShard, addNode, upgradeRolling]) {
      findings.push(await cause(scene));
    }
    await traffic.stop();
    log("comparing with one PostgreSQL");
    findings.push(await compareAtTheEnd(scene, stores, importGroups));
    return findings;
  } finally {
    await fleet.stop();
    await stop();
    await cluster.drop();
  }
}

type Shops = Pick<Scene, "imported" | "synced"> & { importGroups: Shop[][] };

/** One shop of each store is synced, so that every node has some; into the others its exports are imported. */
async function fillShops(cluster: Cluster, fleet: Fleet, stores: readonly Store[]): Promise<Shops> {
  const { database } = cluster;
  const shops: Shop[] = [];
  for (const store of stores) await store.export();
  for (let number = 0; number < SHOPS; number++) {
    const store = stores[number % stores.length] as Store;
    shops.push(await openShop(database, store, `shop-${number}.example`));
  }
  const nodes = await cluster.nodesOf(shops.map(({ shopKey }) => shopKey));
  const nodeNames = [...new Set(nodes.values())];
  const synced = stores.map((store, number) => {
    const node = nodeNames[number % nodeNames.length];
    const shop = shops.find((one) => one.store === store && nodes.get(one.shopKey) === node);
    if (shop === undefined) throw new Error(`no shop of store ${number} is on ${node}`);
    return shop;
  });
  const imported = shops.filter((shop) => !synced.includes(shop));
  for (let servers = 0; servers < 2; servers++) await fleet.addServer();
  for (let workers = 0; workers < 2; workers++) await fleet.addWorker();
  for (const shop of synced) await connectShop(database, shop);
  const importGroups = nodeNames.map((node) => imported.filter(({ shopKey }) => nodes.get(shopKey) === node));
  await importAll(database, importGroups, () => 0, new Date());
  for (const shop of synced) await untilIdle(cluster.rows, shop);
  return { imported, synced, importGroups };
}

/** A version of its store into each shop, a row of imports for each group. */
async function importAll(
  database: Database,
  groups: readonly (readonly Shop[])[],
  versionOf: (store: Store) => number,
  asOf: Date,
): Promise<void> {
  await Promise.all(
    groups.map(async (shops) => {
      for (const shop of shops) await importVersion(database, shop, versionOf(shop.store), asOf);
    }),
  );
}

/** Each shop gets the last state of its store first. */
async function compareAtTheEnd(
  scene: Scene,
  stores: readonly Store[],
  importGroups: readonly (readonly Shop[])[],
): Promise<Finding> {
  const { cluster, synced, log } = scene;
  const asOf = new Date();
  for (const store of stores) await store.export();
  const request = textInput({ source: "shopify" });
  const { database } = cluster;
  const keys = await openTestKeys(database);
  for (const { workspace } of synced) {
    await runAction(requestSync, { database, keys, workspace, actor: OPERATOR, now: new Date() }, request);
  }
  await importAll(cluster.database, importGroups, ({ versions }) => versions.length - 1, asOf);
  for (const shop of synced) await untilIdle(cluster.rows, shop);
  log("importing the same on one PostgreSQL");
  return compareWithOneServer(scene, stores, asOf);
}

/** A cluster with shops, its servers and workers, and what goes on while faults are caused. */
export type Scene = {
  given: Given;
  cluster: Cluster;
  fleet: Fleet;
  traffic: Traffic;
  /** Shops that folders are imported into. */
  imported: readonly Shop[];
  /** Shops that workers sync. */
  synced: readonly Shop[];
  log: (line: string) => void;
};

/** Tables of a shop that tell when and how something ran, or who may ask; every other one has to be equal. */
const OF_RUNS: ReadonlySet<string> = new Set([
  "alert",
  "api_token",
  "audit_event",
  "daily_usage",
  "data_source",
  "sync_request",
  "sync_run",
  "usage_detail",
  "warning_episode",
  "webhook_delivery",
  "workspace",
]);
const LONGEST_BACKFILL_SECONDS = 120;

/** The checksum of each table, and how many rows they have together. */
type Sums = { sums: Map<string, string>; rowCount: number };

/** The same stores on one plain PostgreSQL: imported by one workspace and synced by another, each once. */
function compareWithOneServer(scene: Scene, stores: readonly Store[], asOf: Date): Promise<Finding> {
  return withDatabase(scene.log, async ({ url, database }) => {
    const pool = openTestPool(url);
    const rows: Rows = async (text, values = []) => (await pool.query(text, values)).rows;
    const fleet = startFleet(url, stores[0] as Store);
    try {
      const tables = (await listTenantTables(database)).filter((table) => !OF_RUNS.has(table));
      const imported = new Map<Store, Shop>();
      const synced = new Map<Store, Shop>();
      await fleet.addWorker();
      for (const [number, store] of stores.entries()) {
        const forImport = await openShop(database, store, `imported-${number}.example`);
        await importVersion(database, forImport, store.versions.length - 1, asOf);
        imported.set(store, forImport);
        const forSync = await openShop(database, store, `synced-${number}.example`);
        await connectShop(database, forSync);
        synced.set(store, forSync);
      }
      for (const shop of synced.values()) await untilIdle(rows, shop);
      const problems: string[] = [];
      let rowCount = 0;
      for (const [shops, plain] of [
        [scene.imported, imported],
        [scene.synced, synced],
      ] as const) {
        const expectedOf = new Map<Store, Sums>();
        for (const { store, shopKey } of plain.values())
          expectedOf.set(store, await sumsOf(rows, tables, shopKey));
        for (const shop of shops) {
          const expected = expectedOf.get(shop.store) as Sums;
          const found = await sumsOf(scene.cluster.rows, tables, shop.shopKey);
          rowCount += expected.rowCount;
          problems.push(...differencesOf(shop, expected, found));
        }
      }
      const shopCount = scene.imported.length + scene.synced.length;
      const observed = `${shopCount} shops, ${tables.length} tables, ${rowCount.toLocaleString("en")} rows compared by checksum`;
      return findingOf("data equal to that of one PostgreSQL", [observed], problems);
    } finally {
      await fleet.stop();
      await pool.end();
    }
  });
}

/** Resolves once a shop's runs have ended and none waits. */
async function untilIdle(rows: Rows, { shopKey }: Shop): Promise<void> {
  const isIdle = async (): Promise<boolean> => {
    const [open] = await rows<{ requests: number; running: number }>(
      `select (select count(*) from sync_request where shop_key = $1)::integer as requests,
              (select count(*) from sync_run where shop_key = $1 and status = 'running')::integer as running`,
      [shopKey],
    );
    return open?.requests === 0 && open.running === 0;
  };
  await eventually(isIdle, `the runs of shop ${shopKey}`, LONGEST_BACKFILL_SECONDS);
}

function differencesOf({ workspace }: Shop, expected: Sums, found: Sums): string[] {
  const different = [...expected.sums].filter(([table, sum]) => found.sums.get(table) !== sum);
  return different.map(
    ([table, sum]) => `${table} of ${workspace.shop_domain}: ${found.sums.get(table)} instead of ${sum}`,
  );
}

async function sumsOf(rows: Rows, tables: readonly string[], shopKey: number): Promise<Sums> {
  const sums = new Map<string, string>();
  let rowCount = 0;
  for (const table of tables) {
    const [found] = await rows<{ count: number; sum: string }>(
      `select count(*)::integer as count, md5(coalesce(string_agg(t.row, e'\\n' order by t.row collate "C"), '')) as sum
         from (select (to_jsonb(x) - 'shop_key')::text as row from ${table} x where x.shop_key = $1) t`,
      [shopKey],
    );
    sums.set(table, `${found?.count} rows ${found?.sum}`);
    rowCount += found?.count ?? 0;
  }
  return { sums, rowCount };
}
