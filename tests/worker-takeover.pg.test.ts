import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { findConnection } from "../src/store/queries/data-source.ts";
import { requestRun } from "../src/store/queries/sync-request.ts";
import { connectionHealth } from "../src/store/queries/worker-health.ts";
import { listRuns, type RunRow } from "../src/actions/sources/queries.ts";
import { openWorkerSession } from "../src/store/worker-session.ts";
import { endAbandonedRun, startDueRun } from "../src/sync/run-record.ts";
import { startWorkerProcess } from "./support/command.ts";
import { openControlDatabase, openObserver } from "./support/control.ts";
import { startFaultProxy } from "./support/fault-proxy.ts";
import { refuseRows } from "./support/refused-rows.ts";
import { execute } from "./support/server.ts";
import { pageConnector, startPageSource } from "./support/page-source.ts";
import {
  connectedShop,
  connectedToShopify,
  eventually,
  withWorker,
  workerOptions,
} from "./support/worker.ts";
import { use } from "./support/use.ts";

/** How other workers take over from one that ends at any moment. */

const control = use(openControlDatabase);
const observer = use(() => openObserver(control));
const pages = use(startPageSource);

const logs: string[] = [];
const options = () => workerOptions(control, [pageConnector(pages, "shopify", "store")], logs);
const ask = (shopKey: number) =>
  requestRun(control.database, { shopKey, source: "shopify", kind: "incremental", requestedBy: "operator" });
/** Oldest first. */
const runsOf = async (shopKey: number): Promise<RunRow[]> =>
  (await listRuns(observer, { shopKey, source: "shopify", limit: 100 })).toReversed();
const outcomes = async (shopKey: number): Promise<string[]> =>
  (await runsOf(shopKey)).map(({ status, attempt }) => `${status} ${attempt}`);
const succeeded = async (shopKey: number): Promise<void> => {
  await eventually(async () => (await runsOf(shopKey)).at(-1)?.status === "succeeded", "its run", 60);
};

/** A worker process with one run, of a workspace whose shop never answers. */
async function startedElsewhere(context: TestContext) {
  const silent = createServer(() => {});
  await new Promise<void>((done) => silent.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const shopKey = await connectedToShopify(control, { url, token: "a token" });
  await ask(shopKey);
  const worker = await startWorkerProcess(context, control.url);
  const kill = async (): Promise<void> => {
    worker.child.kill("SIGKILL");
    await worker.outcome;
    silent.closeAllConnections();
    silent.close();
  };
  context.after(kill);
  return { shopKey, kill };
}

test("the run of a living worker is not taken over; if it is killed, another continues the run within a few seconds", async (context) => {
  const { shopKey, kill } = await startedElsewhere(context);
  await eventually(async () => (await runsOf(shopKey)).length === 1, "the run", 120);
  // Much longer than this one waits for an abandoned run.
  await withWorker({ ...options(), pollMs: 20, graceMs: 40 }, async () => {
    const other = await connectedShop(control, [["shopify", "store"]]);
    for (let round = 0; round < 5; round++) {
      await ask(other.shopKey);
      const runs = round + 1;
      await eventually(async () => (await runsOf(other.shopKey)).length === runs, "its own run");
      await succeeded(other.shopKey);
    }
    assert.deepEqual(await outcomes(shopKey), ["running 1"]);
    await kill();
    await eventually(async () => (await outcomes(shopKey)).length === 2, "it is taken over", 60);
    await succeeded(shopKey);
  });
  assert.deepEqual(await outcomes(shopKey), ["interrupted 1", "succeeded 2"]);
  const limits = { staleSince: new Date(0), interruptedRuns: 1, most: 1000 };
  const counted = (await connectionHealth(observer, limits)).map((row) => row.interrupted_runs);
  assert.deepEqual(counted, [1], "an operator learns of it");
});

test("if a worker is killed while it takes a request, the next one does it, and nothing else remains", async (context) => {
  const holder = await control.pool.connect();
  await holder.query("begin");
  // The worker stops in the middle of its transaction, where it writes the run's history.
  await holder.query("lock table sync_run in share mode");
  const { shopKey, kill } = await startedElsewhere(context);
  try {
    const blocked = `select from pg_stat_activity where datname = current_database()
        and wait_event_type = 'Lock' and query like 'insert into sync_run%'`;
    const isBlocked = async () => (await control.pool.query(blocked)).rows.length === 1;
    await eventually(isBlocked, "it takes the request", 120);
    await kill();
    await holder.query("rollback");
    await withWorker(options(), () => succeeded(shopKey));
  } finally {
    holder.release();
  }
  assert.deepEqual(await outcomes(shopKey), ["succeeded 1"]);
});

const placesOf = (shops: readonly { shopKey: number }[]) =>
  shops.map(({ shopKey }) => ({ shopKey, source: "shopify" }));
const locks = async (): Promise<number> =>
  (
    await control.pool.query(
      `select from pg_locks l join pg_database d on d.oid = l.database
        where l.locktype = 'advisory' and d.datname = current_database()`,
    )
  ).rows.length;

test("if workers claim the same sources at once, each source gets one worker, and no more are claimed than asked", async () => {
  const places = placesOf(Array.from({ length: 20 }, (_, index) => ({ shopKey: 1000 + index })));
  const sessions = await Promise.all(Array.from({ length: 4 }, () => openWorkerSession(control.url)));
  const [first] = sessions;
  try {
    const claimed = (await Promise.all(sessions.map((session) => session.claim(places, 6)))).flat();
    const keys = claimed.map(({ shopKey }) => shopKey).toSorted((one, other) => one - other);
    assert.deepEqual(
      keys,
      places.map(({ shopKey }) => shopKey),
    );
    assert.equal(await locks(), 20);
    for (const place of places) await first?.release(place);
    const others = places.length - (await locks());
    assert.equal((await first?.claim(places, 20))?.length, others, "what others hold stays theirs");
  } finally {
    for (const session of sessions) await session.close();
  }
  await eventually(async () => (await locks()) === 0, "each claim ends with its session");
});

test("workers competing for many sources run each once, one run of a source at a time", async () => {
  const shops = await Promise.all(
    Array.from({ length: 20 }, () => connectedShop(control, [["shopify", "store"]])),
  );
  for (const { shopKey } of shops) await ask(shopKey);
  await withWorker(options(), () =>
    withWorker(options(), () =>
      withWorker(options(), async () => {
        for (const { shopKey } of shops) await succeeded(shopKey);
      }),
    ),
  );
  for (const { shopKey } of shops) assert.deepEqual(await outcomes(shopKey), ["succeeded 1"]);
});

test("no run of a source starts while another is open", async () => {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  const [place] = placesOf([{ shopKey }]);
  assert.ok(place !== undefined);
  await ask(shopKey);
  assert.notEqual(await startDueRun(control.database, place), null);
  assert.equal(await startDueRun(control.database, place), null);
  await control.pool.query("truncate workspace cascade");
});

test("a run that crashes its process three times fails, and is then retried as other failed runs", async () => {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  const place = { shopKey, source: "shopify" };
  const statusOf = async () => {
    const found = await findConnection(control.database, shopKey, "shopify");
    return [found?.status, found?.last_error];
  };
  await ask(shopKey);
  for (let round = 0; round < 2; round++) {
    assert.notEqual(await startDueRun(control.database, place), null, "at once");
    await endAbandonedRun(control.database, place, () => assert.fail("it has not failed"));
  }
  assert.notEqual(await startDueRun(control.database, place), null);
  const why = "The process that ran it ended, or lost its connection to the database, 3 times in a row";
  await withWorker({ ...options(), firstRetryMs: 60_000 }, async () => {
    await eventually(async () => (await statusOf())[0] === "failed", "it fails");
    assert.deepEqual(await statusOf(), ["failed", `${why}: it may need more memory than there is.`]);
    assert.deepEqual(await outcomes(shopKey), ["interrupted 1", "interrupted 2", "failed 3"]);
  });
  assert.equal(await startDueRun(control.database, place), null, "it waits");
  await ask(shopKey);
  assert.notEqual(await startDueRun(control.database, place), null);
  const failures: number[] = [];
  await endAbandonedRun(control.database, place, (failed) => failures.push(failed));
  assert.deepEqual(failures, [1], "the wait grows");
  await ask(shopKey);
  await withWorker(options(), () => succeeded(shopKey));
  assert.deepEqual(await statusOf(), ["ok", null]);
  await ask(shopKey);
  assert.notEqual(await startDueRun(control.database, place), null);
  await endAbandonedRun(control.database, place, () => assert.fail("a run that succeeds resets the count"));
  assert.deepEqual((await outcomes(shopKey)).slice(3), ["failed 4", "succeeded 5", "interrupted 1"]);
  await control.pool.query("truncate workspace cascade");
});

test("a session whose connection is killed says so, and another session has its claims", async () => {
  const [first, second] = [await openWorkerSession(control.url), await openWorkerSession(control.url)];
  try {
    const places = placesOf([{ shopKey: 1 }]);
    assert.deepEqual(await first.claim(places, 1), places);
    assert.deepEqual(await second.claim(places, 1), []);
    await control.pool.query(
      `select pg_terminate_backend(l.pid, 10000) from pg_locks l join pg_database d on d.oid = l.database
        where l.locktype = 'advisory' and d.datname = current_database()`,
    );
    await eventually(async () => first.lost.aborted, "it notices");
    assert.deepEqual(await second.claim(places, 1), places);
  } finally {
    for (const session of [first, second]) await session.close();
  }
});

test("a session whose claim is not answered in time has ended: nobody would know of what it holds", async (context) => {
  const url = new URL(control.url);
  const proxy = await startFaultProxy(Number(url.port));
  context.after(() => proxy.close());
  url.port = String(proxy.port);
  const session = await openWorkerSession(url.href, 200);
  await proxy.set("blackhole");
  await assert.rejects(session.claim(placesOf([{ shopKey: 1 }]), 1), /timeout/u);
  assert.ok(session.lost.aborted);
  await session.close();
});

test("a worker that loses only its session stops its runs, and continues them in a new session", async () => {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  pages.hold(3);
  await ask(shopKey);
  await withWorker(options(), async () => {
    await eventually(async () => (await runsOf(shopKey))[0]?.stage === "pages", "its progress");
    await control.pool.query(
      `select pg_terminate_backend(pid, 10000) from pg_stat_activity
        where datname = current_database() and application_name = 'returns-worker'`,
    );
    await eventually(async () => (await runsOf(shopKey)).length === 2, "the next run");
    pages.release();
    await succeeded(shopKey);
  });
  assert.deepEqual(await outcomes(shopKey), ["interrupted 1", "succeeded 2"]);
});

test("a living worker does not leave a run open whose end could not be recorded", async () => {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  const condition = "status = 'succeeded' and attempt = 1";
  const takeBack = await refuseRows(control.pool, "sync_run", "this_end_is_not_recorded", condition);
  await ask(shopKey);
  await withWorker(options(), () => succeeded(shopKey));
  await takeBack();
  assert.deepEqual(await outcomes(shopKey), ["interrupted 1", "succeeded 2"]);
  assert.ok(logs.some((line) => line.includes("this_end_is_not_recorded")));
});

test("a worker waits for a restarting database, and does what was requested before and after", async () => {
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
