import { OPERATOR } from "../../src/control/actor.ts";
import { runAction } from "../../src/actions/action.ts";
import { textInput } from "../../src/actions/field.ts";
import { openTestKeys } from "../../tests/support/secret.ts";
import { requestSync } from "../../src/actions/sources/actions.ts";
import type { Database } from "../../src/store/database.ts";
import type { Finding } from "../finding.ts";
import { makeCluster } from "./cluster.ts";
import type { Cluster } from "./cluster.ts";
import { compareWithOneServer, untilIdle } from "./equality.ts";
import { addNode, killNode, leaveAlone, moveShard, restartCoordinator } from "./faults.ts";
import { startFleet } from "./fleet.ts";
import type { Fleet } from "./fleet.ts";
import { readGiven } from "./given.ts";
import type { Scene } from "./scene.ts";
import { connectShop, importVersion, openShop, startStores } from "./shops.ts";
import type { Shop, Store } from "./shops.ts";
import { startTraffic } from "./traffic.ts";
import { upgradeRolling } from "./upgrade.ts";

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
