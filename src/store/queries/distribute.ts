import { defineStatement } from "../database.ts";
import type { Connection, Queryable } from "../database.ts";

const HAS_CITUS = defineStatement({
  name: "has_citus",
  text: "select to_regproc('create_distributed_table') is not null as has_citus",
});

export async function hasCitus(database: Queryable): Promise<boolean> {
  const [row] = await database.rows<{ has_citus: boolean }>(HAS_CITUS, []);
  return row?.has_citus === true;
}

/**
 * Lets one transaction distribute tables and then functions: by default Citus works on several shards at once, and
 * refuses to go on with anything that has to be the same on all nodes (citus.multi_shard_modify_mode).
 */
export async function workOnOneShardAtATime(connection: Connection): Promise<void> {
  await connection.client.query("set local citus.multi_shard_modify_mode to 'sequential'");
}

const LIST_DISTRIBUTED = defineStatement({
  name: "list_distributed",
  text: "select logicalrelid::text as table_name from pg_dist_partition order by 1",
});

/** Tables that Citus knows, distributed and reference ones. */
export async function listDistributed(database: Queryable): Promise<string[]> {
  return (await database.rows<{ table_name: string }>(LIST_DISTRIBUTED, [])).map((row) => row.table_name);
}

const LIST_TENANT_TABLES = defineStatement({
  name: "list_tenant_tables",
  text: `select c.relname as table_name
           from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'shop_key'
          where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.relname <> 'shop_directory'
          order by 1`,
});

/** Every table that holds rows of workspaces, by name; not the directory, which has to know all of them. */
export async function listTenantTables(database: Queryable): Promise<string[]> {
  return (await database.rows<{ table_name: string }>(LIST_TENANT_TABLES, [])).map((row) => row.table_name);
}

export type ForeignKeyRow = {
  table_name: string;
  constraint_name: string;
  referenced_table: string;
  definition: string;
};

const LIST_FOREIGN_KEYS = defineStatement({
  name: "list_foreign_keys",
  text: `select k.conrelid::regclass::text as table_name, quote_ident(k.conname) as constraint_name,
                k.confrelid::regclass::text as referenced_table, pg_get_constraintdef(k.oid) as definition
           from pg_constraint k
          where k.contype = 'f' and k.connamespace = 'public'::regnamespace
          order by 1, 2`,
});

export async function listForeignKeys(database: Queryable): Promise<ForeignKeyRow[]> {
  return database.rows(LIST_FOREIGN_KEYS, []);
}

/** Names come from the catalogue, quoted there. */
export async function dropForeignKey(connection: Connection, key: ForeignKeyRow): Promise<void> {
  await connection.client.query(`alter table ${key.table_name} drop constraint ${key.constraint_name}`);
}

export async function addForeignKey(connection: Connection, key: ForeignKeyRow): Promise<void> {
  await connection.client.query(
    `alter table ${key.table_name} add constraint ${key.constraint_name} ${key.definition}`,
  );
}

const MAKE_REFERENCE_TABLE = defineStatement({
  name: "make_reference_table",
  text: "select create_reference_table($1::text::regclass) is null as done",
});

export async function makeReferenceTable(connection: Connection, table: string): Promise<void> {
  await connection.rows(MAKE_REFERENCE_TABLE, [table]);
}

const DISTRIBUTE_TABLE = defineStatement({
  name: "distribute_table",
  text: "select create_distributed_table($1::text::regclass, 'shop_key', colocate_with := $2::text) is null as done",
});

/** `colocateWith`: a table distributed already, or "none" to begin a group. */
export async function distributeTable(
  connection: Connection,
  table: string,
  colocateWith: string,
): Promise<void> {
  await connection.rows(DISTRIBUTE_TABLE, [table, colocateWith]);
}

const REMOVE_LOCAL_ROWS = defineStatement({
  name: "remove_local_rows",
  text: "select truncate_local_data_after_distributing_table($1::text::regclass) is null as done",
});

/** Removes what is left on this node of the rows that a distributed table had before, which nothing reads any more. */
export async function removeLocalRows(connection: Connection, table: string): Promise<void> {
  await connection.rows(REMOVE_LOCAL_ROWS, [table]);
}

const DISTRIBUTE_FUNCTION = defineStatement({
  name: "distribute_function",
  text: `select p.oid::regprocedure::text as signature,
                create_distributed_function(p.oid::regprocedure, 'p_shop_key', colocate_with := $2::text) is null as done
           from pg_proc p
          where p.proname = $1 and p.pronamespace = 'public'::regnamespace`,
});

/** Every function of that name, by its argument p_shop_key; returns their signatures. */
export async function distributeFunction(
  connection: Connection,
  name: string,
  colocateWith: string,
): Promise<string[]> {
  const rows = await connection.rows<{ signature: string }>(DISTRIBUTE_FUNCTION, [name, colocateWith]);
  return rows.map((row) => row.signature);
}

const FIND_SHOP_NODE = defineStatement({
  name: "find_shop_node",
  text: `select groupid as node from pg_dist_placement
          where shardid = get_shard_id_for_distribution_column('workspace', $1::bigint)`,
});

/** The number of the node that has a shop's rows; any bigint has one. Read from the coordinator's catalogue. */
export async function findShopNode(database: Queryable, shopKey: number): Promise<number> {
  const [row] = await database.rows<{ node: number }>(FIND_SHOP_NODE, [shopKey]);
  if (row === undefined) throw new Error("the table workspace is not distributed");
  return row.node;
}
