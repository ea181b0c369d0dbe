import assert from "node:assert/strict";
import { test } from "node:test";
import { migrate, MIGRATION_LOCK } from "../src/store/migrate.ts";
import { createTestDatabase } from "./support/database.ts";
import { openTestPool } from "./support/service.ts";

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
