import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { findRunSince, listRuns } from "../src/actions/sources/queries.ts";
import { requestRun } from "../src/store/queries/sync-request.ts";
import { startShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { startWorkerProcess } from "./support/command.ts";
import { openControlDatabase } from "./support/control.ts";
import { FAULTS, startFaultProxy } from "./support/fault-proxy.ts";
import { rowProblems, servedRows } from "./support/served-rows.ts";
import { use } from "./support/use.ts";
import { connectedToShopify, eventually } from "./support/worker.ts";

const ORDERS = 5000;
const LONGEST_RUN_SECONDS = 90;

const control = use(openControlDatabase);

type Backfill = { shopKey: number; newest: () => ReturnType<typeof findRunSince> };

test("a worker that loses its database during a backfill completes it afterwards, with the rows of an undisturbed one", async (context) => {
  const { database, pool } = control;
  const url = new URL(control.url);
  const proxy = await startFaultProxy(Number(url.port));
  context.after(() => proxy.close());
  url.port = String(proxy.port);
  const buckets = { bucketPoints: 20_000, restorePerSecond: 20_000 };
  const simulator = await startShopifySimulator({ orders: ORDERS, bulkMillis: 2000, ...buckets });
  context.after(() => simulator.stop());
  const worker = await startWorkerProcess(context, url.href);

  /** Connects a new workspace to the simulated shop; returns once its backfill runs. */
  const startBackfill = async (): Promise<Backfill> => {
    const shopKey = await connectedToShopify({ database }, simulator);
    const run = { shopKey, source: "shopify", kind: "backfill", requestedBy: "operator" } as const;
    const since = await requestRun(database, run);
    assert.ok(since !== null, "the shop is connected");
    const newest = () => findRunSince(database, shopKey, "shopify", "backfill", since);
    await eventually(newest, "the run", LONGEST_RUN_SECONDS);
    return { shopKey, newest };
  };
  const ended = ({ newest }: Backfill) =>
    eventually(async () => (await newest())?.status === "succeeded", "the run's end", LONGEST_RUN_SECONDS);

  const calm = await startBackfill();
  await ended(calm);
  const undisturbed = await servedRows(pool, calm.shopKey);
  for (const { mode, seconds } of FAULTS) {
    await context.test(`${mode}, ${seconds} s`, async (fault) => {
      const backfill = await startBackfill();
      await sleep(1000);
      const before = await backfill.newest();
      assert.equal(before?.status, "running");
      await proxy.set(mode);
      await sleep(seconds * 1000);
      await proxy.set("forward");
      const backAtMs = performance.now();
      await ended(backfill);
      fault.diagnostic(
        `broken in stage ${before?.stage}, ended ${Math.round((performance.now() - backAtMs) / 1000)} s after`,
      );
      const { shopKey } = backfill;
      const runs = (await listRuns(database, { shopKey, source: "shopify", limit: 50 })).toReversed();
      for (const [index, later] of runs.slice(1).entries()) {
        const endedAt = runs[index]?.finished_at ?? null;
        assert.ok(endedAt !== null && endedAt <= later.started_at, "two runs at a time");
      }
      assert.equal(worker.child.exitCode ?? worker.child.signalCode, null);
      assert.deepEqual(rowProblems(undisturbed, await servedRows(pool, shopKey)), []);
    });
  }
});
