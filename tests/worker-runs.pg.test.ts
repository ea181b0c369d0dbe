import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { findConnection } from "../src/store/queries/data-source.ts";
import { listQuietRuns, listRuns, type RunRow } from "../src/actions/sources/queries.ts";
import { requestRun, type SyncKind } from "../src/store/queries/sync-request.ts";
import { connectionHealth } from "../src/store/queries/worker-health.ts";
import { SourceFailed, type Connector, type SyncOutcome } from "../src/sync/connector.ts";
import { startWorker } from "../src/worker/worker.ts";
import { runCommand } from "./support/command.ts";
import { openControlDatabase, openObserver } from "./support/control.ts";
import { pageConnector, startPageSource, type PageSource } from "./support/page-source.ts";
import { connect, connectedShop, eventually, runNext, withWorker, workerOptions } from "./support/worker.ts";
import { serviceEnvironment } from "./support/service.ts";
import { before, use } from "./support/use.ts";

const control = use(openControlDatabase);
/** For the test's own queries: the workers' connections are killed here. */
const observer = use(() => openObserver(control));
let pages: PageSource;
before(async () => {
  pages = await startPageSource();
});
after(() => pages.stop());

const KILLS = 5;
const logs: string[] = [];
const options = () =>
  workerOptions(
    control,
    [pageConnector(pages, "shopify", "store"), pageConnector(pages, "loop", "label_cost")],
    logs,
  );
const ask = (shopKey: number, kind: SyncKind, source = "shopify") =>
  requestRun(control.database, { shopKey, source, kind, requestedBy: "operator" });
/** Oldest first. */
const runsOf = async (shopKey: number, source = "shopify"): Promise<RunRow[]> =>
  (await listRuns(observer, { shopKey, source, limit: 1000 })).toReversed();
const requestsOf = async (shopKey: number): Promise<string[]> => {
  const text = "select kind from sync_request where shop_key = $1 order by kind";
  const rows = await observer.rows<{ kind: string }>({ name: "test_requests", text }, [shopKey]);
  return rows.map((row) => row.kind);
};
const readinessOf = async (shopKey: number): Promise<string> => {
  const text = "select readiness from workspace where shop_key = $1";
  const rows = await observer.rows<{ readiness: string }>({ name: "test_readiness", text }, [shopKey]);
  return rows[0]?.readiness ?? "";
};
const isIdle = async (shopKey: number): Promise<boolean> =>
  (await requestsOf(shopKey)).length === 0 &&
  (await runsOf(shopKey)).every((run) => run.status !== "running");
const idle = async (shopKey: number): Promise<void> => {
  await eventually(() => isIdle(shopKey), "the connection has nothing to do");
};

function assertOneAtATime(runs: readonly RunRow[]): void {
  runs.slice(1).forEach((run, index) => {
    const endedAt = runs[index]?.finished_at;
    assert.ok(endedAt !== null && endedAt !== undefined && endedAt <= run.started_at);
  });
}

test("a connection's backfill makes its workspace ready, and the history counts the read records", async () => {
  const { shopKey, domain } = await connectedShop(control, [["shopify", "store"]]);
  assert.equal(await readinessOf(shopKey), "installing");
  pages.hold(3);
  await ask(shopKey, "backfill");
  await withWorker(options(), async () => {
    await eventually(async () => (await readinessOf(shopKey)) === "backfilling", "backfilling");
    assert.equal((await findConnection(control.database, shopKey, "shopify"))?.status, "syncing");
    pages.release();
    await idle(shopKey);
  });
  const [run, ...others] = await runsOf(shopKey);
  assert.deepEqual(others, []);
  assert.deepEqual(
    [run?.shop_domain, run?.kind, run?.requested_by, run?.status, run?.attempt, run?.counts, run?.error],
    [domain, "backfill", "operator", "succeeded", 1, { records: 5 }, null],
  );
  assert.deepEqual([run?.stage, run?.done, run?.total], ["pages", 5, 5]);
  assert.equal(await readinessOf(shopKey), "ready");
  const connection = await findConnection(control.database, shopKey, "shopify");
  assert.deepEqual([connection?.status, connection?.last_error], ["ok", null]);
});

test("a burst of requests collapses into the run that is active and one after it, and never two at a time", async () => {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  pages.hold(3);
  const second = options();
  await withWorker(options(), async () => {
    await withWorker(second, async () => {
      await ask(shopKey, "incremental");
      await eventually(async () => (await runsOf(shopKey))[0], "the first run");
      await Promise.all(Array.from({ length: 50 }, () => ask(shopKey, "incremental")));
      pages.release();
      await idle(shopKey);
    });
  });
  const runs = await runsOf(shopKey);
  assert.deepEqual(
    runs.map((run) => run.status),
    ["succeeded", "succeeded"],
  );
  assertOneAtATime(runs);
});

test("each kind that is requested at once gets its run, the backfill first", async () => {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  for (const kind of ["refresh", "incremental", "backfill", "open_returns"] as const)
    await ask(shopKey, kind);
  await withWorker(options(), () => idle(shopKey));
  const runs = await runsOf(shopKey);
  assert.equal(runs[0]?.kind, "backfill");
  const kinds = runs.map((run) => run.kind).toSorted();
  assert.deepEqual(kinds, ["backfill", "incremental", "open_returns", "refresh"]);
  assertOneAtATime(runs);
});

test("a failed run is retried after growing waits, and shows the reason until it succeeds", async () => {
  const { shopKey } = await connectedShop(control, [
    ["shopify", "store"],
    ["loop", "label_cost"],
  ]);
  pages.statusOf.set(String(shopKey), 503);
  await ask(shopKey, "backfill");
  await withWorker(options(), async () => {
    await eventually(async () => (await runsOf(shopKey)).length >= 4, "four tries", 20);
    const connection = await findConnection(control.database, shopKey, "shopify");
    assert.match(connection?.last_error ?? "", /^The source answered 503/u);
    pages.statusOf.clear();
    await eventually(() => isIdle(shopKey), "success", 20);
  });
  const runs = await runsOf(shopKey);
  assert.deepEqual(
    runs.map((run) => run.attempt),
    runs.map((_, index) => index + 1),
  );
  const failed = runs.slice(0, -1);
  assert.ok(failed.every((run) => run.status === "failed" && run.error?.startsWith("The source answered")));
  assert.equal(runs.at(-1)?.status, "succeeded");
  const waits = runs.slice(1).map((run, index) => Number(run.started_at) - Number(runs[index]?.finished_at));
  [150, 300, 600].forEach((leastMs, index) => assert.ok((waits[index] ?? 0) >= leastMs, String(waits)));
  const connection = await findConnection(control.database, shopKey, "shopify");
  assert.deepEqual([connection?.status, connection?.last_error], ["ok", null]);
});

test("a refused token disconnects only its source and is not retried; connecting again repairs it", async () => {
  const shop = await connectedShop(control, [["shopify", "store"]]);
  const other = await connectedShop(control, [["shopify", "store"]]);
  const { shopKey } = shop;
  await withWorker(options(), async () => {
    await ask(shopKey, "backfill");
    await idle(shopKey);
    pages.statusOf.set(String(shopKey), 401);
    await ask(shopKey, "incremental");
    await ask(shopKey, "refresh");
    await ask(other.shopKey, "backfill");
    await idle(shopKey);
    await idle(other.shopKey);
    const runs = await runsOf(shopKey);
    assert.deepEqual(
      runs.map((run) => [run.status, run.error]),
      [
        ["succeeded", null],
        ["failed", "The source refuses the token: connect it again."],
      ],
    );
    assert.equal(await readinessOf(shopKey), "reconnecting");
    assert.equal((await findConnection(control.database, shopKey, "shopify"))?.status, "disconnected");
    assert.equal(await readinessOf(other.shopKey), "ready");
    pages.statusOf.clear();
    await connect(control, shopKey, "shopify", "store");
    await ask(shopKey, "incremental");
    await idle(shopKey);
    assert.equal(await readinessOf(shopKey), "ready");
  });
});

test("a failing label source affects neither the store's source nor the workspace", async () => {
  const { shopKey } = await connectedShop(control, [
    ["shopify", "store"],
    ["loop", "label_cost"],
  ]);
  const broken = {
    ...pageConnector(pages, "loop", "label_cost"),
    sync: () => Promise.reject(new TypeError("a teapot with a secret inside")),
  };
  await ask(shopKey, "backfill");
  await ask(shopKey, "backfill", "loop");
  // No retry while the first failure is checked.
  await withWorker(
    { ...options(), connectors: [pageConnector(pages, "shopify", "store"), broken], firstRetryMs: 60_000 },
    async () => {
      await eventually(async () => (await readinessOf(shopKey)) === "ready", "ready");
      await eventually(async () => (await runsOf(shopKey, "loop"))[0]?.status === "failed", "failed");
    },
  );
  const [run] = await runsOf(shopKey, "loop");
  assert.match(run?.error ?? "", /^Something unexpected went wrong in the service/u);
  const connection = await findConnection(control.database, shopKey, "loop");
  assert.deepEqual([connection?.status, connection?.last_error], ["failed", run?.error]);
  const line = logs.find((text) => text.includes(run?.run_id ?? "-") && text.includes("teapot")) ?? "";
  assert.match(line, /worker-runs\.pg\.test\.ts/u, "the log has the stack");
});

test("a worker that stops releases its run, and the next one continues it", async () => {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  pages.hold(5);
  pages.records = 10;
  await ask(shopKey, "backfill");
  const worker = await startWorker(options());
  const askedOf = (): string[] => pages.asked.filter((page) => page.startsWith(`${shopKey} `));
  await eventually(async () => askedOf().length >= 5, "some pages");
  const stoppingAtMs = performance.now();
  await worker.stop();
  const stopMs = performance.now() - stoppingAtMs;
  assert.ok(stopMs < 5000, `it stopped after ${stopMs} ms`);
  assert.deepEqual(
    (await runsOf(shopKey)).map((run) => [run.status, run.attempt, run.error]),
    [["interrupted", 1, null]],
  );
  assert.deepEqual(await requestsOf(shopKey), ["backfill"]);
  pages.release();
  await withWorker(options(), () => idle(shopKey));
  pages.records = 5;
  const runs = await runsOf(shopKey);
  assert.deepEqual(
    runs.map((run) => [run.status, run.attempt]),
    [
      ["interrupted", 1],
      ["succeeded", 2],
    ],
  );
  assert.ok(Number(runs[1]?.counts["records"]) <= 7);
  assert.ok(askedOf().length <= 11, `no page but the one under way was asked for twice: ${askedOf().join()}`);
});

test("a run that has had its share of time gives way to waiting ones, and continues after them", async () => {
  const [slow, other] = [
    await connectedShop(control, [["shopify", "store"]]),
    await connectedShop(control, [["shopify", "store"]]),
  ];
  const order: number[] = [];
  const patient: Connector = {
    ...pageConnector(pages, "shopify", "store"),
    sync: async ({ shopKey, turn }) => {
      order.push(shopKey);
      if (order.length > 1) return { counts: {}, notes: [] };
      return new Promise<SyncOutcome>((_, reject) => {
        turn?.addEventListener("abort", () => reject(turn.reason as Error));
      });
    },
  };
  await ask(slow.shopKey, "backfill");
  await withWorker({ ...options(), connectors: [patient], concurrency: 1, turnMs: 50 }, async () => {
    await eventually(async () => order.length === 1, "the slow run");
    await sleep(500);
    assert.equal((await runsOf(slow.shopKey))[0]?.status, "running", "nobody waits");
    await ask(other.shopKey, "backfill");
    for (const { shopKey } of [other, slow]) await idle(shopKey);
  });
  assert.deepEqual(order, [slow.shopKey, other.shopKey, slow.shopKey]);
  assert.deepEqual(
    (await runsOf(slow.shopKey)).map((run) => [run.status, run.error]),
    [
      ["interrupted", null],
      ["succeeded", null],
    ],
  );
  assert.equal(await interruptedRunsOf(slow.domain), 0, "nothing that an operator should look at");
});

test("a worker whose connections are killed repeatedly keeps working, and completes every run", async () => {
  const shops = await Promise.all(
    Array.from({ length: 3 }, () => connectedShop(control, [["shopify", "store"]])),
  );
  pages.hold(10);
  pages.records = 20;
  for (const { shopKey } of shops) await ask(shopKey, "backfill");
  await withWorker(options(), async () => {
    for (let kills = 0; kills < KILLS; kills++) {
      const isUnderWay = async (shopKey: number): Promise<boolean> => {
        const runs = await runsOf(shopKey);
        return runs.length > kills && runs.at(-1)?.status === "running";
      };
      for (const { shopKey } of shops) await eventually(() => isUnderWay(shopKey), "the next run", 60);
      await killConnections();
    }
    pages.release();
    for (const { shopKey } of shops) await eventually(() => isIdle(shopKey), "done", 60);
  });
  pages.records = 5;
  for (const { shopKey } of shops) {
    const runs = await runsOf(shopKey);
    assert.equal(runs.at(-1)?.status, "succeeded");
    assert.ok(runs.length > KILLS);
    assert.ok(runs.slice(0, -1).every((run) => run.status === "interrupted"));
    assertOneAtATime(runs);
    assert.equal(await readinessOf(shopKey), "ready");
  }
});

/** As `doctor` counts them. */
async function interruptedRunsOf(domain: string): Promise<number> {
  const limits = { staleSince: new Date(0), interruptedRuns: 1, most: 1000 };
  const rows = await connectionHealth(observer, limits);
  return rows.find((row) => row.shop_domain === domain)?.interrupted_runs ?? 0;
}

/** Kills every connection of the workers, and waits until the server has ended each. */
async function killConnections(): Promise<void> {
  const text = `select pg_terminate_backend(pid, 60000) from pg_stat_activity
                 where datname = current_database() and application_name like 'returns-%'`;
  await observer.rows({ name: "test_kill", text }, []);
}

test("runs without changes are counted by day; failures, runs with changes and the newest keep a row", async () => {
  const { shopKey, domain } = await connectedShop(control, [["shopify", "store"]]);
  const place = { shopKey, source: "shopify" };
  let outcome: () => SyncOutcome = () => ({ counts: {}, notes: [], isChanged: false });
  const connector: Connector = { source: "shopify", kind: "store", sync: async () => outcome() };
  const run = async (make: typeof outcome): Promise<string> => {
    outcome = make;
    await ask(shopKey, "incremental");
    await control.pool.query("update sync_request set run_after = now()");
    return (await runNext(workerOptions(control, [connector], logs), place))?.status ?? "none";
  };
  const quiet = (): SyncOutcome => ({ counts: {}, notes: [], isChanged: false });
  const statuses = [
    await run(quiet),
    await run(quiet),
    await run(() => ({ counts: { orders: 1 }, notes: [], isChanged: true })),
    await run(() => {
      throw new SourceFailed("It answered 503.");
    }),
    await run(quiet),
    await run(() => ({ counts: {}, notes: ["1 label belongs to nothing."], isChanged: false })),
    await run(quiet),
  ];
  const ended = "succeeded succeeded succeeded failed succeeded succeeded succeeded";
  assert.equal(statuses.join(" "), ended);
  const kept = (await runsOf(shopKey)).map(({ status, counts, notes }) => [
    status,
    counts["orders"] ?? 0,
    notes.length,
  ]);
  assert.deepEqual(kept, [
    ["succeeded", 1, 0],
    ["failed", 0, 0],
    ["succeeded", 0, 1],
    ["succeeded", 0, 0],
  ]);
  const days = await listQuietRuns(observer, { shopKey, source: "shopify", limit: 10 });
  assert.equal(
    days.reduce((sum, { runs }) => sum + runs, 0) + kept.length,
    statuses.length,
    "every run is a row or is counted, once",
  );
  assert.deepEqual([...new Set(days.map(({ kind }) => kind))], ["incremental"]);
  const { stdout } = await runCommand(
    ["runs", "--workspace", domain, "--unchanged", "--json"],
    serviceEnvironment(control.url),
  );
  assert.deepEqual(
    (JSON.parse(stdout) as { runs: number }[]).map(({ runs }) => runs),
    days.map(({ runs }) => runs),
  );
});
