import assert from "node:assert/strict";
import { test } from "node:test";
import pino from "pino";
import { openInstallation, openServingDatabases, type ServingDatabases } from "../src/installation.ts";
import { readConfig } from "../src/config.ts";
import type { Queryable } from "../src/store/database.ts";
import { migrate } from "../src/store/migrate.ts";
import { createPlainDatabase } from "./support/backups.ts";
import { useDatabase } from "./support/use.ts";
import { execute } from "./support/server.ts";
import { serviceEnvironment } from "./support/service.ts";

/** Without Citus, whatever the server has. */
const testDatabase = useDatabase(createPlainDatabase);

const READING = {
  default_transaction_read_only: "on",
  max_parallel_workers_per_gather: "0",
  jit: "off",
  timezone: "UTC",
};

test("a request's statements are planned once per connection", async () => {
  await withServingDatabases(async ({ reading, admission }) => {
    assert.deepEqual(await settingsOf(reading), { ...READING, plan_cache_mode: "force_generic_plan" });
    assert.equal((await settingsOf(admission)).plan_cache_mode, "auto");
  });
});

test("no connection of the service compiles statements, whatever the server's default", async () => {
  await withServingDatabases(async ({ reading, admission, ingest }) => {
    for (const database of [reading, admission, ingest]) {
      const text = "select setting, source from pg_settings where name = 'jit'";
      const [row] = await database.rows<object>({ name: "jit", text }, []);
      assert.deepEqual({ ...row }, { setting: "off", source: "client" });
    }
  });
});

/** Citus is not installed with this project: a function of its name and its catalogue make the service see one. */
test("on Citus a request's statements are planned with their values; before the tables are distributed there are no nodes", async () => {
  await execute(
    testDatabase.url,
    "create function create_distributed_table(t regclass, c text) returns void return null",
  );
  await execute(testDatabase.url, "create table pg_dist_partition (logicalrelid regclass)");
  await execute(testDatabase.url, "create table pg_dist_local_group as select 0 as groupid");
  await withServingDatabases(async ({ reading, nodes }) => {
    assert.deepEqual(await settingsOf(reading), { ...READING, plan_cache_mode: "auto" });
    assert.equal(nodes, null);
  });
  await execute(testDatabase.url, "insert into pg_dist_partition values ('workspace')");
  await withServingDatabases(async ({ nodes }) => {
    assert.notEqual(nodes, null);
  });
});

test("requests and exports read views of one shop, and nothing without a shop", async () => {
  await withServingDatabases(async ({ reading, exporting, console: ofConsole }) => {
    const read = { name: "read_entities", text: "select count(*)::integer as count from entity" };
    for (const database of [reading, exporting]) {
      await assert.rejects(database.rows(read, []), { code: "42704" });
      const rows = await database.longSnapshot(7, (connection) => connection.rows(read, []));
      assert.deepEqual(rows, [{ count: 0 }]);
    }
    assert.deepEqual(await ofConsole.rows(read, []), [{ count: 0 }]);
  });
});

test("a server does not start if a connection loses the views", async () => {
  const { DATABASE_READER_URL: url = "" } = serviceEnvironment(testDatabase.url);
  const lossy = Object.assign(new URL(url), { search: "?options=-cjit%3Doff" }).href;
  await assert.rejects(
    withServingDatabases(async () => {}, { DATABASE_READER_URL: lossy }),
    /DATABASE_READER_URL do not look for tables in the schema one_shop first/u,
  );
});

test("a server does not start if a migration was interrupted before it created the views", async () => {
  const serve = (): Promise<void> => withServingDatabases(async () => {});
  for (const change of ["drop schema one_shop cascade", "drop view one_shop.cohort"]) {
    await execute(testDatabase.url, change);
    await assert.rejects(serve(), /one_shop lacks the view of the table \w+, .+: run "\.\/returns migrate"/u);
    await migrate({ url: testDatabase.url });
    await serve();
  }
});

async function withServingDatabases(
  work: (databases: ServingDatabases) => Promise<void>,
  options: Record<string, string> = {},
): Promise<void> {
  const config = readConfig({ ...serviceEnvironment(testDatabase.url), ...options });
  const installation = await openInstallation(config, () => {});
  try {
    const databases = await openServingDatabases(config, installation, pino({ level: "silent" }));
    try {
      await work(databases);
    } finally {
      await databases.close();
    }
  } finally {
    await installation.close();
  }
}

async function settingsOf(database: Queryable): Promise<Record<string, string>> {
  const names = [...Object.keys(READING), "plan_cache_mode"];
  const text = `select ${names.map((name) => `current_setting('${name}') as ${name}`).join(", ")}`;
  const [row] = await database.rows<Record<string, string>>({ name: "settings", text }, []);
  return { ...row };
}
