import type { Connection, Database, Queryable } from "./database.ts";
import {
  addForeignKey,
  COORDINATOR_TABLES,
  distributeFunction,
  distributeTable,
  dropForeignKey,
  hasCitus,
  hasDistributedTables,
  listForeignKeys,
  listPlaced,
  listTables,
  listTenantTables,
  makeCoordinatorTable,
  makePlain,
  makeReferenceTable,
  REFERENCE_TABLES,
  removeLocalRows,
  workOnOneShardAtATime,
} from "./queries/distribute.ts";
import type { PlacedTableRow } from "./queries/distribute.ts";
import { applyRoles } from "./roles.ts";
import { applyWorkspaceViews, grantWorkspaceViews } from "./workspace-views.ts";

/** Tables that one call placed (none when all were already), and the functions that run on their nodes. */
type Distribution = PlacedTables & { functions: string[] };

/** Tables distributed by one call, by their new type (decision 0038). */
type PlacedTables = {
  distributed_tables: string[];
  reference_tables: string[];
  coordinator_tables: string[];
};

const FIRST_TABLE = "workspace";
/** Their first argument is the shop_key: Citus runs a call whole on the node of that workspace. */
const FUNCTIONS = ["admit_callers"];

/** The database lacks the extension. */
export class CitusMissing extends Error {
  override name = "CitusMissing";
}

/**
 * Turns every table with a shop_key into one distributed by it, all co-located, and the others into reference tables or
 * tables of the coordinator that every node reaches, in one transaction; safe to run again. Throws `CitusMissing`
 * when the database has no Citus.
 */
export async function distributeInstallation(database: Database): Promise<Distribution> {
  return database.transaction(async (connection) => {
    if (!(await hasCitus(connection))) {
      throw new CitusMissing(
        'The database has no Citus: run "create extension citus" there as its administrator, and add its nodes.',
      );
    }
    await workOnOneShardAtATime(connection);
    const distribution = await distributeAll(connection);
    // A distributed table has new sequences, to which rights must be granted.
    await applyRoles(connection);
    // Citus drops the views of tables that it creates again.
    await applyWorkspaceViews(connection);
    await grantWorkspaceViews(connection);
    return distribution;
  });
}

/** The same for a transaction that works on one shard at a time: new tables of a migration in a distributed database. */
export async function distributeAll(connection: Connection): Promise<Distribution> {
  const placed = await placeTables(connection);
  return { ...placed, functions: await distributeFunctions(connection) };
}

/** Whether the tables are distributed over nodes: Citus alone does not do that. */
export async function isDistributed(database: Queryable): Promise<boolean> {
  return (await hasCitus(database)) && (await hasDistributedTables(database));
}

/** Places every table that is not where it belongs yet; foreign keys among them wait until all are. */
async function placeTables(connection: Connection): Promise<PlacedTables> {
  const placed = await listPlaced(connection);
  const wanted = await listWanted(connection);
  const isThere = ({ table_name: name, kind }: PlacedTableRow): boolean =>
    placed.some((table) => table.table_name === name && table.kind === kind);
  const moved = wanted.filter((table) => !isThere(table));
  const named = (kind: PlacedTableRow["kind"]): string[] =>
    moved.filter((table) => table.kind === kind).map((table) => table.table_name);
  const names = new Set(moved.map((table) => table.table_name));
  const foreignKeys = (await listForeignKeys(connection)).filter(
    (key) => names.has(key.table_name) || names.has(key.referenced_table),
  );
  for (const key of foreignKeys) await dropForeignKey(connection, key);
  for (const { table_name: name } of placed) if (names.has(name)) await makePlain(connection, name);
  for (const table of named("coordinator")) await makeCoordinatorTable(connection, table);
  for (const table of named("reference")) await makeReferenceTable(connection, table);
  await distributeTables(connection, named("tenant"));
  for (const key of foreignKeys) await addForeignKey(connection, key);
  return {
    distributed_tables: named("tenant"),
    reference_tables: named("reference"),
    coordinator_tables: named("coordinator"),
  };
}

/** Where every table belongs. Lists may name tables that a later migration brings. */
async function listWanted(connection: Connection): Promise<PlacedTableRow[]> {
  const tables = await listTables(connection);
  const those = (names: readonly string[], kind: PlacedTableRow["kind"]): PlacedTableRow[] =>
    names.filter((name) => tables.includes(name)).map((name) => ({ table_name: name, kind }));
  return [
    ...those(COORDINATOR_TABLES, "coordinator"),
    ...those(REFERENCE_TABLES, "reference"),
    ...those(await listTenantTables(connection), "tenant"),
  ];
}

/** The first one begins a group, which the others join. */
async function distributeTables(connection: Connection, tables: readonly string[]): Promise<void> {
  const isFirst = tables.includes(FIRST_TABLE);
  if (isFirst) await distributeTable(connection, FIRST_TABLE, "none");
  for (const table of tables) {
    if (table !== FIRST_TABLE) await distributeTable(connection, table, FIRST_TABLE);
  }
  for (const table of tables) await removeLocalRows(connection, table);
}

/** Also those distributed before: a migration may have replaced one. */
async function distributeFunctions(connection: Connection): Promise<string[]> {
  const functions: string[] = [];
  for (const name of FUNCTIONS) functions.push(...(await distributeFunction(connection, name, FIRST_TABLE)));
  return functions;
}
