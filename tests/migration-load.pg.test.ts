import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { knownMigrations, migrate, MIGRATION_LOCK } from "../src/store/migrate.ts";
import { isCitus } from "./support/citus.ts";
import { createTestDatabase } from "./support/database.ts";
import { copyMigrations } from "./support/migration-folder.ts";
import { openTestPool } from "./support/service.ts";

const LATEST = (await knownMigrations()).at(-1) ?? "";
const SHOPS = 300;
/** These tables, in a different order than everything else locks them. */
const ALTERED = ["sync_run", "data_source", "alert", "api_token", "workspace"];
const CHANGES = `-- Works with ${LATEST}.
${ALTERED.map((table) => `alter table ${table} add column remark text;`).join("\n")}
alter table workspace add column shops integer not null default 0;`;
const OUTSIDE = `-- Works with ${LATEST}.
-- Outside of transactions.
create index concurrently workspace_by_remark on workspace (remark);
update workspace set remark = 'of ' || shop_key, shops = shops + 1 where shop_key = $1;`;

async function openFilled(context: TestContext): Promise<{ url: string; pool: pg.Pool }> {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url);
  context.after(async () => {
    await pool.end();
    await database.drop();
  });
  await pool.query(
    "insert into shop_directory (shop_domain) select n || '.example' from generate_series(1, $1::integer) n",
    [SHOPS],
  );
  await pool.query(
    `insert into workspace (shop_key, organization_id, shop_id, shop_domain, currency_code, plan_key)
     select shop_key, 'o', 's', shop_domain, 'EUR', 'growth' from shop_directory`,
  );
  await pool.query(
    "insert into data_source (shop_key, source, kind) select shop_key, 'csv', 'store' from shop_directory",
  );
  return { url: database.url, pool };
}

/** Repeats an action without a pause until it is told to stop; returns the failures and the number of runs. */
function keepDoing(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<unknown>) {
  const failed: string[] = [];
  let done = 0;
  const state = { isOver: false };
  const doing = (async (): Promise<void> => {
    while (!state.isOver) {
      const client = await pool.connect();
      try {
        await client.query("begin");
        await work(client);
        await client.query("commit");
        done += 1;
      } catch (error) {
        failed.push((error as Error).message);
        await client.query("rollback");
      } finally {
        client.release();
      }
    }
  })();
  return {
    end: async () => {
      state.isOver = true;
      await doing;
      return { failed, done };
    },
  };
}

/** Citus ends the youngest transaction of a deadlock between nodes, a request's rather than the migration. */
const skip = isCitus() && "a Citus may cancel a writer in place of a migration (docs/scaling.md)";

test(
  "a migration under load from readers and writers fails none of them, and ends",
  { skip },
  async (context) => {
    const { url, pool } = await openFilled(context);
    const folder = copyMigrations({ "9001_altered": CHANGES, "9002_outside": OUTSIDE });
    const shop = (): number => 1 + Math.floor(Math.random() * SHOPS);
    const writer = keepDoing(pool, async (client) => {
      const shopKey = shop();
      await client.query("update workspace set data_version = data_version + 1 where shop_key = $1", [
        shopKey,
      ]);
      await client.query("update data_source set status = 'ok' where shop_key = $1", [shopKey]);
    });
    const reader = keepDoing(pool, async (client) => {
      await client.query(
        "select set_config('returns.shop_key', $1::text, true), set_config('search_path', 'one_shop, public', true)",
        [shop()],
      );
      for (const table of ["data_source", "workspace", "sync_run", "alert"]) {
        const { rowCount } = await client.query(`select shop_key from ${table}`);
        assert.ok((rowCount ?? 0) <= 1, "a reader sees one shop, also while its view is replaced");
      }
      await sleep(5);
    });
    await sleep(100);
    await migrate({ url, folder });
    const [written, read] = [await writer.end(), await reader.end()];
    assert.deepEqual([written.failed, read.failed], [[], []]);
    assert.ok(written.done > 20 && read.done > 20, `${written.done} writes and ${read.done} reads`);
    const { rows } = await pool.query<{ shops: string; indexed: boolean }>(
      `select count(*) filter (where remark = 'of ' || shop_key and shops = 1) as shops,
            (select indisvalid from pg_index where indexrelid = 'workspace_by_remark'::regclass) as indexed from workspace`,
    );
    assert.deepEqual(rows, [{ shops: String(SHOPS), indexed: true }]);
  },
);

test("a migration that would deadlock gives way to the holder of the tables", async (context) => {
  const { url, pool } = await openFilled(context);
  const folder = copyMigrations({ "9001_altered": CHANGES });
  const holder = await pool.connect();
  try {
    await holder.query("begin");
    await holder.query("select from workspace limit 1");
    const waiting = Promise.withResolvers<string>();
    const migrated = migrate({ url, folder, log: waiting.resolve });
    await waiting.promise;
    for (const table of ALTERED) {
      await holder.query(`select from ${table} limit 1`);
      await sleep(300);
    }
    await holder.query("commit");
    await migrated;
  } finally {
    holder.release();
  }
});

const lacksUnique = isCitus() && "a Citus has no unique index without shop_key";

test(
  "what was cut off outside of transactions is run again, and an unfinished index is built again",
  { skip: lacksUnique },
  async (context) => {
    const { url, pool } = await openFilled(context);
    const altered = { "9001_altered": CHANGES };
    const failing = `-- Outside of transactions.
create unique index concurrently workspace_by_currency on workspace (currency_code);`;
    await assert.rejects(migrate({ url, folder: copyMigrations({ ...altered, "9002_outside": failing }) }), {
      code: "23505",
    });
    const repaired = failing.replace("unique ", "");
    await migrate({ url, folder: copyMigrations({ ...altered, "9002_outside": repaired }) });
    const { rows } = await pool.query(
      "select indisvalid, indisunique from pg_index where indexrelid = 'workspace_by_currency'::regclass",
    );
    assert.deepEqual(rows, [{ indisvalid: true, indisunique: false }]);
  },
);

test("a session that holds the migration lock forever is named, and does not hang a migration", async () => {
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
    assert.deepEqual(lines, ["Another process is migrating this database: waiting for it."]);
  } finally {
    client.release(true);
    await holder.end();
  }
  await migrate({ url });
  await database.drop();
});
