import type { Connection } from "../database.ts";
import { command, query, queryColumn, queryRow, requireRow, requireValue } from "../query.ts";

/**
 * Whole on each node: read as requests are served, also where the coordinator is lost. Every node has to be up for a write,
 * so only operators and migrations write them.
 */
export const REFERENCE_TABLES: readonly string[] = ["plan", "schema_migration"];

/**
 * Only on the coordinator, reached through any node: they belong to no single workspace, or are read before the workspace is
 * known, and are written while serving, which a lost node must not stop. Tables that refer to each other are both here.
 */
export const COORDINATOR_TABLES: readonly string[] = [
  "console_challenge",
  "console_link",
  "console_passkey",
  "console_session",
  "console_user",
  "coordinator",
  "identity_event",
  "installation",
  "installation_secret",
  "provider_account",
  "removed_member",
  "run_queue",
  "schedule",
  "shop_account",
  "shop_directory",
  "weekly_digest",
  "workspace_member",
];

export const hasCitus = requireValue<boolean>(
  "has_citus",
  "select to_regproc('create_distributed_table') is not null as has_citus",
);

/** Whether the tables of workspaces are spread over nodes; only a database that has Citus has this catalogue. */
export const hasDistributedTables = requireValue<boolean>(
  "is_distributed",
  "select exists (select from pg_dist_partition where logicalrelid = to_regclass('workspace')) as is_distributed",
);

/**
 * Lets one transaction distribute tables and then functions: by default Citus works on several shards at once, and then refuses
 * any operation that must be the same on all nodes (citus.multi_shard_modify_mode).
 */
export async function workOnOneShardAtATime(connection: Connection): Promise<void> {
  await connection.client.query("set local citus.multi_shard_modify_mode to 'sequential'");
}

/** A table that Citus knows. */
export type PlacedTableRow = { table_name: string; kind: "tenant" | "reference" | "coordinator" };

/** Every table that Citus knows, by name. */
export const listPlaced = query<PlacedTableRow>(
  "list_placed",
  `select logicalrelid::text as table_name,
                case when partmethod = 'h' then 'tenant' when repmodel = 't' then 'reference' else 'coordinator' end as kind
           from pg_dist_partition order by 1`,
);

/** Every ordinary table, by name. */
export const listTables = queryColumn<string>(
  "list_tables",
  `select c.relname as table_name from pg_class c
          where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace order by 1`,
);

/** Every table that holds rows of single workspaces, by name. */
export const listTenantTables = queryColumn<string>(
  "list_tenant_tables",
  `select c.relname as table_name
           from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'shop_key'
          where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
            and c.relname <> all ('{${COORDINATOR_TABLES.join(",")}}')
          order by 1`,
);

type ForeignKeyRow = {
  table_name: string;
  constraint_name: string;
  referenced_table: string;
  definition: string;
};

/** Of every table; Citus hides its shards only in pg_class. */
export const listForeignKeys = query<ForeignKeyRow>(
  "list_foreign_keys",
  `select k.conrelid::regclass::text as table_name, quote_ident(k.conname) as constraint_name,
                k.confrelid::regclass::text as referenced_table, pg_get_constraintdef(k.oid) as definition
           from pg_constraint k join pg_class c on c.oid = k.conrelid
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

/** Converts a table managed by Citus into a plain one, with its rows. */
export const makePlain = command<[table: string], Connection>(
  "make_plain",
  "select undistribute_table($1::text::regclass) is null as done",
);

/**
 * Copies reference tables to the nodes that have joined since: Citus does that before it places a table, and refuses to in a
 * transaction that has changed one.
 */
export const distributeReferenceTables = command<[], Connection>(
  "distribute_reference_tables",
  "select replicate_reference_tables() is null as done",
);

export const makeReferenceTable = command<[table: string], Connection>(
  "make_reference_table",
  "select create_reference_table($1::text::regclass) is null as done",
);

export const makeCoordinatorTable = command<[table: string], Connection>(
  "make_coordinator_table",
  "select citus_add_local_table_to_metadata($1::text::regclass) is null as done",
);

/** `colocateWith`: a table distributed already, or "none" to begin a group. */
export const distributeTable = command<[table: string, colocateWith: string], Connection>(
  "distribute_table",
  "select create_distributed_table($1::text::regclass, 'shop_key', colocate_with := $2::text) is null as done",
);

/** Removes this node's leftover rows of a table from before its distribution, which are no longer read. */
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

/** The number of a node, and of the shard of `daily_usage` there. */
export type WorkspaceNodeRow = { node: number; shard: number };

/**
 * Where a workspace's rows are; any bigint has a place. Every node has this catalogue. All tables are co-located; this is one
 * that admission may query.
 */
export const findWorkspaceNode = requireRow<WorkspaceNodeRow, [shopKey: number]>(
  "find_workspace_node",
  `select groupid as node, shardid as shard from pg_dist_placement
          where shardid = get_shard_id_for_distribution_column('daily_usage', $1::bigint)`,
);

/** A table as one shard has it: under `shard_table`, which a reference table has once for all workspaces. */
export type ShardTableRow = { table_name: string; shard_table: string; is_reference: boolean };

/** The tables that are co-located with a shard of `daily_usage`, and the reference tables. Every node has this catalogue. */
export const listShardTables = query<ShardTableRow, [shard: number]>(
  "list_shard_tables",
  `select c.relname as table_name, shard_name(s.logicalrelid, s.shardid) as shard_table, p.repmodel = 't' as is_reference
           from pg_dist_shard s
           join pg_dist_partition p on p.logicalrelid = s.logicalrelid
           join pg_class c on c.oid = s.logicalrelid
          where p.repmodel = 't' or s.shardminvalue = (select o.shardminvalue from pg_dist_shard o where o.shardid = $1)`,
);

/** Where the coordinator's catalogue says that a node is; null = it names none. */
export const findNodePlace = queryRow<{ host: string; port: number }, [node: number]>(
  "find_node_place",
  `select nodename as host, nodeport as port from pg_dist_node
          where groupid = $1 and noderole = 'primary' and isactive and hasmetadata and metadatasynced`,
);

/** Whether a connection leads to that node. */
export const isOnNode = requireValue<boolean, [node: number]>(
  "is_on_node",
  "select groupid = $1 as is_on_node from pg_dist_local_group",
);

/** Whether this connection is to the coordinator, of which there is one. Only for a database with Citus. */
export const isCoordinator = requireValue<boolean>(
  "is_coordinator",
  "select groupid = 0 as is_coordinator from pg_dist_local_group",
);
