import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { STATEMENTS } from "../src/store/database.ts";
import type { Connection, Database, Statement } from "../src/store/database.ts";
import {
  changesSessionBy,
  forEachStatement,
  openStatementDatabase,
  planOf,
} from "./support/statement-plan.ts";
import type { PlanNode } from "./support/statement-plan.ts";

let stop: () => Promise<void>;
let database: Database;
let tenantTables: ReadonlySet<string>;

before(async () => {
  ({ database, tenantTables, stop } = await openStatementDatabase());
});
after(() => stop());

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
  await forEachStatement(database, async (connection, statement) => {
    if (await addsToDistinct(connection, statement)) wrong.push(statement.name);
  });
  assert.deepEqual(wrong, []);
});

test("the check finds distinct rows that get a time each", async () => {
  await database.transaction(async (connection) => {
    const ask = "insert into pending_record (shop_key, source, kind, record_id)";
    const records =
      "select distinct r.shop_key, r.source, 'x', r.record_id from sync_record r where r.shop_key = $1";
    assert.equal(await addsToDistinct(connection, { name: "distinct", text: `${ask} ${records}` }), true);
    assert.equal(
      await addsToDistinct(connection, { name: "inside", text: `${ask} select * from (${records}) r` }),
      false,
    );
  });
});

async function addsToDistinct(connection: Connection, statement: Statement): Promise<boolean> {
  if (!/^\s*insert into \w+ \([^)]*\)\s*select distinct/su.test(statement.text)) return false;
  return /clock_timestamp\(\)|nextval\(/u.test(JSON.stringify(await planOf(connection, statement)));
}

test("no statement removes or changes rows of its session by those of a workspace", async () => {
  const refused: string[] = [];
  await forEachStatement(database, async (connection, statement) => {
    const plan = await planOf(connection, statement);
    if (plan !== null && changesSessionBy(plan, tenantTables)) refused.push(statement.name);
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
