import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { deriveKeys } from "../src/lib/keys.ts";
import type { Database } from "../src/store/database.ts";
import { requestRun } from "../src/store/queries/sync-request.ts";
import { listRuns } from "../src/store/queries/sync-run.ts";
import type { RunRow } from "../src/store/queries/sync-run.ts";
import { openWorkerSession } from "../src/store/worker-session.ts";
import { startDueRun } from "../src/sync/run-record.ts";
import { startCommand } from "./support/command.ts";
import { openControlDatabase } from "./support/control.ts";
import type { ControlDatabase } from "./support/control.ts";
import { execute, openConnections } from "./support/database.ts";
import { pageConnector, startPageSource } from "./support/page-source.ts";
import type { PageSource } from "./support/page-source.ts";
import { openTestPool, serviceEnvironment, TEST_SECRET } from "./support/service.ts";
import {
  connectedShop,
  eventually,
  putShopifyConnection,
  withWorker,
  workerOptions,
} from "./support/worker.ts";

/** What a worker that ends at any moment leaves to the others. */

let control: ControlDatabase;
let watching: Database;
let pool: ReturnType<typeof openTestPool>;
let pages: PageSource;
before(async () => {
  control = await openControlDatabase();
  watching = openConnections(control.url, { maxConnections: 2, applicationName: "test-watching" });
  pool = openTestPool(control.url);
  pages = await startPageSource();
});
after(async () => {
  await pages.stop();
  await pool.end();
  await watching.close();
  await control.stop();
});

const logs: string[] = [];
const options = () => workerOptions(control, [pageConnector(pages, "shopify", "store")], logs);
const ask = (shopKey: number) =>
  requestRun(control.database, { shopKey, source: "shopify", kind: "incremental", requestedBy: "operator" });
/** Oldest first. */
const runsOf = async (shopKey: number): Promise<RunRow[]> =>
  (await listRuns(watching, { shopKey, source: "shopify", limit: 100 })).toReversed();
const outcomes = async (shopKey: number): Promise<string[]> =>
  (await runsOf(shopKey)).map(({ status, attempt }) => `${status} ${attempt}`);
const succeeded = async (shopKey: number): Promise<void> => {
  await eventually(async () => (await runsOf(shopKey)).at(-1)?.status === "succeeded", "its run", 20);
};

/** A worker process whose one run waits for a shop that never answers. */
async function startedElsewhere(shopKey: number) {
  const silent = createServer(() => {});
  await new Promise<void>((done) => silent.listen(0, "127.0.0.1", done));
  await putShopifyConnection(control, shopKey, {
    url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    accessToken: "a token",
    sealingKey: deriveKeys(TEST_SECRET).sealingKey,
  });
  await ask(shopKey);
  const worker = startCommand(["worker"], { ...serviceEnvironment(control.url), LOG_LEVEL: "warn" });
  return {
    worker,
    kill: async () => {
      worker.child.kill("SIGKILL");
      await worker.outcome;
      silent.closeAllConnections();
      silent.close();
    },
  };
}

test("the run of a worker that lives is left alone; killed, another continues it within a few seconds", async () => {
  const { shopKey } = await connectedShop(control, []);
  const elsewhere = await startedElsewhere(shopKey);
  try {
    await eventually(async () => (await runsOf(shopKey)).length === 1, "the run", 30);
    // Much longer than this one waits for an abandoned run.
    await withWorker({ ...options(), lookMs: 20, graceMs: 40 }, async () => {
      const other = await connectedShop(control, [["shopify", "store"]]);
      for (let round = 0; round < 5; round++) {
        await ask(other.shopKey);
        const runs = round + 1;
        await eventually(async () => (await runsOf(other.shopKey)).length === runs, "its own run");
        await succeeded(other.shopKey);
      }
      assert.deepEqual(await outcomes(shopKey), ["running 1"]);
      await elsewhere.kill();
      await eventually(async () => (await outcomes(shopKey)).length === 2, "it is taken over", 5);
      await succeeded(shopKey);
    });
  } finally {
    await elsewhere.kill();
  }
  assert.deepEqual(await outcomes(shopKey), ["interrupted 1", "succeeded 2"]);
});

test("a worker that is killed as it takes a request leaves it to the next one, and no trace", async () => {
  const { shopKey } = await connectedShop(control, []);
  const holder = await pool.connect();
  await holder.query("begin");
  // It stands in the middle of its transaction, where it writes the history of the run.
  await holder.query("lock table sync_run in share mode");
  const elsewhere = await startedElsewhere(shopKey);
  try {
    await elsewhere.worker.printed(/keeps connected sources/u);
    const blocked =
      "select from pg_stat_activity where wait_event_type = 'Lock' and query like 'insert into sync_run%'";
    await eventually(async () => (await pool.query(blocked)).rows.length === 1, "it takes the request", 30);
    await elsewhere.kill();
    await holder.query("rollback");
    await withWorker(options(), () => succeeded(shopKey));
  } finally {
    holder.release();
    await elsewhere.kill();
  }
  assert.deepEqual(await outcomes(shopKey), ["succeeded 1"]);
});

test("of workers that take one request at the same moment one gets it", async () => {
  const shops = await Promise.all(
    Array.from({ length: 20 }, () => connectedShop(control, [["shopify", "store"]])),
  );
  const databases = Array.from({ length: 4 }, () => openConnections(control.url, { maxConnections: 4 }));
  try {
    for (const { shopKey } of shops) await ask(shopKey);
    const started = await Promise.all(
      shops.map(({ shopKey }) =>
        Promise.all(
          databases.flatMap((database, worker) => {
            const place = { shopKey, source: "shopify", worker };
            return [startDueRun(database, place), startDueRun(database, place)];
          }),
        ),
      ),
    );
    for (const runs of started) assert.equal(runs.filter((run) => run !== null).length, 1);
    for (const { shopKey } of shops) {
      assert.deepEqual(await outcomes(shopKey), ["running 1"]);
      const place = { shopKey, source: "shopify", worker: 9 };
      assert.equal(await startDueRun(control.database, place), null, "also later");
    }
  } finally {
    for (const database of databases) await database.close();
    await pool.query("truncate workspace cascade");
  }
});

test("the database itself refuses a second run of a source beside an active one", async () => {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  const start = (): Promise<unknown> =>
    pool.query(
      `insert into sync_run (shop_key, run_id, source, kind, requested_by, started_at)
       values ($1, gen_random_uuid(), 'shopify', 'refresh', 'webhook', now())`,
      [shopKey],
    );
  await start();
  await assert.rejects(start(), /sync_run_running/u);
  await pool.query("truncate workspace cascade");
});

test("a number is locked as long as its session lasts, and another session gets another", async () => {
  const [first, second] = [await openWorkerSession(control.url), await openWorkerSession(control.url)];
  assert.notEqual(first.worker, second.worker);
  await first.close();
  assert.equal(second.lost.aborted, false);
  await pool.query(
    "select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name = 'returns-worker'",
  );
  await eventually(async () => second.lost.aborted, "it notices");
  await second.close();
});

test("a worker that loses its session alone stops its runs, and continues them in a new one", async () => {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  pages.hold(3);
  await ask(shopKey);
  await withWorker(options(), async () => {
    await eventually(async () => (await runsOf(shopKey))[0]?.stage === "pages", "its progress");
    await pool.query(
      "select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name = 'returns-worker'",
    );
    await eventually(async () => (await runsOf(shopKey)).length === 2, "the next run");
    pages.release();
    await succeeded(shopKey);
  });
  assert.deepEqual(await outcomes(shopKey), ["interrupted 1", "succeeded 2"]);
});

test("a run whose end could not be recorded is not left open by the worker that lives", async () => {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  await pool.query(
    `create function refuse_end() returns trigger language plpgsql as
       $$ begin raise exception 'this end is not recorded'; end $$`,
  );
  await pool.query(
    `create trigger refuse before update on sync_run for each row
       when (new.status = 'succeeded' and new.attempt = 1) execute function refuse_end()`,
  );
  await ask(shopKey);
  await withWorker(options(), () => succeeded(shopKey));
  await pool.query("drop trigger refuse on sync_run");
  assert.deepEqual(await outcomes(shopKey), ["interrupted 1", "succeeded 2"]);
  assert.ok(logs.some((line) => line.includes("this end is not recorded")));
});

test("a worker whose database restarts waits for it, and does what was asked for before and after", async () => {
  const serverUrl = process.env["RETURNS_TEST_DATABASE_URL"] ?? "";
  const name = new URL(control.url).pathname.slice(1);
  const first = await connectedShop(control, [["shopify", "store"]]);
  const second = await connectedShop(control, [["shopify", "store"]]);
  pages.hold(3);
  await ask(first.shopKey);
  const told = logs.length;
  const isTold = (text: string): boolean => logs.slice(told).some((line) => line.includes(text));
  await withWorker(options(), async () => {
    await eventually(async () => (await runsOf(first.shopKey))[0]?.stage === "pages", "its progress");
    await ask(second.shopKey);
    await execute(serverUrl, `alter database ${name} allow_connections false`);
    await execute(
      serverUrl,
      `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${name}'`,
    );
    await eventually(async () => isTold("the database does not answer"), "it says so");
    await execute(serverUrl, `alter database ${name} allow_connections true`);
    pages.release();
    await succeeded(first.shopKey);
    await succeeded(second.shopKey);
  });
  assert.ok(isTold("the database answers again"));
  assert.deepEqual(await outcomes(first.shopKey), ["interrupted 1", "succeeded 2"]);
  assert.deepEqual((await outcomes(second.shopKey)).at(-1)?.split(" ")[0], "succeeded");
});
