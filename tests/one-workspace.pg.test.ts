import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { takesSelector } from "../src/contract/endpoint.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { openDatabase, type DatabasePool, type Queryable } from "../src/store/database.ts";
import { migrate } from "../src/store/migrate.ts";
import {
  openExportedLabels,
  openExportedOrders,
  openExportedProducts,
  openExportedSaleEvents,
  openExportedVariants,
} from "../src/actions/workspace/queries.ts";
import { planWorkspaceViews } from "../src/store/workspace-views.ts";
import { recordStatements, type StatementCall } from "./support/asked-statements.ts";
import { isCitus } from "./support/citus.ts";
import { ALL_PATHS } from "./support/console-pages.ts";
import { actAs } from "./support/scene.ts";
import { asRole } from "./support/database.ts";
import { CANARY, copyAsForeign } from "./support/foreign-tenant.ts";
import { post, toolCall } from "./support/mcp.ts";
import { leastParameters, parametersOf } from "./support/requests.ts";
import { startTestService, type TestService } from "./support/service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";

/**
 * The second protection (docs/decisions/0047-row-level-security.md): connections of requests see the rows of one shop, whatever their
 * statements select. The first one, each statement's own condition, is tested by tests/statements.pg.test.ts.
 */

const ABSENT = 999_999_999;
/** The setting is unknown to a new connection, and empty on one that had it. */
const NO_SHOP = { code: /^(?:42704|22P02)$/u };

let service: TestService;
let own: Tenant;
let model: Tenant;
/** The data of `model`, changed, with the canary in every text. */
let foreign: Tenant;
let calls: StatementCall[];
/** One connection, as the service opens them for requests. */
let reading: DatabasePool | undefined;

before(async () => {
  const statements = recordStatements();
  service = await startTestService();
  statements.forget();
  const { database, databaseUrl } = service;
  own = await createSmallStore(database);
  await askEverything();
  statements.stop();
  calls = statements.callsOf("returns-reading");
  model = await createSmallStore(database);
  foreign = await createTenant(database);
  await copyAsForeign(database, model.shopKey, foreign.shopKey);
  reading = openOfOneWorkspace(databaseUrl);
});
after(async () => {
  await reading?.close();
  await service.stop();
});

function openOfOneWorkspace(databaseUrl: string): DatabasePool {
  return openDatabase({
    url: asRole(databaseUrl, "reader"),
    maxConnections: 1,
    readOnly: true,
    ofOneWorkspace: true,
    hasCitus: isCitus(),
    statementTimeoutMs: 0,
    applicationName: "returns-test",
    onConnectionError: () => {},
  });
}

/** REST with each selector, list and filter; every tool over MCP; every page and file of the console. */
async function askEverything(): Promise<void> {
  const selectors = [
    { sku: "JACKET-M", include_used_variants: "true" },
    { product_gid: "gid://shopify/Product/1" },
    { product_group_type: "family", product_group_key: "Outerwear" },
  ];
  const others = [{ vendor: "Nordwind" }, { q: "jacket" }, { q: "xy" }, { saleEvent: "summer" }];
  for (const endpoint of ENDPOINTS) {
    const named = new Set(parametersOf(endpoint).map(([name]) => name));
    const asked: Record<string, string>[] = [
      {},
      ...others.filter((params) => Object.keys(params).every((name) => named.has(name))),
      ...(takesSelector(endpoint) ? selectors : []),
    ];
    for (const params of asked) {
      const asking = { token: own.token, params: { ...leastParameters(endpoint), ...params } };
      assert.equal((await service.call(endpoint.path, asking)).status, 200, JSON.stringify(params));
    }
    if (endpoint.tool === null) continue;
    const call = toolCall(endpoint.tool.name, leastParameters(endpoint));
    assert.equal((await post(service.address, call, { token: own.token })).status, 200);
  }
  const member = await actAs(service, own);
  for (const path of ALL_PATHS) assert.equal((await member.get(path)).status, 200, path);
}

function inSnapshot<Result>(
  shopKey: number,
  work: (connection: Queryable) => Promise<Result>,
): Promise<Result> {
  return (reading as DatabasePool).snapshot(shopKey, work);
}

/** A call's rows in the snapshot of a shop; `change` replaces its values or its text. */
async function rowsOf(
  shopKey: number,
  call: StatementCall,
  change: Partial<StatementCall> = {},
): Promise<unknown[]> {
  return inSnapshot(shopKey, (connection) =>
    connection.rows({ ...call, ...change }, change.values ?? call.values),
  );
}

const askedFor = (call: StatementCall, shopKey: number): Partial<StatementCall> => ({
  values: [shopKey, ...call.values.slice(1)],
});

/** With every list sorted, since without an order a different plan may give a different order. */
function unordered(value: unknown): unknown {
  const text = (item: unknown): string => JSON.stringify(item);
  if (Array.isArray(value))
    return value.map(unordered).toSorted((one, other) => (text(one) < text(other) ? -1 : 1));
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unordered(item)]));
}

test("the first value of every statement of requests is their shop", () => {
  assert.ok(new Set(calls.map(({ name }) => name)).size >= 15, "too few statements");
  for (const { name, values } of calls) {
    if (isOfShop({ name })) assert.equal(Number(values[0]), own.shopKey, name);
  }
});

test("a statement with another shop's key finds none of its rows", async () => {
  let found = 0;
  for (const call of calls.filter(isOfShop)) {
    const text = JSON.stringify(await rowsOf(own.shopKey, call, askedFor(call, foreign.shopKey)));
    assert.ok(!text.includes(CANARY), call.name);
    assert.equal(text, JSON.stringify(await rowsOf(own.shopKey, call, askedFor(call, ABSENT))), call.name);
    const theirs = await rowsOf(foreign.shopKey, call, askedFor(call, foreign.shopKey));
    if (JSON.stringify(theirs).includes(CANARY)) found += 1;
  }
  assert.ok(found >= 10, `in its own snapshot ${found} of ${calls.length} calls find it`);
});

test("a statement without its condition on the shop finds the same rows", async () => {
  let forgot = 0;
  for (const call of calls.filter(isOfShop)) {
    const { name, text } = forgetShop(call);
    if (text === call.text) continue;
    const found = await rowsOf(own.shopKey, call, { name, text }).catch(refusedByCitus);
    if (found === null) continue;
    assert.deepEqual(unordered(found), unordered(await rowsOf(own.shopKey, call)), call.name);
    // A subquery that must return one row fails when it finds those of both shops.
    const { rows } = await service.database.query(text, [...call.values]).catch(() => ({ rows: [CANARY] }));
    if (JSON.stringify(rows).includes(CANARY)) forgot += 1;
  }
  assert.ok(forgot >= (isCitus() ? 1 : 10), `without the views ${forgot} calls find rows of the other shop`);
});

test("a read that names no shop fails, also after one that did", async () => {
  const { databaseUrl } = service;
  const fresh = openOfOneWorkspace(databaseUrl);
  const read = { name: "read_cohorts", text: "select count(*) from cohort" };
  try {
    await assert.rejects(fresh.rows(read, []), NO_SHOP);
    await fresh.snapshot(own.shopKey, (connection) => connection.rows(read, []));
    await assert.rejects(fresh.rows(read, []), NO_SHOP);
    await assert.rejects(
      fresh.longSnapshot(null, (connection) => connection.rows(read, [])),
      NO_SHOP,
    );
    await assert.rejects(
      fresh.transaction((connection) => connection.rows(read, [])),
      NO_SHOP,
    );
  } finally {
    await fresh.close();
  }
});

test("one connection shows each snapshot its own shop", async () => {
  const text = "select array_agg(distinct shop_key) as shops from cohort";
  for (const { shopKey } of [own, foreign, own]) {
    const rows = await inSnapshot(shopKey, (connection) => connection.rows({ name: "shops", text }, []));
    assert.deepEqual(rows, [{ shops: [shopKey] }]);
  }
});

test("the cursors of an export find no rows of another shop than their snapshot's", async () => {
  const cursors = [
    openExportedOrders,
    openExportedProducts,
    openExportedVariants,
    openExportedLabels,
    openExportedSaleEvents,
  ];
  for (const open of cursors) {
    const exported = (snapshotOf: number): Promise<object[]> =>
      (reading as DatabasePool).longSnapshot(snapshotOf, async (connection) =>
        (await open(connection, model.shopKey))(),
      );
    assert.ok((await exported(model.shopKey)).length > 0);
    assert.deepEqual(await exported(own.shopKey), []);
  }
});

test("every table with a shop_key has its view, and later tables and columns are added by the next migrate", async () => {
  const { database, databaseUrl, installation } = service;
  const namesIn = async (schema: string, kind: string): Promise<string[]> => {
    const { rows } = await database.query<{ name: string }>(
      `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'shop_key'
        where c.relnamespace = $1::regnamespace and c.relkind = $2 order by 1`,
      [schema, kind],
    );
    return rows.map(({ name }) => name);
  };
  assert.ok((await namesIn("public", "r")).length > 40);
  assert.deepEqual(await namesIn("one_shop", "v"), await namesIn("public", "r"));
  assert.deepEqual(await planWorkspaceViews(installation.database), []);
  await database.query("create table later (shop_key bigint, note text)");
  await database.query("alter table cohort add column later integer");
  assert.notDeepEqual(await planWorkspaceViews(installation.database), []);
  await migrate({ url: databaseUrl });
  assert.deepEqual(await planWorkspaceViews(installation.database), []);
  assert.deepEqual(await namesIn("one_shop", "v"), await namesIn("public", "r"));
  const read = { name: "later", text: "select later from cohort limit 1" };
  assert.equal((await inSnapshot(own.shopKey, (connection) => connection.rows(read, []))).length, 1);
});

function isOfShop({ name }: Pick<StatementCall, "name">): boolean {
  return !["limit_search", "applied_migrations", "list_shard_tables"].includes(name);
}

/** Citus refuses many statements that it cannot run on the node of one shop; they find nothing either. */
function refusedByCitus(error: Error): null {
  if (isCitus()) return null;
  throw error;
}

/** The statement without its own condition on the shop. Its first value stays, since the text has to name every value. */
function forgetShop({ name, text }: StatementCall): { name: string; text: string } {
  return {
    name: `${name}_forgets`,
    text: text.replaceAll(/(?:\b\w+\.)?shop_key = \$1\b/gu, () => "$1::bigint is not null"),
  };
}
