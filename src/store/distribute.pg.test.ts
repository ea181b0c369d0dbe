import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import pg from "pg";
import { isCitus } from "../../tests/support/citus.ts";
import { createClusterDatabase } from "../../tests/support/cluster-database.ts";
import { openConnections } from "../../tests/support/database.ts";
import { execute, urlOfDatabase } from "../../tests/support/server.ts";
import { CitusMissing, distributeInstallation } from "./distribute.ts";
import { migrate } from "./migrate.ts";
import {
  COORDINATOR_TABLES,
  listForeignKeys,
  listPlaced,
  listTenantTables,
  REFERENCE_TABLES,
} from "./queries/distribute.ts";

/** What the installation holds before its tables are distributed. */
const ROWS = `
  insert into plan (plan_key, entitlements) values ('own', '{}');
  insert into console_user (user_id, name) values ('00000000-0000-4000-8000-000000000001', 'Ada');
  insert into console_session (session_hash, user_id, created_at, last_seen_at, proved_at, idle_until, ends_at)
    select decode(repeat('ab', 32), 'hex'), u.user_id, now(), now(), now(), now(), now() from console_user u;
  insert into shop_directory (shop_domain) select n || '.example' from generate_series(1, 20) n;
  insert into workspace (shop_key, organization_id, shop_id, shop_domain, currency_code, plan_key)
    select d.shop_key, 'o', 's', d.shop_domain, 'EUR', 'own' from shop_directory d;
  insert into daily_usage (shop_key, day, requests) select w.shop_key, '2026-01-01', 5 from workspace w;`;
const COUNTS = `select (select count(*)::int from plan) as plans, (select count(*)::int from console_session) as sessions,
  (select sum(shop_key)::int from shop_directory) as shops, (select count(*)::int from workspace) as workspaces,
  (select sum(requests)::int from daily_usage) as requests`;

test("a database without Citus is told what to do, and nothing changes", async () => {
  const serverUrl = process.env["RETURNS_TEST_DATABASE_URL"] ?? "";
  const name = `test_plain_${randomBytes(6).toString("hex")}`;
  await execute(serverUrl, `create database ${name}`);
  const url = urlOfDatabase(serverUrl, name);
  await migrate({ url });
  const database = openConnections(url);
  try {
    const keys = await listForeignKeys(database);
    await assert.rejects(distributeInstallation(database), CitusMissing);
    assert.deepEqual(await listForeignKeys(database), keys);
  } finally {
    await database.close();
    await execute(serverUrl, `drop database ${name} with (force)`);
  }
});

test("every table has its place, with its rows and keys, and a second time nothing happens", async (context) => {
  if (!isCitus()) {
    context.diagnostic("needs a Citus: RETURNS_TEST_CITUS=1 (CONTRIBUTING.md)");
    return;
  }
  const cluster = await createClusterDatabase();
  await migrate({ url: cluster.url });
  const client = new pg.Client({ connectionString: cluster.url });
  const database = openConnections(cluster.url);
  const ask = async (text: string): Promise<unknown[]> => (await client.query(text)).rows;
  try {
    await client.connect();
    await client.query(ROWS);
    const [keys, rows] = [await listForeignKeys(database), await ask(COUNTS)];
    const tenants = await listTenantTables(database);
    const made = await distributeInstallation(database);
    assert.deepEqual(made.distributed_tables.toSorted(), tenants.toSorted());
    assert.deepEqual(made.reference_tables.toSorted(), REFERENCE_TABLES.toSorted());
    assert.deepEqual(made.coordinator_tables.toSorted(), COORDINATOR_TABLES.toSorted());
    assert.ok(made.functions.some((signature) => signature.startsWith("admit_callers(")));
    const kinds = Object.fromEntries(
      (await listPlaced(database)).map(({ table_name: name, kind }) => [name, kind]),
    );
    assert.equal(
      Object.keys(kinds).length,
      tenants.length + made.reference_tables.length + made.coordinator_tables.length,
    );
    assert.deepEqual(
      [kinds["workspace"], kinds["plan"], kinds["console_session"]],
      ["tenant", "reference", "coordinator"],
    );
    assert.deepEqual([await listForeignKeys(database), await ask(COUNTS)], [keys, rows]);
    assert.deepEqual(
      await ask(
        "select count(distinct colocation_id)::int as groups from citus_tables where citus_table_type = 'distributed'",
      ),
      [{ groups: 1 }],
    );
    assert.deepEqual(await ask("select pg_relation_size('daily_usage')::int as bytes_left"), [
      { bytes_left: 0 },
    ]);
    assert.deepEqual(await distributeInstallation(database), {
      distributed_tables: [],
      reference_tables: [],
      coordinator_tables: [],
      functions: made.functions,
    });
  } finally {
    await client.end();
    await database.close();
    await cluster.drop();
  }
});
