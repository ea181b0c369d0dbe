import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openDatabase, STATEMENTS } from "../src/store/database.ts";
import type { Connection, Database, Statement } from "../src/store/database.ts";
import { createStage } from "../src/store/queries/import-stage.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";

/**
 * What a database spread over many machines needs (docs/scaling.md): whatever concerns one workspace names its
 * shop_key, so that it runs on one machine alone. Every statement of the registry is planned, and the plan must look
 * for shop_key wherever it touches a table of workspaces.
 */

const QUERIES = join(import.meta.dirname, "../src/store/queries");

/** Statements over all workspaces, and who runs them. */
const OVER_ALL_SHOPS: Readonly<Record<string, string>> = {
  find_workspace: "operator: from a domain to its key, through the directory",
  list_workspaces: "operator",
  workspace_health: "operator: doctor",
  list_runs: "operator: the history",
  list_shops_to_rebuild: "operator: the end of a migration",
  connection_health: "operator: doctor",
  list_connections: "worker: the schedule",
  list_open_runs: "worker: what a killed one left",
  delete_old_runs: "worker: upkeep",
  delete_old_deliveries: "worker: upkeep",
  list_account_workspaces: "platform: from the shop that a webhook names to its workspace",
  list_due_sources: "worker: the schedule",
};

/** They ask a Citus about itself. */
const OF_CITUS = /^(?:list_distributed|make_reference_table|distribute_table|distribute_function)$/u;

let testDatabase: TestDatabase;
let database: Database;
let tenantTables: ReadonlySet<string>;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({
    url: testDatabase.url,
    maxConnections: 2,
    readOnly: false,
    statementTimeoutMs: 0,
    applicationName: "statements test",
    onConnectionError: () => {},
  });
  for (const file of readdirSync(QUERIES)) {
    if (!file.endsWith(".test.ts")) await import(join(QUERIES, file));
  }
  const rows = await ask<{ table: string }>(
    `select c.relname as table from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'shop_key'
      where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.relname <> 'shop_directory'`,
  );
  tenantTables = new Set(rows.map((row) => row.table));
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});

let asked = 0;
const ask = <Row>(text: string): Promise<Row[]> =>
  database.rows<Row>({ name: `statements_test_${(asked += 1)}`, text }, []);

test("shop_key leads every primary key and stands in every unique index of a workspace's table", async () => {
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

test("foreign keys between workspaces' tables go by shop_key", async () => {
  const keys = await ask<{ name: string; columns: string[] }>(
    `select k.conname as name, array(select a.attname::text from pg_attribute a
              where a.attrelid = k.conrelid and a.attnum = any(k.conkey)) as columns
       from pg_constraint k where k.contype = 'f' and k.connamespace = 'public'::regnamespace`,
  );
  assert.deepEqual(
    keys.filter((key) => !key.columns.includes("shop_key")).map((key) => key.name),
    [],
  );
});

test("every statement names the one workspace it is for, but those of the operator over all of them", async () => {
  assert.ok(STATEMENTS.size > 80, `only ${STATEMENTS.size} statements are registered`);
  const offenders: string[] = [];
  await database.transaction(async (connection) => {
    await createStage(connection);
    for (const statement of STATEMENTS.values()) {
      if (OF_CITUS.test(statement.name)) continue;
      const problem = await problemOf(connection, statement);
      if (problem !== null) offenders.push(`${statement.name}: ${problem}`);
    }
  });
  const unexpected = offenders.filter((line) => OVER_ALL_SHOPS[line.split(":")[0] ?? ""] === undefined);
  assert.deepEqual(unexpected, []);
  const names = new Set(offenders.map((line) => line.split(":")[0]));
  assert.deepEqual(
    Object.keys(OVER_ALL_SHOPS).filter((name) => !names.has(name)),
    [],
    "listed, but not so",
  );
});

test("the check finds a statement that forgets its workspace", async () => {
  const check = (text: string): Promise<string | null> =>
    database.transaction((connection) => problemOf(connection, { name: "forgetful", text }));
  assert.match((await check("select sku from sku where sku = $1")) ?? "", /sku/u);
  assert.match((await check("select s.sku from sku s, product p where s.shop_key = $1")) ?? "", /product/u);
  assert.match((await check("delete from alert where alert_id = $1")) ?? "", /alert/u);
  assert.match(
    (await check("insert into dirty_cohort (shop_key, cohort_month) values (7, $1)")) ?? "",
    /insert/u,
  );
  assert.equal(
    await check("select s.sku from sku s join product p using (shop_key) where s.shop_key = $1"),
    null,
  );
});

test("functions of the request path name the workspace at every table they touch", async () => {
  const functions = await ask<{ name: string; body: string; first_argument: string }>(
    `select p.proname as name, p.prosrc as body, p.proargnames[1] as first_argument
       from pg_proc p where p.pronamespace = 'public'::regnamespace and p.proname like 'admit%'`,
  );
  assert.ok(functions.length > 0);
  for (const { name, body, first_argument: firstArgument } of functions) {
    assert.equal(firstArgument, "p_shop_key", name);
    const touched = [...body.matchAll(/\b(?:from|join|update|into)\s+([a-z_]+)\b/gu)].filter(([, table]) =>
      tenantTables.has(table ?? ""),
    );
    const named = body.match(/shop_key = p_shop_key|values \(p_shop_key/gu) ?? [];
    assert.ok(
      touched.length > 0 && named.length >= touched.length,
      `${name}: ${touched.length} tables, ${named.length} keys`,
    );
  }
});

type PlanNode = {
  "Node Type": string;
  Operation?: string;
  "Parent Relationship"?: string;
  "Relation Name"?: string;
  Schema?: string;
  "Index Cond"?: string;
  "Recheck Cond"?: string;
  Filter?: string;
  Output?: string[];
  Plans?: PlanNode[];
};

/** What in its generic plan does not name the workspace by a parameter; null = nothing. */
async function problemOf(connection: Connection, statement: Statement): Promise<string | null> {
  const text = statement.text.replace(/^\s*declare \w+ no scroll cursor for/u, "");
  if (/^\s*(?:analyze|fetch|close|select set_config)\b/u.test(text)) return null;
  const { rows } = await connection.client.query<{ "QUERY PLAN": { Plan: PlanNode }[] }>(
    `explain (generic_plan, verbose, format json) ${text}`,
  );
  return problemOfNode(rows[0]?.["QUERY PLAN"][0]?.Plan as PlanNode);
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
  const below =
    node["Node Type"] === "Bitmap Heap Scan" ? (node.Plans ?? []).map((plan) => plan["Index Cond"]) : [];
  const conditions = [node["Index Cond"], node["Recheck Cond"], node.Filter, ...below].join(" ");
  return /\bshop_key = \(?\$\d+\b/u.test(conditions) ? null : `reads all of ${table}`;
}

/** What becomes the first column of the rows to insert: as the plan's top says it, and as each node below does. */
function firstOutputs(node: PlanNode): string[] {
  const rows = node.Plans?.find((plan) =>
    ["Outer", "Subquery", "Member"].includes(plan["Parent Relationship"] ?? ""),
  );
  return rows === undefined ? [] : [rows.Output?.[0] ?? "", ...firstOutputs(rows)];
}

function isParameter(expression: string): boolean {
  return /^\(?\$\d+\)?(?:::bigint)?$/u.test(expression) || /(?:^|\.)shop_key$/u.test(expression);
}
