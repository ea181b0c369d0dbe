import type { Connection, Database } from "./database.ts";
import {
  addForeignKey,
  distributeFunction,
  distributeTable,
  dropForeignKey,
  hasCitus,
  listDistributed,
  listForeignKeys,
  listTenantTables,
  makeReferenceTable,
  removeLocalRows,
  workOnOneShardAtATime,
} from "./queries/distribute.ts";

/** Tables that one call distributed (none when all were already), and the functions that run on their nodes. */
export type Distribution = { distributed_tables: string[]; reference_tables: string[]; functions: string[] };

const FIRST_TABLE = "workspace";
/** What each node has whole: rows that belong to no single workspace, or that tell which ones a person may see. */
const REFERENCE_TABLES = [
  "plan",
  "console_user",
  "workspace_member",
  "console_link",
  "console_session",
  "console_passkey",
  "console_challenge",
];
/** Their first argument is the shop_key: Citus runs a call whole on the node of that shop. */
const FUNCTIONS = ["admit_callers"];

/** The database lacks the extension. */
export class CitusMissing extends Error {
  override name = "CitusMissing";
}

/**
 * Turns every table with a shop_key into one distributed by it, all co-located, and the plans and people into reference tables,
 * in one transaction; safe to run again, also after a migration brought new tables. `schedule`, shop_directory and
 * the table of migrations stay local. Throws `CitusMissing` when the database has no Citus.
 */
export async function distributeInstallation(database: Database): Promise<Distribution> {
  return database.transaction(async (connection) => {
    if (!(await hasCitus(connection))) {
      throw new CitusMissing(
        'The database has no Citus: run "create extension citus" there as its administrator, and add its nodes.',
      );
    }
    await workOnOneShardAtATime(connection);
    const distributed = new Set(await listDistributed(connection));
    const referenceTables = REFERENCE_TABLES.filter((table) => !distributed.has(table));
    const tenantTables = (await listTenantTables(connection)).filter((table) => !distributed.has(table));
    await distributeTables(connection, referenceTables, tenantTables);
    const functions = await distributeFunctions(connection);
    return { distributed_tables: tenantTables, reference_tables: referenceTables, functions };
  });
}

/** A table cannot be distributed while a local one refers to it: foreign keys wait until both are. */
async function distributeTables(
  connection: Connection,
  referenceTables: readonly string[],
  tables: readonly string[],
): Promise<void> {
  const moved = new Set([...referenceTables, ...tables]);
  const foreignKeys = (await listForeignKeys(connection)).filter(
    (key) => moved.has(key.table_name) || moved.has(key.referenced_table),
  );
  for (const key of foreignKeys) await dropForeignKey(connection, key);
  for (const table of referenceTables) await makeReferenceTable(connection, table);
  const firstTables = tables.filter((table) => table === FIRST_TABLE);
  const otherTables = tables.filter((table) => table !== FIRST_TABLE);
  for (const table of firstTables) await distributeTable(connection, table, "none");
  for (const table of otherTables) await distributeTable(connection, table, FIRST_TABLE);
  for (const table of tables) await removeLocalRows(connection, table);
  for (const key of foreignKeys) await addForeignKey(connection, key);
}

/** Also those distributed before: a migration may have replaced one. */
async function distributeFunctions(connection: Connection): Promise<string[]> {
  const functions: string[] = [];
  for (const name of FUNCTIONS) functions.push(...(await distributeFunction(connection, name, FIRST_TABLE)));
  return functions;
}
