import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { STATEMENTS } from "../src/store/database.ts";
import type { Connection, Database, Statement } from "../src/store/database.ts";
import { planForManyRows, planForRun } from "../src/store/many-rows.ts";
import {
  forEachStatement,
  openStatementDatabase,
  partApart,
  planOf,
  lacksPlans,
} from "./support/statement-plan.ts";
import type { PlanNode } from "./support/statement-plan.ts";

const skip = await lacksPlans();
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
  "names the columns of a union in front of it": /\b\w+ \([\w, ]+\) as \(\s*select\b[^()]*\bunion\b/u,
  "chooses by what follows `case` as it updates": /\bupdate\b[^;]*\bset\b[^;]*\bcase\s+[\w.]+\s+when\b/su,
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
  assert.equal(refusalsOf(update("case name when '' then null end")).length, 1);
  assert.equal(refusalsOf(update("case when name = '' then null end")).length, 0);
  assert.equal(refusalsOf(update("now()")).length, 0);
});

test("the check finds a union whose columns are named in front of it, which Citus leaves out", () => {
  const union = "(select sku from sku where shop_key = $1 union select sku from variant where shop_key = $1)";
  assert.equal(refusalsOf(`with named (name) as ${union} select array(select name from named)`).length, 1);
  assert.equal(refusalsOf(`with named as ${union} select array(select sku from named)`).length, 0);
});

test(
  "no statement inserts distinct rows that get a time or number each, which Citus adds before it compares",
  { skip },
  async () => {
    const wrong: string[] = [];
    await forEachStatement(database, async (connection, statement) => {
      if (await addsToDistinct(connection, statement)) wrong.push(statement.name);
    });
    assert.deepEqual(wrong, []);
  },
);

test("the check finds distinct rows that get a time each", { skip }, async () => {
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

test(
  "no statement is computed apart from the shop's node, from where Citus sends the result to every node",
  { skip },
  async () => {
    const refused: string[] = [];
    await forEachStatement(database, async (connection, statement) => {
      const plan = await planOf(connection, statement);
      const problem = plan === null ? null : partApart(plan, tenantTables);
      if (problem !== null) refused.push(`${statement.name} ${problem}`);
    });
    assert.deepEqual(refused, []);
  },
);

test(
  "the check finds a statement that joins a table of its session, and one that inserts on the way",
  { skip },
  async () => {
    await database.transaction(async (connection) => {
      await connection.client.query("create temp table seen (sku text) on commit drop");
      const problemOf = async (text: string): Promise<string | null> =>
        partApart((await planOf(connection, { name: "apart", text })) as PlanNode, tenantTables);
      const inShop = "select k.sku from sku k where k.shop_key = $1";
      const session = /a table of its session/u;
      assert.match((await problemOf(`${inShop} and k.sku in (select sku from seen)`)) ?? "", session);
      assert.match((await problemOf(`delete from seen where sku in (${inShop})`)) ?? "", session);
      assert.match((await problemOf(`insert into seen ${inShop}`)) ?? "", session);
      assert.match(
        (await problemOf("delete from sku k using seen s where k.shop_key = $1 and k.sku = s.sku")) ?? "",
        session,
      );
      const mark = "insert into dirty_cohort (shop_key, cohort_month) values ($1, $2) on conflict do nothing";
      assert.match((await problemOf(`with marked as (${mark}) ${inShop}`)) ?? "", /inserts on the way/u);
      assert.equal(await problemOf(mark), null);
      assert.equal(await problemOf(`${inShop} and k.sku = any($2)`), null);
      assert.equal(
        await problemOf(
          "with gone as (delete from sku where shop_key = $1 returning sku) select sku from gone",
        ),
        null,
      );
      assert.equal(
        await problemOf("with gone as (delete from seen returning sku) select sku from gone"),
        null,
      );
    });
  },
);

/** The settings of the planner, which a node has to be given. */
const PLANNER_SETTING =
  /\bset\s+(?:local\s+)?(?:enable_\w+|plan_cache_mode|work_mem|hash_mem_multiplier|cursor_tuple_fraction|jit)\b/iu;

test("how statements are planned is set in one file, which has Citus pass it on to the nodes", async () => {
  const sources = join(import.meta.dirname, "../src");
  const setting = globSync("**/*.ts", { cwd: sources, exclude: ["**/*.test.ts"] }).filter((file) =>
    PLANNER_SETTING.test(readFileSync(join(sources, file), "utf8")),
  );
  assert.deepEqual(setting, [join("store", "many-rows.ts")]);
  for (const plan of [planForRun, planForManyRows]) {
    await database.transaction(async (connection) => {
      await plan(connection);
      const { rows } = await connection.client.query("show citus.propagate_set_commands");
      assert.deepEqual(rows, [{ "citus.propagate_set_commands": "local" }]);
    });
  }
});
