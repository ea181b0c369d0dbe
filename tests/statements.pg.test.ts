import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { STATEMENTS, type Connection, type Database, type Statement } from "../src/store/database.ts";
import { COORDINATOR_TABLES, REFERENCE_TABLES } from "../src/store/queries/distribute.ts";
import { isCitus } from "./support/citus.ts";
import {
  firstOutputs,
  forEachStatement,
  lacksPlans,
  nodesOf,
  openStatementDatabase,
  partApart,
  planOf,
  planWithValues,
} from "./support/statement-plan.ts";
import type { PlanNode } from "./support/statement-plan.ts";
import { planForManyRows, planForRun } from "../src/store/query.ts";

/**
 * What a database on several machines needs (docs/scaling.md): everything that concerns one workspace names its
 * shop_key, so that it runs on a single machine. Every statement of the registry is planned, and the plan must have a
 * condition on shop_key wherever it uses a table of workspaces.
 */

/** Statements over all workspaces, and who runs them. */
const OVER_ALL_SHOPS: Readonly<Record<string, string>> = {
  list_workspaces: "operator",
  list_audit_of_all: "operator: who did what",
  workspace_health: "operator: doctor",
  list_runs: "operator: the history",
  list_workspaces_to_rebuild: "operator: the end of a migration",
  connection_health: "operator: doctor",
  list_connections: "operator",
  count_installation: "operator: doctor, and the first start",
  sync_metrics: "operator: metrics",
  run_metrics: "operator: metrics",
  alert_delivery_metrics: "operator: metrics",
  find_unused_data_version: "operator: the end of a restore",
  raise_warned_versions: "operator: the end of a restore",
  raise_data_versions: "operator: the end of a restore",
};

/** Inserts of a select that Citus does not compute on the shop's node. */
const COMPUTED_APART: Readonly<Record<string, string>> = {
  add_gone_orders: "each row has a number of its own",
  add_pending_records: "each row has a time of its own",
  ask_about_gone_shopify_orders: "each row has a time of its own",
  ask_for_run: "each row has a time of its own",
  ask_for_shopify_refunds: "each row has a time of its own",
  ask_for_shopify_trackings: "each row has a time of its own",
  ask_for_stored_open_returns: "each row has a time of its own",
  insert_alerts: "each row has a time of its own",
  insert_label_records: "each row has a number of its own",
};

const skip = await lacksPlans();
let stop: () => Promise<void>;
let database: Database;
let tenantTables: ReadonlySet<string>;

before(async () => {
  ({ database, tenantTables, stop } = await openStatementDatabase());
});

after(() => stop());
let asked = 0;

const ask = <Row>(text: string): Promise<Row[]> =>
  database.rows<Row>({ name: `statements_test_${(asked += 1)}`, text }, []);

test("every table with data of workspaces has a shop_key", async () => {
  const tables = await ask<{ table: string }>(
    "select relname as table from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace",
  );
  const others = tables.map(({ table }) => table).filter((table) => !tenantTables.has(table));
  assert.deepEqual(others.toSorted(), [...COORDINATOR_TABLES, ...REFERENCE_TABLES].toSorted());
});

test("shop_key is the first column of every primary key and in every unique index of a workspace's table", async () => {
  assert.ok(tenantTables.size > 20);
  const keys = await ask<{ table: string; index: string; is_primary: boolean; columns: string[] }>(
    `select c.relname as table, x.relname as index, i.indisprimary as is_primary,
            array(select a.attname::text from unnest(i.indkey::int[]) with ordinality k (number, place)
                    join pg_attribute a on a.attrelid = c.oid and a.attnum = k.number order by k.place) as columns
       from pg_index i join pg_class c on c.oid = i.indrelid join pg_class x on x.oid = i.indexrelid
      where i.indisunique and c.relnamespace = 'public'::regnamespace`,
  );
  const own = keys.filter((key) => tenantTables.has(key.table));
  assert.deepEqual(
    own.filter((key) => !key.columns.includes("shop_key")).map((key) => key.index),
    [],
  );
  const led = new Set(
    own.filter((key) => key.is_primary && key.columns[0] === "shop_key").map((key) => key.table),
  );
  assert.deepEqual(
    [...tenantTables].filter((table) => !led.has(table)),
    [],
  );
});

test("foreign keys between workspaces' tables include shop_key", async () => {
  const keys = await ask<{ table: string; name: string; columns: string[] }>(
    `select k.conrelid::regclass::text as table, k.conname as name, array(select a.attname::text from pg_attribute a
              where a.attrelid = k.conrelid and a.attnum = any(k.conkey)) as columns
       from pg_constraint k where k.contype = 'f' and k.connamespace = 'public'::regnamespace`,
  );
  assert.deepEqual(
    keys
      .filter((key) => tenantTables.has(key.table) && !key.columns.includes("shop_key"))
      .map((key) => key.name),
    [],
  );
});

test(
  "every statement names its one workspace, except the operator's over all workspaces",
  { skip },
  async () => {
    assert.ok(STATEMENTS.size > 80, `only ${STATEMENTS.size} statements are registered`);
    const offenders: string[] = [];
    await forEachStatement(database, async (connection, statement) => {
      const problem = await problemOf(connection, statement);
      if (problem !== null) offenders.push(`${statement.name}: ${problem}`);
    });
    const unexpected = offenders.filter((line) => OVER_ALL_SHOPS[line.split(":")[0] ?? ""] === undefined);
    assert.deepEqual(unexpected, []);
    const names = new Set(offenders.map((line) => line.split(":")[0]));
    assert.deepEqual(
      Object.keys(OVER_ALL_SHOPS).filter((name) => !names.has(name)),
      [],
      "listed, but not so",
    );
  },
);

test(
  "inserted rows take their shop_key from a workspace's table, so that Citus selects them on its node",
  { skip },
  async () => {
    const apart: Record<string, string> = {};
    await forEachStatement(database, async (connection, statement) => {
      const obstacle = await obstacleOf(connection, statement);
      if (obstacle !== null) apart[statement.name] = obstacle;
    });
    assert.deepEqual(apart, COMPUTED_APART);
    const guide = readFileSync(join(import.meta.dirname, "../docs/scaling.md"), "utf8");
    const named = Object.keys(apart).filter((name) => !guide.includes(`\`${name}\``));
    assert.deepEqual(named, [], "docs/scaling.md does not name them");
  },
);

test("functions of the request path name the workspace at every table that they use", async () => {
  const functions = await ask<{ name: string; body: string; first_argument: string }>(
    `select p.proname as name, p.prosrc as body, p.proargnames[1] as first_argument
       from pg_proc p where p.pronamespace = 'public'::regnamespace and p.proname like 'admit%'`,
  );
  assert.ok(functions.length > 0);
  for (const { name, body, first_argument: firstArgument } of functions) {
    assert.equal(firstArgument, "p_shop_key", name);
    const changed = [...body.matchAll(/\b(?:from|join|update|into)\s+([a-z_]+)\b/gu)].filter(([, table]) =>
      tenantTables.has(table ?? ""),
    );
    const named = body.match(/shop_key = shop\b|values \(shop\b/gu) ?? [];
    assert.ok(
      changed.length > 0 && named.length >= changed.length,
      `${name}: ${changed.length} tables, ${named.length} keys`,
    );
  }
});

/** The part of a generic plan that does not name the workspace by one parameter; null = none. */
async function problemOf(connection: Connection, statement: Statement): Promise<string | null> {
  const plan = await planOf(connection, statement);
  if (plan === null) return null;
  const parameters = new Set(
    nodesOf(plan).flatMap((node) => (node["Relation Name"] === undefined ? [] : keyParametersOf(node))),
  );
  if (parameters.size > 1) return `takes its workspace from ${[...parameters].toSorted().join(", ")}`;
  return problemOfNode(plan);
}

function problemOfNode(node: PlanNode): string | null {
  return ownProblem(node) ?? node.Plans?.map(problemOfNode).find((problem) => problem !== null) ?? null;
}

function ownProblem(node: PlanNode): string | null {
  const table = node["Relation Name"];
  if (table === undefined || node.Schema !== "public" || !tenantTables.has(table)) return null;
  if (node["Node Type"] === "ModifyTable") {
    if (node.Operation !== "Insert") return null;
    const shopKeys = firstOutputs(node);
    return shopKeys.some(isParameter) ? null : `inserts ${shopKeys[0]} into ${table}`;
  }
  return keyParametersOf(node).length > 0 ? null : `reads all of ${table}`;
}

/** The parameters ("$1") that a scan compares shop_key with. */
function keyParametersOf(node: PlanNode): string[] {
  const below =
    node["Node Type"] === "Bitmap Heap Scan" ? (node.Plans ?? []).map((plan) => plan["Index Cond"]) : [];
  const conditions = [node["Index Cond"], node["Recheck Cond"], node.Filter, ...below].join(" ");
  return [...conditions.matchAll(/\bshop_key = \(?(\$\d+)\b/gu)].map(([, parameter]) => parameter ?? "");
}

function isParameter(expression: string): boolean {
  return /^\(?\$\d+\)?(?:::bigint)?$/u.test(expression) || /(?:^|\.)shop_key$/u.test(expression);
}

/**
 * Why Citus does not run a statement's inserts entirely on the node of their shop (its insert_select_planner.c); null =
 * it does, or nothing inserts selected rows into a workspace's table.
 */
async function obstacleOf(connection: Connection, statement: Statement): Promise<string | null> {
  const plan = await planOf(connection, statement);
  const inserts = plan === null ? [] : nodesOf(plan).filter(insertsSelectedRows);
  if (inserts.length === 0) return null;
  const text = JSON.stringify(plan);
  if (text.includes("clock_timestamp()")) return "each row has a time of its own";
  if (text.includes("nextval(")) return "each row has a number of its own";
  if (/^\s*with\b/u.test(statement.text)) return "the query stands before the insert, not in its select";
  return inserts.every((node) => firstOutputs(node)[0]?.endsWith(".shop_key"))
    ? null
    : "the key is no column";
}

function insertsSelectedRows(node: PlanNode): boolean {
  if (node["Node Type"] !== "ModifyTable" || node.Operation !== "Insert") return false;
  const isOfValues =
    node.Plans?.some((plan) => plan["Node Type"] === "Result" && plan.Plans === undefined) === true;
  return tenantTables.has(node["Relation Name"] ?? "") && !isOfValues;
}

/** Constructs that Citus refused or computed wrongly in tests (CONTRIBUTING.md), as far as the text shows them. */
const REFUSED_TEXTS: Readonly<Record<string, RegExp>> = {
  "sets a column to a volatile time": /\bset\b.*clock_timestamp\(\)/su,
  "chooses between a time and something else as it updates":
    /\bset\b.*\b(?:coalesce|case|least|greatest)\b[^;]*\bnow\(\)/su,
  "names the columns of a union in front of it": /\b\w+ \([\w, ]+\) as \(\s*select\b[^()]*\bunion\b/u,
  "inserts the values of a subquery": /\binsert into\b[^;]*?\)\s*values\s*\([^;]*?\(\s*select\b/u,
  "chooses by what follows `case` as it updates": /\bupdate\b[^;]*\bset\b[^;]*\bcase\s+[\w.]+\s+when\b/su,
};

function refusalsOf(text: string): string[] {
  return Object.entries(REFUSED_TEXTS).flatMap(([problem, pattern]) => (pattern.test(text) ? [problem] : []));
}

test("no statement has a construct that Citus refuses", () => {
  const refused = [...STATEMENTS.values()].flatMap(({ name, text }) =>
    refusalsOf(text).map((problem) => `${name} ${problem}`),
  );
  assert.deepEqual(refused, []);
});

test("no part of a statement is named like a table, which on a node would mean a shard", () => {
  for (const { name, text } of STATEMENTS.values()) {
    const parts = [
      ...text.matchAll(
        /\b(\w+)(?: \([\w, ]+\))? as (?:(?:not )?materialized )?\((?=select|with|insert|update|delete)/gu,
      ),
    ];
    assert.deepEqual(
      [name, parts.map(([, part = ""]) => part).filter((part) => tenantTables.has(part))],
      [name, []],
    );
  }
});

test("the check finds an insert of a subquery's value, which Citus refuses", () => {
  const insert = "insert into console_link (link_hash, rights)";
  assert.equal(refusalsOf(`${insert} values ($1, (select name from console_user))`).length, 1);
  assert.equal(refusalsOf(`${insert} select $1, (select name from console_user)`).length, 0);
});

test(
  "a Citus plans every statement",
  { skip: !isCitus() && "needs a Citus: RETURNS_TEST_CITUS=1 (CONTRIBUTING.md)" },
  async () => {
    const refused: string[] = [];
    await forEachStatement(database, async ({ client }, { name, text }) => {
      await client.query("savepoint one");
      await planWithValues(client, text).catch((error: Error) => refused.push(`${name}: ${error.message}`));
      await client.query("rollback to savepoint one; deallocate all");
    });
    assert.deepEqual(refused, []);
  },
);

test("the check finds a union whose columns are named before it: Citus drops these names", () => {
  const union = "(select sku from sku where shop_key = $1 union select sku from variant where shop_key = $1)";
  assert.equal(refusalsOf(`with named (name) as ${union} select array(select name from named)`).length, 1);
  assert.equal(refusalsOf(`with named as ${union} select array(select sku from named)`).length, 0);
});

test(
  "no statement inserts distinct rows with a default time or number, which Citus adds before it removes duplicates",
  { skip },
  async () => {
    const wrong: string[] = [];
    await forEachStatement(database, async (connection, statement) => {
      if (await addsToDistinct(connection, statement)) wrong.push(statement.name);
    });
    assert.deepEqual(wrong, []);
  },
);

test("the check finds distinct rows with a default time", { skip }, async () => {
  await database.transaction(async (connection) => {
    const insert = "insert into pending_record (shop_key, source, kind, record_id)";
    const records =
      "select distinct r.shop_key, r.source, 'x', r.record_id from sync_record r where r.shop_key = $1";
    assert.equal(await addsToDistinct(connection, { name: "distinct", text: `${insert} ${records}` }), true);
    assert.equal(
      await addsToDistinct(connection, { name: "inside", text: `${insert} select * from (${records}) r` }),
      false,
    );
  });
});

async function addsToDistinct(connection: Connection, statement: Statement): Promise<boolean> {
  if (!/^\s*insert into \w+ \([^)]*\)\s*select distinct/su.test(statement.text)) return false;
  return /clock_timestamp\(\)|nextval\(/u.test(JSON.stringify(await planOf(connection, statement)));
}

test(
  "every statement is computed on the shop's node: otherwise Citus sends its result to every node",
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
  "the check finds a statement that joins a temporary table, and one with an insert in a CTE",
  { skip },
  async () => {
    await database.transaction(async (connection) => {
      await connection.client.query("create temp table seen (sku text) on commit drop");
      const problemIn = async (text: string): Promise<string | null> =>
        partApart((await planOf(connection, { name: "apart", text })) as PlanNode, tenantTables);
      const inShop = "select k.sku from sku k where k.shop_key = $1";
      const session = /a table of its session/u;
      assert.match((await problemIn(`${inShop} and k.sku in (select sku from seen)`)) ?? "", session);
      assert.match((await problemIn(`delete from seen where sku in (${inShop})`)) ?? "", session);
      assert.match((await problemIn(`insert into seen ${inShop}`)) ?? "", session);
      assert.match(
        (await problemIn("delete from sku k using seen s where k.shop_key = $1 and k.sku = s.sku")) ?? "",
        session,
      );
      const mark = "insert into dirty_cohort (shop_key, cohort_month) values ($1, $2) on conflict do nothing";
      assert.match((await problemIn(`with marked as (${mark}) ${inShop}`)) ?? "", /inserts on the way/u);
      assert.equal(await problemIn(mark), null);
      assert.equal(await problemIn(`${inShop} and k.sku = any($2)`), null);
      assert.equal(
        await problemIn(
          "with gone as (delete from sku where shop_key = $1 returning sku) select sku from gone",
        ),
        null,
      );
      assert.equal(
        await problemIn("with gone as (delete from seen returning sku) select sku from gone"),
        null,
      );
    });
  },
);

/** The settings of the planner, which must also be set on the nodes. */
const PLANNER_SETTING =
  /\bset\s+(?:local\s+)?(?:enable_\w+|plan_cache_mode|work_mem|hash_mem_multiplier|cursor_tuple_fraction|jit)\b/iu;

test("planner settings are set in one file, which makes Citus propagate them to the nodes", async () => {
  const sources = join(import.meta.dirname, "../src");
  const setting = globSync("**/*.ts", { cwd: sources, exclude: ["**/*.test.ts"] }).filter((file) =>
    PLANNER_SETTING.test(readFileSync(join(sources, file), "utf8")),
  );
  assert.deepEqual(setting, [join("store", "query.ts")]);
  const plans = [
    planForManyRows,
    (to: Connection) => planForRun(to, "large"),
    (to: Connection) => planForRun(to, "small"),
  ];
  for (const plan of plans) {
    await database.transaction(async (connection) => {
      await plan(connection);
      const { rows } = await connection.client.query("show citus.propagate_set_commands");
      assert.deepEqual(rows, [{ "citus.propagate_set_commands": "local" }]);
    });
  }
});
