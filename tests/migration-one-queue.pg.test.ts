import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { migrate } from "../src/store/migrate.ts";
import { createDatabaseBeforeRelease } from "./support/before-release.ts";

/** Migrates a database of the version before, with these queues in the schema pgboss; what it then has. */
async function migratedWith(queues: readonly string[]): Promise<Record<string, unknown>> {
  const old = await createDatabaseBeforeRelease("0018_return_curve");
  const { url } = old;
  const client = new pg.Client({ connectionString: url });
  try {
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
    await old.drop();
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
