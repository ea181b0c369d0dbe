import type { Database } from "../../src/store/database.ts";
import { listTenantTables } from "../../src/store/queries/distribute.ts";
import { openControlDatabase } from "../../tests/support/control.ts";
import { eventually } from "../../tests/support/worker.ts";
import { makeCluster } from "./cluster.ts";
import type { CitusCluster, Rows } from "./cluster.ts";
import { CAUSES } from "./faults.ts";
import type { Finding } from "./faults.ts";
import { startFleet } from "./fleet.ts";
import type { Fleet } from "./fleet.ts";
import { connectShop, importVersion, openShop, startStores, syncShop } from "./shops.ts";
import type { CitusShop, SimulatedStore } from "./shops.ts";
import { startTraffic } from "./traffic.ts";
import type { Traffic } from "./traffic.ts";

const STORES = 4;
const SHOPS = 24;

/**
 * Faults of a given cluster during imports, syncs, webhooks and requests of some dozens of shops; at the end the data is
 * compared with that of one plain PostgreSQL.
 */
export async function run(log: (line: string) => void): Promise<Finding[]> {
  const cluster = await makeCluster();
  const { stores, stop } = await startStores(STORES);
  const fleet = startFleet(cluster.url, stores[0] as SimulatedStore);
  try {
    log(`filling ${SHOPS} shops`);
    const shops = await fillShops(cluster, fleet, stores);
    const traffic = startTraffic({ database: cluster.database, fleet, ...shops });
    const scene: Scene = { cluster, fleet, traffic, ...shops, log };
    const findings: Finding[] = [];
    for (const cause of CAUSES) findings.push(await cause(scene));
    await traffic.stop();
    log("comparing with one PostgreSQL");
    findings.push(await compareAtTheEnd(scene, stores, shops.importGroups));
    return findings;
  } finally {
    await fleet.stop();
    await stop();
    await cluster.drop();
  }
}

type Shops = Pick<Scene, "imported" | "synced"> & { importGroups: CitusShop[][] };

/** Syncs one shop of each store, so that every node has some; the others get imports of its exports. */
async function fillShops(
  cluster: CitusCluster,
  fleet: Fleet,
  stores: readonly SimulatedStore[],
): Promise<Shops> {
  const { database } = cluster;
  const shops: CitusShop[] = [];
  for (const store of stores) await store.export();
  for (let number = 0; number < SHOPS; number++) {
    const store = stores[number % stores.length] as SimulatedStore;
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
  for (let members = 0; members < 2; members++) {
    await fleet.addServer();
    await fleet.addWorker();
  }
  for (const shop of synced) await connectShop(database, shop);
  const importGroups = nodeNames.map((node) => imported.filter(({ shopKey }) => nodes.get(shopKey) === node));
  await importAll(database, importGroups, () => 0, new Date());
  for (const shop of synced) await untilIdle(cluster.rows, shop);
  return { imported, synced, importGroups };
}

/** A version of its store into each shop, a row of imports for each group. */
async function importAll(
  database: Database,
  groups: readonly (readonly CitusShop[])[],
  versionOf: (store: SimulatedStore) => number,
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
  stores: readonly SimulatedStore[],
  importGroups: readonly (readonly CitusShop[])[],
): Promise<Finding> {
  const { cluster, synced, log } = scene;
  const asOf = new Date();
  for (const store of stores) await store.export();
  for (const shop of synced) await syncShop(cluster.database, shop);
  await importAll(cluster.database, importGroups, ({ versions }) => versions.length - 1, asOf);
  for (const shop of synced) await untilIdle(cluster.rows, shop);
  log("importing the same on one PostgreSQL");
  return compareWithOneServer(scene, stores, asOf);
}

/** A cluster with shops, its servers and workers, and the traffic during faults. */
export type Scene = {
  cluster: CitusCluster;
  fleet: Fleet;
  traffic: Traffic;
  /** Shops that folders are imported into. */
  imported: readonly CitusShop[];
  /** Shops that workers sync. */
  synced: readonly CitusShop[];
  log: (line: string) => void;
};

/** Tables of a shop about runs and access, which may differ; all others must be equal. */
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

/** The same stores on one plain PostgreSQL: imported by one workspace and synced by another, each once. */
async function compareWithOneServer(
  scene: Scene,
  stores: readonly SimulatedStore[],
  asOf: Date,
): Promise<Finding> {
  const server = await openControlDatabase();
  const { database, pool } = server;
  const rows: Rows = async (text, values = []) => (await pool.query(text, values)).rows;
  const fleet = startFleet(server.url, stores[0] as SimulatedStore);
  try {
    const tables = (await listTenantTables(database)).filter((table) => !OF_RUNS.has(table));
    await fleet.addWorker();
    const problems: string[] = [];
    for (const [number, store] of stores.entries()) {
      const imported = await openShop(database, store, `imported-${number}.example`);
      await importVersion(database, imported, store.versions.length - 1, asOf);
      const synced = await openShop(database, store, `synced-${number}.example`);
      await connectShop(database, synced);
      await untilIdle(rows, synced);
      for (const [plain, shops] of [
        [imported, scene.imported],
        [synced, scene.synced],
      ] as const) {
        const expected = await sumsOf(rows, tables, plain.shopKey);
        for (const shop of shops.filter((one) => one.store === store)) {
          const found = await sumsOf(scene.cluster.rows, tables, shop.shopKey);
          problems.push(...differencesOf(shop, expected, found));
        }
      }
    }
    const shopCount = scene.imported.length + scene.synced.length;
    const observed = [`${shopCount} shops, ${tables.length} tables compared by checksum`];
    return { name: "data equal to that of one PostgreSQL", observed, problems };
  } finally {
    await fleet.stop();
    await server.stop();
  }
}

/** Resolves once a shop's runs have ended and none waits. */
async function untilIdle(rows: Rows, { shopKey }: CitusShop): Promise<void> {
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

function differencesOf(
  { workspace }: CitusShop,
  expected: Map<string, string>,
  found: Map<string, string>,
): string[] {
  const different = [...expected].filter(([table, sum]) => found.get(table) !== sum);
  return different.map(
    ([table, sum]) => `${table} of ${workspace.shop_domain}: ${found.get(table)} instead of ${sum}`,
  );
}

/** The number of rows of each table, and their checksum. */
async function sumsOf(rows: Rows, tables: readonly string[], shopKey: number): Promise<Map<string, string>> {
  const sums = new Map<string, string>();
  for (const table of tables) {
    const [found] = await rows<{ sum: string }>(
      `select count(*) || ' rows ' || md5(coalesce(string_agg(t.row, e'\\n' order by t.row collate "C"), '')) as sum
         from (select (to_jsonb(x) - 'shop_key')::text as row from ${table} x where x.shop_key = $1) t`,
      [shopKey],
    );
    sums.set(table, found?.sum ?? "");
  }
  return sums;
}
