import assert from "node:assert/strict";
import { test } from "node:test";
import { migrate } from "../src/store/migrate.ts";
import { copyMigrations, MIGRATIONS } from "./support/migration-folder.ts";
import { createTestDatabase } from "./support/database.ts";
import { execute, urlOfDatabase } from "./support/server.ts";
import { openTestPool } from "./support/service.ts";

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
    await migrate({ url, folder: folder.url });
    await pool.query(ROWS);
    await migrate({ url });
    const accounts = await pool.query("select source, account from shop_account");
    assert.deepEqual(accounts.rows, [{ source: "shopify", account: "old.myshopify.com" }]);
    const queue = await pool.query(
      "select source, kind, due_at <= now() as is_due from run_queue order by due_at, source",
    );
    assert.deepEqual(queue.rows, [
      { source: "csv", kind: "upload", is_due: true },
      { source: "loop", kind: "label_cost", is_due: true },
      { source: "shopify", kind: "store", is_due: true },
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
    folder.remove();
    await testDatabase.drop();
  }
});
