import { globSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { STATEMENTS, type Connection, type Database, type Statement } from "../../src/store/database.ts";
import { listTenantTables } from "../../src/store/queries/distribute.ts";
import { createStage } from "../../src/store/queries/import-stage.ts";
import { planForRun } from "../../src/store/query.ts";
import { isCitus } from "./citus.ts";
import { createTestDatabase, openConnections } from "./database.ts";

const GENERIC_PLAN_SINCE = 160_000;
const SOURCES = join(import.meta.dirname, "../../src");

/** Statements about Citus itself. */
const OF_CITUS =
  /^(?:list_placed|make_\w+|distribute_\w+|remove_local_rows|find_workspace_node|list_shard_tables|find_node_place|is_on_node|is_coordinator|is_distributed)$/u;

export type StatementDatabase = {
  database: Database;
  url: string;
  /** The tables that hold rows of workspaces. */
  tenantTables: ReadonlySet<string>;
  stop(this: void): Promise<void>;
};

/** A separate database to plan statements in; STATEMENTS then holds those of every file that defines any. */
export async function openStatementDatabase(): Promise<StatementDatabase> {
  const testDatabase = await createTestDatabase();
  const database = openConnections(testDatabase.url, { maxConnections: 2 });
  const places = ["store/queries/*.ts", "actions/*/queries.ts"].map((place) => join(SOURCES, place));
  for (const file of globSync(places, { exclude: ["**/*.test.ts"] })) await import(file);
  return {
    database,
    url: testDatabase.url,
    tenantTables: new Set(await listTenantTables(database)),
    stop: async () => {
      await database.close();
      await testDatabase.drop();
    },
  };
}

/** Why statements cannot be planned without their values here, for `skip`; false = they can. */
export async function lacksPlans(): Promise<string | false> {
  if (isCitus()) return "a Citus plans what its nodes do, not what is asked";
  const client = new pg.Client({ connectionString: process.env["RETURNS_TEST_DATABASE_URL"] });
  await client.connect();
  try {
    const { rows } = await client.query<{ version: number }>(
      "select current_setting('server_version_num')::integer as version",
    );
    return (rows[0]?.version ?? 0) < GENERIC_PLAN_SINCE && "explain (generic_plan) needs PostgreSQL 16";
  } finally {
    await client.end();
  }
}

/** Visits every statement except those that only Citus can plan, in one transaction with the tables of a run. */
export async function forEachStatement(
  database: Database,
  look: (connection: Connection, statement: Statement) => Promise<void>,
): Promise<void> {
  await database.transaction(async (connection) => {
    await planForRun(connection, "large");
    await createStage(connection);
    for (const statement of STATEMENTS.values()) {
      if (!OF_CITUS.test(statement.name)) await look(connection, statement);
    }
  });
}

/** A node of a plan, as EXPLAIN's verbose JSON has it. */
export type PlanNode = {
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

/** The generic plan of a statement; null for one that has none. */
export async function planOf(connection: Connection, statement: Statement): Promise<PlanNode | null> {
  const text = statement.text.replace(/^\s*declare \w+ no scroll cursor for/u, "");
  if (/^\s*(?:analyze|fetch|close|select set_config)\b/u.test(text)) return null;
  const { rows } = await connection.client.query<{ "QUERY PLAN": { Plan: PlanNode }[] }>(
    `explain (generic_plan, verbose, format json) ${text}`,
  );
  return rows[0]?.["QUERY PLAN"][0]?.Plan ?? null;
}

/** A value to plan with for each type of parameter. */
const VALUES: Readonly<Record<string, string>> = {
  bigint: "1",
  integer: "1",
  smallint: "1",
  numeric: "1",
  "double precision": "1",
  boolean: "true",
  bytea: "'\\x00'",
  date: "'2026-01-01'",
  "timestamp with time zone": "'2026-01-01'",
  "timestamp without time zone": "'2026-01-01'",
  uuid: "'00000000-0000-4000-8000-000000000001'",
  jsonb: "'[]'",
  json: "'[]'",
};
const valueOfType = (type: string): string => VALUES[type] ?? (type.endsWith("[]") ? "'{}'" : "'x'");

/** Plans a statement with values, as Citus does before it runs one; throws the refusal. */
export async function planWithValues(client: Connection["client"], text: string): Promise<void> {
  const select = text.replace(/^\s*declare \w+ no scroll cursor for/u, "");
  if (!/^\s*(?:select|insert|update|delete|with)\b/u.test(select)) return;
  await client.query(`prepare planned as ${select}`);
  const { rows } = await client.query<{ types: string[] }>(
    "select parameter_types::text[] as types from pg_prepared_statements where name = 'planned'",
  );
  const types = rows[0]?.types ?? [];
  const valueOf = (_: string, number: string): string => {
    const type = types[Number(number) - 1] ?? "text";
    return `(${valueOfType(type)}::${type})`;
  };
  await client.query(`explain ${select.replaceAll(/\$(\d+)/gu, valueOf)}`);
}

/** A node and all below it. */
export const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** The first column of the rows to insert, at the top of the plan and at each node below. */
export function firstOutputs(node: PlanNode): string[] {
  const rows = node.Plans?.find((plan) =>
    ["Outer", "Subquery", "Member"].includes(plan["Parent Relationship"] ?? ""),
  );
  return rows === undefined ? [] : [rows.Output?.[0] ?? "", ...firstOutputs(rows)];
}

/**
 * The part of a plan that Citus does not compute on the shop's node: a join of a temporary table with one of `tables`, or an
 * insert into one of them that is not the statement itself; null = none.
 */
export function partApart(plan: PlanNode, tables: ReadonlySet<string>): string | null {
  const nodes = nodesOf(plan);
  const readsWorkspace = nodes.some(
    (node) => node.Schema === "public" && tables.has(node["Relation Name"] ?? ""),
  );
  if (!readsWorkspace) return null;
  if (nodes.some((node) => node.Schema?.startsWith("pg_temp") === true))
    return "reads a table of its session";
  const inserts = nodes.filter(
    (node) => node["Node Type"] === "ModifyTable" && node.Operation === "Insert" && node !== plan,
  );
  return inserts.length > 0 ? "inserts on the way" : null;
}
