import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import pg from "pg";
import { openDatabase } from "../src/store/database.ts";
import { migrate } from "../src/store/migrate.ts";
import { distributeInstallation } from "../src/store/distribute.ts";
import { isCitus } from "./support/citus.ts";
import { createClusterDatabase, distributeAsBefore } from "./support/cluster-database.ts";
import type { ClusterDatabase } from "./support/cluster-database.ts";
import { asRole, openConnections } from "./support/database.ts";
import { copyMigrations, MIGRATIONS } from "./support/migration-folder.ts";

const READING = {
  maxConnections: 1,
  readOnly: true,
  ofOneWorkspace: true,
  hasCitus: true,
  statementTimeoutMs: 10_000,
  applicationName: "returns-test",
  onConnectionError: () => {},
};

/** Of every table and function what a migration changes, the order of columns left out. */
const SCHEMA: Readonly<Record<string, string>> = {
  columns: `select c.relname, a.attname, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull
              from pg_attribute a join pg_class c on c.oid = a.attrelid
             where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and a.attnum > 0 and not a.attisdropped`,
  constraints: `select c.relname, k.conname, pg_get_constraintdef(k.oid) as text
                  from pg_constraint k join pg_class c on c.oid = k.conrelid
                 where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace`,
  indexes: `select c.relname, x.relname as index, i.indisunique from pg_index i join pg_class c on c.oid = i.indrelid
              join pg_class x on x.oid = i.indexrelid
             where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace`,
  functions: `select p.oid::regprocedure::text as name, pg_get_functiondef(p.oid) as text from pg_proc p
               where p.pronamespace = 'public'::regnamespace and p.prokind = 'f'
                 and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`,
  places: "select table_name::text, citus_table_type, distribution_column from citus_tables",
};

/** What a database of before holds: a shop, its token, a person who is signed in, and what was done to the shop and to plans. */
const SHOP = `insert into shop_directory (shop_domain) values ('old.example');
  insert into workspace (shop_key, organization_id, shop_id, shop_domain, currency_code, plan_key)
    values (1, 'o', 's', 'old.example', 'EUR', 'growth');`;
const ROWS = `${SHOP}
  insert into console_user (user_id, name) values ('00000000-0000-4000-8000-000000000001', 'Ada');
  insert into workspace_member (shop_key, user_id, role) values (1, '00000000-0000-4000-8000-000000000001', 'owner');
  insert into console_link (link_hash, user_id, created_at, expires_at)
    values (decode(repeat('ab', 32), 'hex'), '00000000-0000-4000-8000-000000000001', now(), now());
  insert into audit_event (shop_key, actor, action, detail)
    values (1, 'operator', 'workspace.create', '{}'), (0, 'operator', 'plan.set', '{"plan": "own"}');`;
const ROWS_LATER = `select u.name, m.role, l.purpose, d.shop_domain from console_user u
  join workspace_member m using (user_id) join console_link l using (user_id) join shop_directory d using (shop_key)`;
const ACTIONS_LATER = `select 'shop' as of, action, detail from audit_event
  union all select 'installation', action, detail from identity_event order by 1`;

async function onCluster(
  context: TestContext,
  work: (cluster: ClusterDatabase, client: pg.Client) => Promise<void>,
  options?: { hasLast: boolean },
): Promise<void> {
  if (!isCitus()) {
    context.diagnostic("needs a Citus: RETURNS_TEST_CITUS=1 (CONTRIBUTING.md)");
    return;
  }
  const cluster = await createClusterDatabase(options);
  const client = new pg.Client({ connectionString: cluster.url });
  try {
    await client.connect();
    await work(cluster, client);
  } finally {
    await client.end();
    await cluster.drop();
  }
}

async function schemaOf(url: string): Promise<Record<string, string[]>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const schema: Record<string, string[]> = {};
  for (const [part, text] of Object.entries(SCHEMA)) {
    const { rows } = await client.query<{ line: string }>(
      `select to_jsonb(t)::text as line from (${text}) t`,
    );
    schema[part] = rows.map(({ line }) => line).toSorted();
  }
  await client.end();
  return schema;
}

/** The schema on each server, the coordinator's first, of a new installation. */
async function schemasOf(cluster: ClusterDatabase): Promise<Record<string, string[]>[]> {
  return Promise.all(cluster.urls.map((url) => schemaOf(url)));
}

async function distribute(url: string): Promise<void> {
  const database = openConnections(url);
  try {
    await distributeInstallation(database);
  } finally {
    await database.close();
  }
}

let newSchemas: Record<string, string[]>[] | null = null;
async function schemasOfNew(): Promise<Record<string, string[]>[]> {
  if (newSchemas !== null) return newSchemas;
  const cluster = await createClusterDatabase();
  try {
    await migrate({ url: cluster.url });
    await distribute(cluster.url);
    newSchemas = await schemasOf(cluster);
  } finally {
    await cluster.drop();
  }
  return newSchemas;
}

const toLevel = (url: string, last: string): Promise<void> =>
  migrate({ url, folder: copyMigrations(MIGRATIONS, last) });

const FIRST_LEVEL = "0006_admission";
for (const last of [FIRST_LEVEL, "0014_erasure"]) {
  test(`a database distributed at ${last} migrates to the schema and places of a new one, on each node`, (context) =>
    onCluster(context, async (cluster, client) => {
      await toLevel(cluster.url, FIRST_LEVEL);
      await client.query(ROWS);
      await toLevel(cluster.url, last);
      await distributeAsBefore(cluster.url);
      await migrate({ url: cluster.url });
      assert.deepEqual(await schemasOf(cluster), await schemasOfNew());
      const { rows } = await client.query(ROWS_LATER);
      assert.deepEqual(rows, [{ name: "Ada", role: "owner", purpose: "enter", shop_domain: "old.example" }]);
      assert.deepEqual((await client.query(ACTIONS_LATER)).rows, [
        { of: "installation", action: "plan.set", detail: { plan: "own" } },
        { of: "shop", action: "workspace.create", detail: {} },
      ]);
    }));
}

test("a node is told to leave migrations to the coordinator, and has none to run later", (context) =>
  onCluster(context, async (cluster) => {
    const [, node = ""] = cluster.urls;
    await toLevel(cluster.url, "0014_erasure");
    await distributeAsBefore(cluster.url);
    await assert.rejects(migrate({ url: node }), /only through its coordinator/u);
    await migrate({ url: cluster.url });
    await migrate({ url: node });
  }));

const LAST_BUT_ONE = "0048_options";

test("the migration after a node has joined gives it schema and rights: who reads there finds what has moved there", (context) =>
  onCluster(
    context,
    async (cluster, client) => {
      await toLevel(cluster.url, LAST_BUT_ONE);
      await client.query(SHOP);
      await distribute(cluster.url);
      await cluster.joinLast();
      await migrate({ url: cluster.url });
      assert.deepEqual(await schemasOf(cluster), await schemasOfNew());
      const last = cluster.urls.at(-1) ?? "";
      await client.query("select replicate_reference_tables('block_writes')");
      await client.query(
        `select citus_move_shard_placement(p.shardid, n.nodename, n.nodeport, $1, $2, 'block_writes')
           from pg_dist_placement p join pg_dist_node n on n.groupid = p.groupid
          where p.shardid = get_shard_id_for_distribution_column('workspace', 1::bigint)`,
        [new URL(last).hostname, Number(new URL(last).port)],
      );
      const reading = openDatabase({ ...READING, url: asRole(last, "reader") });
      try {
        const read = { name: "read_workspaces", text: "select shop_domain from workspace" };
        assert.deepEqual(await reading.snapshot(1, (connection) => connection.rows(read, [])), [
          { shop_domain: "old.example" },
        ]);
        assert.deepEqual(await reading.snapshot(2, (connection) => connection.rows(read, [])), []);
      } finally {
        await reading.close();
      }
    },
    { hasLast: false },
  ));
