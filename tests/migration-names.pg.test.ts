import assert from "node:assert/strict";
import { test } from "node:test";
import { MIGRATION_LOCK, migrate } from "../src/store/migrate.ts";
import { createTestDatabase } from "./support/database.ts";
import { MIGRATIONS, copyMigrations } from "./support/migration-folder.ts";
import { execute, urlOfDatabase } from "./support/server.ts";
import { openTestPool } from "./support/service.ts";

/** Members of one workspace, but for the last one. */
const BEFORE = [
  ["Ada Lovelace", "Ada Lovelace"],
  ["Ada\u00a0 Lovelace", "Ada Lovelace (3)"],
  ["Ada\u200b Lovelace", "Ada Lovelace (4)"],
  ["ADA LOVELACE", "ADA LOVELACE (2)"],
  ["\u202eAda", "Ada"],
  ["\u200b", "Person 1"],
  ["Ｂｅａ\u0007", "Bea"],
  ["Zoë O'Brien 😀", "Zoë O'Brien 😀"],
  ["ada lovelace", "ada lovelace"],
] as const;

test("names of before are written as new ones are, and links of before work no more", async () => {
  const database = await createTestDatabase();
  const databaseName = `${new URL(database.url).pathname.slice(1)}_before`;
  const folder = copyMigrations(MIGRATIONS, "0024_admission_plans");
  await execute(database.url, `create database ${databaseName} template template0`);
  const url = urlOfDatabase(database.url, databaseName);
  const pool = openTestPool(url);
  try {
    await migrate({ url, folder });
    for (const [index, [written]] of BEFORE.entries()) {
      await pool.query("insert into console_user (name, created_at) values ($1, $2)", [
        written,
        new Date(index * 1000),
      ]);
    }
    await pool.query(
      `insert into workspace_member (shop_key, user_id, role)
       select 1, user_id, 'viewer' from console_user where name <> 'ada lovelace'`,
    );
    await pool.query(
      `insert into console_link (link_hash, user_id, purpose, created_at, expires_at)
       select sha256('x'::bytea), user_id, 'invite', now(), now() + interval '1 day' from console_user limit 1`,
    );
    await migrate({ url });
    const { rows } = await pool.query<{ name: string }>("select name from console_user order by created_at");
    assert.deepEqual(
      rows.map((row) => row.name),
      BEFORE.map(([, name]) => name),
    );
    const links = await pool.query("select rights from console_link");
    assert.deepEqual(links.rows, [{ rights: null }]);
  } finally {
    await pool.end();
    await execute(database.url, `drop database ${databaseName}`);
    await database.drop();
  }
});

test("a session that holds the lock of migrations and never ends is named, and does not hang a migration", async () => {
  const database = await createTestDatabase();
  const { url } = database;
  const holder = openTestPool(url);
  const client = await holder.connect();
  await client.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
  try {
    const lines: string[] = [];
    const migrating = migrate({ url, longestWaitMs: 300, log: (line) => lines.push(line) });
    await assert.rejects(
      migrating,
      /^Error: Another session has held the lock of migrations for 0\.005 minutes: wait/u,
    );
    assert.deepEqual(lines, ["Another process migrates this database: waiting for it."]);
  } finally {
    client.release(true);
    await holder.end();
  }
  await migrate({ url });
  await database.drop();
});

const ROWS = `
  insert into shop_directory (shop_domain) values ('old.example');
  insert into workspace (shop_key, organization_id, shop_id, shop_domain, currency_code, plan_key)
    values (1, 'o', 's', 'old.example', 'EUR', 'growth');
  insert into data_source (shop_key, source, kind, is_connection, settings)
    values (1, 'shopify', 'store', true, '{"shop": "old.myshopify.com"}'), (1, 'loop', 'label_cost', true, '{}'),
           (1, 'csv', 'store', false, '{}');
  insert into import_upload (shop_key, upload_id, status, created_by, created_at, expires_at, files, as_of)
    values (1, gen_random_uuid(), 'waiting', 'operator', now(), now(), '[]', now());
  insert into audit_event (shop_key, actor, action, detail)
    values (1, 'operator', 'workspace.create', '{}'), (0, 'operator', 'plan.set', '{}');`;

test("migrations fill directory and queue with what was connected and waits, and keep the installation's actions apart", async () => {
  const testDatabase = await createTestDatabase();
  const testUrl = testDatabase.url;
  const name = `${new URL(testUrl).pathname.slice(1)}_before`;
  const folder = copyMigrations(MIGRATIONS, "0014_erasure");
  await execute(testUrl, `create database ${name} template template0`);
  const url = urlOfDatabase(testUrl, name);
  const pool = openTestPool(url);
  try {
    await migrate({ url, folder });
    await pool.query(ROWS);
    await migrate({ url });
    const accounts = await pool.query("select source, account from shop_account");
    assert.deepEqual(accounts.rows, [{ source: "shopify", account: "old.myshopify.com" }]);
    const queue = await pool.query(
      "select source, kind, due_at < now() + interval '15 minutes' as is_due from run_queue order by due_at, source",
    );
    assert.deepEqual(queue.rows, [
      { source: "csv", kind: "upload", is_due: true },
      { source: "loop", kind: "label_cost", is_due: true },
      { source: "shopify", kind: "store", is_due: true },
      { source: "shop", kind: "shop", is_due: true },
    ]);
    const actions = `select 'shop' as of, action from audit_event
      union all select 'installation', action from identity_event order by 1`;
    assert.deepEqual((await pool.query(actions)).rows, [
      { of: "installation", action: "plan.set" },
      { of: "shop", action: "workspace.create" },
    ]);
  } finally {
    await pool.end();
    await execute(testUrl, `drop database ${name} with (force)`);
    await testDatabase.drop();
  }
});
