import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { joinEmbedded } from "../../src/embedded/embedded.ts";
import { migrate } from "../../src/store/migrate.ts";
import { listTenantTables } from "../../src/store/queries/distribute.ts";
import { openConnections, createTestLogins } from "../../tests/support/database.ts";
import { openTestPool } from "../../tests/support/service.ts";
import { eventually } from "../../tests/support/worker.ts";
import type { Finding } from "../finding.ts";
import type { Rows } from "./cluster.ts";
import { findingOf } from "./evidence.ts";
import { startFleet } from "./fleet.ts";
import type { Scene } from "./scene.ts";
import { connectShop, importVersion, openShop } from "./shops.ts";
import type { Shop, Store } from "./shops.ts";

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
export async function compareWithOneServer(
  scene: Scene,
  stores: readonly Store[],
  asOf: Date,
): Promise<Finding> {
  const dataFolder = mkdtempSync(join(tmpdir(), "returns-chaos-"));
  const embedded = await joinEmbedded({ dataFolder, log: scene.log });
  await createTestLogins(embedded.url);
  await migrate({ url: embedded.url });
  const database = openConnections(embedded.url, { maxConnections: 4, applicationName: "returns-chaos" });
  const pool = openTestPool(embedded.url);
  const rows: Rows = async (text, values = []) => (await pool.query(text, values)).rows;
  const fleet = startFleet(embedded.url, stores[0] as Store);
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
    await database.close();
    await embedded.release();
    rmSync(dataFolder, { recursive: true, force: true });
  }
}

/** Resolves once a shop's runs have ended and none waits. */
export async function untilIdle(rows: Rows, { shopKey }: Shop): Promise<void> {
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
