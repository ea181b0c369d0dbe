import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { OPERATOR } from "../src/actions/actor.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { writeDemoStore } from "../src/demo/demo-store.ts";
import type { Database } from "../src/store/database.ts";
import { migrate } from "../src/store/migrate.ts";
import { importFolder } from "../src/sync/connectors/csv/import-folder.ts";
import { backUp, createEmptyDatabase, hashesOf, restoreInto, rowsIn } from "./support/backups.ts";
import { isCitus } from "./support/citus.ts";
import { signInAs } from "./support/console-person.ts";
import { leastParameters } from "./support/requests.ts";
import { startOn, type TestService } from "./support/service.ts";
import { startShopifySync, type ShopifySync, type ShopifyWorkspace } from "./support/shopify-sync.ts";
import { seedSmallStore } from "./support/small-store.ts";
import { createTenant, createTokenOf, type Tenant } from "./support/tenants.ts";
import { makeFolder } from "./support/folder.ts";

/** A backup under load, restored elsewhere: every answer and every table are as they were when it began. */

const AT_ONCE = 4;

/** Tables whose rows a restore removes. */
const ENDED_TABLES = ["console_session", "console_link", "console_challenge"];

const skip = isCitus() && "a distributed database is backed up by the cluster's own tools";
let sync: ShopifySync;
let connected: ShopifyWorkspace;
let service: TestService;
let demo: Tenant;
let tenants: Pick<Tenant, "token">[];
before(async () => {
  if (skip !== false) return;
  sync = await startShopifySync({ orders: 60 });
  connected = await sync.connect();
  await connected.sync("backfill");
  service = await startOn({ url: sync.shop.url, drop: async () => {} }, {});
  await service.database.query("alter table shop_directory alter column shop_key restart with 1000");
  const small = await createTenant(service.database, { dailyQuota: null });
  await seedSmallStore(service.database, small.shopKey);
  demo = await createTenant(service.database, { dailyQuota: null });
  await importDemo(120);
  await signInAs(service, { name: "Owner", shopDomain: demo.shopDomain });
  tenants = [demo, small, await createTokenOf(service.database, connected.shopKey)];
});
after(async () => {
  if (skip !== false) return;
  await service.stop();
  await sync.stop();
});

async function importDemo(orders: number): Promise<void> {
  const folder = makeFolder();
  await writeDemoStore({ folder, today: "2026-06-01", orders, months: 14 });
  const moment = new Date("2026-06-01T00:00:00Z");
  const { shopKey } = demo;
  const request = { shopKey, currencyCode: "EUR", folder, asOf: moment, now: moment, skipInvalid: false };
  const { imported } = await importFolder({ database: sync.shop.database, actor: OPERATOR, ...request });
  assert.ok(imported);
}

type Question = { path: string; params: Record<string, string>; tenant: Pick<Tenant, "token"> };

/** Each endpoint once for each workspace; the rows themselves are compared by their hashes. */
const questions = (): Question[] =>
  tenants.flatMap((tenant) =>
    ENDPOINTS.map((endpoint) => ({ path: endpoint.path, params: { ...leastParameters(endpoint) }, tenant })),
  );

async function answersOf({ call }: TestService, asked: readonly Question[]): Promise<string[]> {
  const ask = async ({ path, params, tenant }: Question): Promise<string> => {
    const { status, text } = await call(path, { token: tenant.token, params, isUnlimited: true });
    return `${status} ${comparable(text)}`;
  };
  const texts: string[] = [];
  for (let start = 0; start < asked.length; start += AT_ONCE) {
    texts.push(...(await Promise.all(asked.slice(start, start + AT_ONCE).map(ask))));
  }
  return texts;
}

/** Freshness depends on the moment, a cursor is sealed again each time, and a restore raises data versions. */
function comparable(text: string): string {
  if (!text.startsWith("{")) return text;
  const { data, meta } = JSON.parse(text) as { data: unknown; meta?: Record<string, unknown> };
  return JSON.stringify({
    data,
    meta: {
      ...meta,
      freshness: null,
      next_cursor: typeof meta?.["next_cursor"],
      data_version: typeof meta?.["data_version"],
    },
  });
}

/**
 * Connections whose long snapshot begins before the load, and is used while it goes on: an import that is done before the first
 * table is read, a sync run and requests beside the rest. `loaded` resolves when they have ended.
 */
function underLoad(database: Database, asked: readonly Question[]) {
  const { simulator } = sync;
  const seen: { hashes: Record<string, string>; loaded: Promise<unknown> } = {
    hashes: {},
    loaded: Promise.resolve(),
  };
  const reading: Database = {
    ...database,
    longSnapshot: (_shopKey, work, signal) =>
      database.longSnapshot(
        null,
        async (connection) => {
          seen.hashes = await hashesOf(connection.client);
          await importDemo(150);
          const { order } = (await simulator.control("find-order", { with: "refundable" })) ?? { order: 0 };
          await simulator.control("change", {
            do: "refund",
            order,
            line: 0,
            units: 1,
            restockType: "RETURN",
          });
          seen.loaded = Promise.all([connected.sync("incremental"), answersOf(service, asked.slice(0, 20))]);
          return work(connection);
        },
        signal,
      ),
  };
  return { reading, seen };
}

test(
  "a backup under load contains the state of one moment, and answers elsewhere as at that moment",
  { skip },
  async () => {
    const folder = join(makeFolder(), "backup");
    const asked = questions();
    const answers = await answersOf(service, asked);
    const { reading, seen } = underLoad(sync.shop.database, asked);
    const made = await backUp(reading, folder);
    await seen.loaded;
    assert.notDeepEqual(await hashesOf(service.database), seen.hashes, "the load changed the source");

    const elsewhere = await createEmptyDatabase();
    const restored = await restoreInto(elsewhere.url, folder);
    assert.deepEqual(restored.left_out, []);
    await migrate({ url: elsewhere.url });
    const copy = await startOn(elsewhere, {});
    try {
      const hashes = await hashesOf(copy.database);
      for (const table of ENDED_TABLES) {
        assert.match(hashes[table] ?? "", /^0 /u, table);
        seen.hashes[table] = hashes[table] ?? "";
      }
      assert.deepEqual(hashes, seen.hashes);
      assert.equal(made.tables, Object.keys(hashes).length);
      assert.deepEqual(await answersOf(copy, asked), answers);
      await assertVersionsRaised(copy);
    } finally {
      await copy.stop();
    }
  },
);

/** Data versions are above those of the source, and early warnings stay evaluated. */
async function assertVersionsRaised(copy: TestService): Promise<void> {
  const versions = `select shop_key, data_version::float8 as version, warned_version = data_version as warned
                      from workspace order by 1`;
  type Row = { shop_key: string; version: number; warned: boolean | null };
  const [source, restored] = [
    await rowsIn<Row>(sync.shop.url, versions),
    await rowsIn<Row>(copy.databaseUrl, versions),
  ];
  assert.equal(restored.length, source.length);
  for (const [index, row] of restored.entries()) {
    assert.ok(row.version > 1e12 && row.version > (source[index]?.version ?? Infinity), JSON.stringify(row));
  }
  const next = await createTenant(copy.database);
  assert.ok(next.shopKey > demo.shopKey, "keys go on where they were");
}
