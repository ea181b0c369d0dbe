import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import pg from "pg";
import { openDatabase } from "../src/store/database.ts";
import { migrate } from "../src/store/migrate.ts";
import { distributeInstallation } from "../src/store/distribute.ts";
import { rowsIn } from "./support/backups.ts";
import { isCitus } from "./support/citus.ts";
import { createClusterDatabase } from "./support/cluster-database.ts";
import type { ClusterDatabase } from "./support/cluster-database.ts";
import { asRole, openConnections } from "./support/database.ts";
import { copyMigrations } from "./support/migration-folder.ts";
import { OF_0_2_0, schemaOf } from "./support/schema.ts";
import { execute } from "./support/server.ts";

const READING = {
  maxConnections: 1,
  readOnly: true,
  ofOneWorkspace: true,
  hasCitus: true,
  statementTimeoutMs: 10_000,
  applicationName: "returns-test",
  onConnectionError: () => {},
};

/** What a later version may add: columns, an index, a table of shops and one of the coordinator. */
const NEXT = copyMigrations({
  "9001_next": `alter table workspace add column remark text;
    alter table console_user add column remark text;
    create index workspace_remark on workspace (shop_key, remark);
    create table remark (
      shop_key bigint not null references workspace on delete cascade,
      number integer not null,
      primary key (shop_key, number)
    );`,
});
const PLACES = "select table_name::text, citus_table_type, distribution_column from citus_tables order by 1";
const SHOP = `insert into shop_directory (shop_domain) values ('old.example');
  insert into workspace (shop_key, organization_id, shop_id, shop_domain, currency_code, plan_key)
    values (1, 'o', 's', 'old.example', 'EUR', 'growth');`;

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

/** The schema on each server, the coordinator's first, and on which its tables are. */
async function schemasOf(cluster: ClusterDatabase): Promise<unknown> {
  return [await Promise.all(cluster.urls.map(schemaOf)), await rowsIn(cluster.url, PLACES)];
}

async function distribute(url: string): Promise<void> {
  const database = openConnections(url);
  try {
    await distributeInstallation(database);
  } finally {
    await database.close();
  }
}

/** Of a new installation. */
async function schemasOfNew(folder?: URL): Promise<unknown> {
  const cluster = await createClusterDatabase();
  try {
    await migrate({ url: cluster.url, ...(folder === undefined ? {} : { folder }) });
    await distribute(cluster.url);
    return await schemasOf(cluster);
  } finally {
    await cluster.drop();
  }
}

test("a distributed database of 0.2.0 is adopted: each node has the schema and tables of a new one", (context) =>
  onCluster(context, async (cluster) => {
    await execute(cluster.url, OF_0_2_0);
    await distribute(cluster.url);
    await migrate({ url: cluster.url });
    assert.deepEqual(await schemasOf(cluster), await schemasOfNew());
    const shops = await rowsIn(cluster.url, "select count(*)::integer as shops from workspace");
    assert.deepEqual(shops, [{ shops: 2 }]);
  }));

test("a migration on a node is refused and refers to the coordinator; afterwards the node has none to run", (context) =>
  onCluster(context, async (cluster) => {
    const [, node = ""] = cluster.urls;
    await migrate({ url: cluster.url });
    await distribute(cluster.url);
    await assert.rejects(migrate({ url: node, folder: NEXT }), /only through its coordinator/u);
    await migrate({ url: cluster.url, folder: NEXT });
    await migrate({ url: node, folder: NEXT });
  }));

test("after a node has joined, a migration gives it schema and rights, and readers find what has moved there", (context) =>
  onCluster(
    context,
    async (cluster, client) => {
      await migrate({ url: cluster.url });
      await client.query(SHOP);
      await distribute(cluster.url);
      await cluster.joinLast();
      await migrate({ url: cluster.url, folder: NEXT });
      assert.deepEqual(await schemasOf(cluster), await schemasOfNew(NEXT));
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
