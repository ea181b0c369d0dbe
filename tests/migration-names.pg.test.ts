import assert from "node:assert/strict";
import { test } from "node:test";
import { migrate } from "../src/store/migrate.ts";
import { createTestDatabase } from "./support/database.ts";
import { copyMigrations, MIGRATIONS } from "./support/migration-folder.ts";
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
    await migrate({ url, folder: folder.url });
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
    folder.remove();
    await execute(database.url, `drop database ${databaseName}`);
    await database.drop();
  }
});
