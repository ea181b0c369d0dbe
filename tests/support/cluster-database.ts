import { randomBytes } from "node:crypto";
import pg from "pg";
import { addNode, joinNodes, listServers } from "./citus.ts";
import type { TestDatabase } from "./database.ts";
import { execute, urlOfDatabase } from "./server.ts";

/** A database over the servers of a cluster, its coordinator's address first; `joinLast` adds the node that was left out. */
export type ClusterDatabase = TestDatabase & { urls: string[]; joinLast(): Promise<void> };

/** An empty database of a cluster of its own; only with RETURNS_TEST_CITUS=1. */
export async function createClusterDatabase({ hasLast = true } = {}): Promise<ClusterDatabase> {
  const servers = await listServers(process.env["RETURNS_TEST_DATABASE_URL"] ?? "");
  const name = `test_cluster_${randomBytes(6).toString("hex")}`;
  for (const server of servers) await execute(server, `create database ${name}`);
  const urls = servers.map((server) => urlOfDatabase(server, name));
  await joinNodes(hasLast ? urls : urls.slice(0, -1));
  return {
    url: urls[0] ?? "",
    urls,
    joinLast: async () => {
      const last = urls.at(-1) ?? "";
      await execute(last, "create extension citus");
      await addNode(urls[0] ?? "", last);
    },
    drop: async () => {
      for (const server of servers) await execute(server, `drop database if exists ${name} with (force)`);
    },
  };
}

/** The addresses of the same database on the nodes of a cluster. */
export async function nodesOf(databaseUrl: string): Promise<string[]> {
  const servers = await listServers(databaseUrl);
  return servers.slice(1);
}

/** Where the tables were before the coordinator's could be reached from nodes: reference tables, and the rest local. */
export async function distributeAsBefore(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("begin; set local citus.multi_shard_modify_mode to 'sequential'");
    const tables = await client.query<{ name: string; is_tenant: boolean }>(
      `select c.relname as name, not (c.relname = any ($1)) as is_tenant from pg_class c
        where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
          and (c.relname = any ($1)
               or (c.relname <> 'shop_directory'
                   and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'shop_key')))
        order by c.relname <> 'workspace', c.relname`,
      [REFERENCES_BEFORE],
    );
    const keys = await client.query<{ table: string; name: string; definition: string }>(
      `select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
         from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace`,
    );
    for (const key of keys.rows) await client.query(`alter table ${key.table} drop constraint ${key.name}`);
    for (const { name, is_tenant: isTenant } of tables.rows) {
      const beside = name === "workspace" ? "none" : "workspace";
      const call = isTenant
        ? `create_distributed_table('${name}', 'shop_key', colocate_with := '${beside}')`
        : `create_reference_table('${name}')`;
      await client.query(`select ${call}`);
    }
    for (const key of keys.rows) {
      await client.query(`alter table ${key.table} add constraint ${key.name} ${key.definition}`);
    }
    await client.query(
      `select create_distributed_function(p.oid::regprocedure, 'p_shop_key', colocate_with := 'workspace')
         from pg_proc p where p.proname in ('admit', 'admit_callers')`,
    );
    await client.query("commit");
  } finally {
    await client.end();
  }
}

const REFERENCES_BEFORE = [
  "plan",
  "console_user",
  "workspace_member",
  "console_link",
  "console_session",
  "console_passkey",
  "console_challenge",
];
