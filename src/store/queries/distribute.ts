import type { Connection } from "../database.ts";
import { command, query, queryColumn, requireRow, requireValue } from "../query.ts";

export const hasCitus = requireValue<boolean>(
  "has_citus",
  "select to_regproc('create_distributed_table') is not null as has_citus",
);

/**
 * Lets one transaction distribute tables and then functions: by default Citus works on several shards at once, and
 * refuses to go on with anything that has to be the same on all nodes (citus.multi_shard_modify_mode).
 */
export async function workOnOneShardAtATime(connection: Connection): Promise<void> {
  await connection.client.query("set local citus.multi_shard_modify_mode to 'sequential'");
}

/** Tables that Citus knows, distributed and reference ones. */
export const listDistributed = queryColumn<string>(
  "list_distributed",
  "select logicalrelid::text as table_name from pg_dist_partition order by 1",
);

/**
 * Every table that holds rows of workspaces, by name; not the directory and the members, which are asked before the workspace
 * is known.
 */
export const listTenantTables = queryColumn<string>(
  "list_tenant_tables",
  `select c.relname as table_name
           from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'shop_key'
          where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.relname <> all ('{shop_directory,workspace_member}')
          order by 1`,
);

export type ForeignKeyRow = {
  table_name: string;
  constraint_name: string;
  referenced_table: string;
  definition: string;
};

export const listForeignKeys = query<ForeignKeyRow>(
  "list_foreign_keys",
  `select k.conrelid::regclass::text as table_name, quote_ident(k.conname) as constraint_name,
                k.confrelid::regclass::text as referenced_table, pg_get_constraintdef(k.oid) as definition
           from pg_constraint k
          where k.contype = 'f' and k.connamespace = 'public'::regnamespace
          order by 1, 2`,
);

/** Names come from the catalogue, quoted there. */
export async function dropForeignKey(connection: Connection, key: ForeignKeyRow): Promise<void> {
  await connection.client.query(`alter table ${key.table_name} drop constraint ${key.constraint_name}`);
}

export async function addForeignKey(connection: Connection, key: ForeignKeyRow): Promise<void> {
  await connection.client.query(
    `alter table ${key.table_name} add constraint ${key.constraint_name} ${key.definition}`,
  );
}

export const makeReferenceTable = command<[table: string], Connection>(
  "make_reference_table",
  "select create_reference_table($1::text::regclass) is null as done",
);

/** `colocateWith`: a table distributed already, or "none" to begin a group. */
export const distributeTable = command<[table: string, colocateWith: string], Connection>(
  "distribute_table",
  "select create_distributed_table($1::text::regclass, 'shop_key', colocate_with := $2::text) is null as done",
);

/** Removes what is left on this node of the rows that a distributed table had before, which nothing reads any more. */
export const removeLocalRows = command<[table: string], Connection>(
  "remove_local_rows",
  "select truncate_local_data_after_distributing_table($1::text::regclass) is null as done",
);

/** Every function of that name, by its argument p_shop_key; returns their signatures. */
export const distributeFunction = queryColumn<string, [name: string, colocateWith: string], Connection>(
  "distribute_function",
  `select p.oid::regprocedure::text as signature,
                create_distributed_function(p.oid::regprocedure, 'p_shop_key', colocate_with := $2::text) is null as done
           from pg_proc p
          where p.proname = $1 and p.pronamespace = 'public'::regnamespace`,
);

/** The number of the node that has a shop's rows; any bigint has one. Read from the coordinator's catalogue. */
export const findShopNode = requireValue<number, [shopKey: number]>(
  "find_shop_node",
  `select groupid as node from pg_dist_placement
          where shardid = get_shard_id_for_distribution_column('workspace', $1::bigint)`,
);

/** Where the coordinator's catalogue says that a node is. */
export const findNodePlace = requireRow<{ host: string; port: number }, [node: number]>(
  "find_node_place",
  `select nodename as host, nodeport as port from pg_dist_node
          where groupid = $1 and noderole = 'primary' and isactive and hasmetadata and metadatasynced`,
);

/** Whether a connection leads to that node. */
export const isOnNode = requireValue<boolean, [node: number]>(
  "is_on_node",
  "select groupid = $1 as is_on_node from pg_dist_local_group",
);
