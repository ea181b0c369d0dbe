import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openDatabase, STATEMENTS } from "../src/store/database.ts";
import type { Connection, Database, Statement } from "../src/store/database.ts";
import { createStage } from "../src/store/queries/import-stage.ts";
import { listTenantTables } from "../src/store/queries/distribute.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { changesSessionBy, importStatements, planOf } from "./support/statement-plan.ts";
import type { PlanNode } from "./support/statement-plan.ts";

/** They ask a Citus about itself. */
const OF_CITUS = /^(?:list_distributed|make_reference_table|distribute_table|distribute_function)$/u;

let testDatabase: TestDatabase;
let database: Database;
let tenantTables: ReadonlySet<string>;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({
    url: testDatabase.url,
    maxConnections: 1,
    readOnly: false,
    statementTimeoutMs: 0,
    applicationName: "statements test",
    onConnectionError: () => {},
  });
  await importStatements();
  tenantTables = new Set(await listTenantTables(database));
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});

/** What a Citus refused or got wrong when the tests ran on one (CONTRIBUTING.md), as far as a text shows it. */
const REFUSED_TEXTS: Readonly<Record<string, RegExp>> = {
  "sets a column to a volatile time": /\bset\b.*clock_timestamp\(\)/su,
  "chooses between a time and something else as it updates":
    /\bset\b.*\b(?:coalesce|case|least|greatest)\b[^;]*\bnow\(\)/su,
};

function refusalsOf(text: string): string[] {
  return Object.entries(REFUSED_TEXTS).flatMap(([problem, pattern]) => (pattern.test(text) ? [problem] : []));
}

test("no statement is of a kind that Citus refuses", () => {
  const refused = [...STATEMENTS.values()].flatMap(({ name, text }) =>
    refusalsOf(text).map((problem) => `${name} ${problem}`),
  );
  assert.deepEqual(refused, []);
});

test("the check finds updates that Citus refuses", () => {
  const update = (value: string): string => `update api_token set revoked_at = ${value} where shop_key = $1`;
  assert.equal(refusalsOf(update("clock_timestamp()")).length, 1);
  assert.equal(refusalsOf(update("coalesce(revoked_at, now())")).length, 1);
  assert.equal(refusalsOf(update("now()")).length, 0);
});

test("no statement inserts distinct rows that get a time or number each, which Citus adds before it compares", async () => {
  const wrong: string[] = [];
  await database.transaction(async (connection) => {
    await createStage(connection);
    for (const statement of STATEMENTS.values()) {
      if (await addsToDistinct(connection, statement)) wrong.push(statement.name);
    }
    const ask = "insert into pending_record (shop_key, source, kind, record_id)";
    const records =
      "select distinct r.shop_key, r.source, 'x', r.record_id from sync_record r where r.shop_key = $1";
    assert.equal(await addsToDistinct(connection, { name: "distinct", text: `${ask} ${records}` }), true);
    assert.equal(
      await addsToDistinct(connection, { name: "inside", text: `${ask} select * from (${records}) r` }),
      false,
    );
  });
  assert.deepEqual(wrong, []);
});

async function addsToDistinct(connection: Connection, statement: Statement): Promise<boolean> {
  if (!/^\s*insert into \w+ \([^)]*\)\s*select distinct/su.test(statement.text)) return false;
  return /clock_timestamp\(\)|nextval\(/u.test(JSON.stringify(await planOf(connection, statement)));
}

test("no statement removes or changes rows of its session by those of a workspace", async () => {
  const refused: string[] = [];
  await database.transaction(async (connection) => {
    await createStage(connection);
    for (const statement of STATEMENTS.values()) {
      if (OF_CITUS.test(statement.name)) continue;
      const plan = await planOf(connection, statement);
      if (plan !== null && changesSessionBy(plan, tenantTables)) refused.push(statement.name);
    }
  });
  assert.deepEqual(refused, []);
});

test("the check finds a statement that removes rows of its session by a workspace's", async () => {
  await database.transaction(async (connection) => {
    await connection.client.query("create temp table seen (sku text) on commit drop");
    const isRefused = async (text: string): Promise<boolean> =>
      changesSessionBy((await planOf(connection, { name: "refused", text })) as PlanNode, tenantTables);
    const inShop = "(select k.sku from sku k where k.shop_key = $1)";
    assert.equal(await isRefused(`delete from seen where sku in ${inShop}`), true);
    assert.equal(
      await isRefused(
        `with s as (update seen set sku = '' where sku in ${inShop} returning sku) select from s`,
      ),
      true,
    );
    assert.equal(await isRefused(`insert into seen ${inShop}`), false);
    assert.equal(await isRefused("with gone as (delete from seen returning sku) select from gone"), false);
  });
});
