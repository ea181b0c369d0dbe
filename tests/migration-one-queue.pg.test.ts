import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { runner } from "node-pg-migrate";
import pg from "pg";
import { migrate } from "../src/store/migrate.ts";
import { execute, urlOfDatabase } from "./support/database.ts";

const FOLDER = fileURLToPath(new URL("../src/store/migrations/", import.meta.url));
const MIGRATION = "0019_one_queue.sql";

/** Migrates a database of the version before, with these queues in the schema pgboss; what it then has. */
async function migratedWith(queues: readonly string[]): Promise<Record<string, unknown>> {
  const serverUrl = process.env["RETURNS_TEST_DATABASE_URL"] ?? "";
  const name = `test_queue_${randomBytes(6).toString("hex")}`;
  const url = urlOfDatabase(serverUrl, name);
  await execute(serverUrl, `create database ${name}`);
  const client = new pg.Client({ connectionString: url });
  try {
    const count = readdirSync(FOLDER).toSorted().indexOf(MIGRATION);
    assert.ok(count > 0);
    await runner({
      databaseUrl: url,
      dir: FOLDER,
      direction: "up",
      count,
      migrationsTable: "schema_migration",
      log: () => {},
    });
    await client.connect();
    await client.query("create schema pgboss");
    await client.query("create table pgboss.queue (name text)");
    await client.query("insert into pgboss.queue select unnest($1::text[])", [queues]);
    await migrate({ url });
    const { rows } = await client.query<Record<string, unknown>>(
      `select to_regnamespace('pgboss') is not null as has_schema,
              (select count(*)::integer from schedule where done_until <= now()) as tasks,
              (select count(*)::integer from schedule
                where date_bin(period, now() - interval '5 seconds', first_at) > done_until) as due`,
    );
    return rows[0] ?? {};
  } finally {
    await client.end().catch(() => {});
    await execute(serverUrl, `drop database if exists ${name} with (force)`);
  }
}

const OWN = ["__pgboss__send-it", "sync-run", "sync-task"];

test("the migration to one queue removes the old one, and makes no task due", async () => {
  assert.deepEqual(await migratedWith(OWN), { has_schema: false, tasks: 5, due: 0 });
});

test("the migration to one queue leaves a queue alone in which another application has jobs", async () => {
  const { has_schema: hasSchema } = await migratedWith([...OWN, "mail"]);
  assert.equal(hasSchema, true);
});
