import assert from "node:assert/strict";
import { test } from "node:test";
import { randomOf } from "../tools/simulators/shopify/world/random.ts";
import type { SyncKind } from "../src/store/queries/sync-request.ts";
import { readCursor } from "../src/sync/connectors/shopify/settings.ts";
import { openShopifySync, startShopifySync, type ShopifyWorkspace } from "./support/shopify-sync.ts";
import { use } from "./support/use.ts";

const REASON = new Error("stopped by somebody");

const sync = use(() => startShopifySync({ seed: 21, orders: 180, products: 20 }));

/** Runs until one run completes; the earlier ones are stopped after a random time. Returns how many were stopped. */
async function syncInPieces(workspace: ShopifyWorkspace, kind: SyncKind, seed: number): Promise<number> {
  const random = randomOf(seed);
  for (let stopped = 0; ; stopped += 1) {
    const stop = new AbortController();
    const longestMs = stopped < 12 ? 200 : 60_000;
    const timer = setTimeout(() => stop.abort(REASON), random.between(1, longestMs));
    try {
      await workspace.sync(kind, { signal: stop.signal });
      return stopped;
    } catch (error) {
      assert.equal(error, REASON);
    } finally {
      clearTimeout(timer);
    }
  }
}

test("runs that are stopped anywhere continue, and end with the rows of an undisturbed run", async () => {
  const undisturbed = await sync.connect();
  await undisturbed.sync("backfill");
  const pieces = await sync.connect();
  assert.ok((await syncInPieces(pieces, "backfill", 1)) > 3);
  assert.deepEqual(await pieces.cohorts(), await undisturbed.cohorts());

  await sync.simulator.control("change", { do: "touchOrders", count: 90, seed: 2 });
  await undisturbed.sync("incremental");
  assert.ok((await syncInPieces(pieces, "incremental", 2)) > 3);
  assert.deepEqual(await pieces.cohorts(), await undisturbed.cohorts());
});

test("a continued backfill does not repeat its bulk operations or pages", async () => {
  const workspace = await sync.connect();
  await sync.simulator.control("statistics", { reset: true });
  for (const stage of ["refunds", "tracking", "cohorts"]) await workspace.stopAt("backfill", stage);
  await workspace.sync("refresh");
  const { bulkRuns, operations } = await sync.simulator.control("statistics", { reset: true });
  assert.equal(bulkRuns, 4);
  const interrupted = operations["Refunds"] ?? 0;

  const undisturbed = await sync.connect();
  await undisturbed.sync("backfill");
  const { operations: wholeRun } = await sync.simulator.control("statistics", {});
  // Stopped once among the refunds' pages: the interrupted request is repeated.
  assert.ok(interrupted <= (wholeRun["Refunds"] ?? 0) + 6, `${interrupted} requests for refunds`);
  assert.deepEqual(await workspace.cohorts(), await undisturbed.cohorts());
});

test("a webhook's request for a record that is being fetched is kept", async () => {
  const workspace = await sync.connect();
  await workspace.sync("backfill");
  const [order = ""] = await workspace.orderIds();
  await workspace.ask("order", [order]);
  const asked: Promise<unknown>[] = [];
  const { counts } = await workspace.sync("refresh", {
    onProgress: ({ stage }) => {
      if (stage === "order" && asked.length === 0) asked.push(workspace.ask("order", [order]));
    },
  });
  await Promise.all(asked);
  assert.equal(counts["orders"], 1);
  const pending = await sync.shop.rows("select record_id from pending_record where shop_key = $1", [
    workspace.shopKey,
  ]);
  assert.equal(pending.length, 1);
});

test("a run that keeps up leaves a backfill that nobody waits for behind, and the next one starts over", async (context) => {
  const own = await openShopifySync(context, { seed: 5, orders: 80, products: 10 });
  const { simulator, shop } = own;
  const workspace = await own.connect();
  const { shopKey } = workspace;
  const cursorOf = async () => {
    const [row] = await shop.rows<{ cursor: unknown }>("select cursor from data_source where shop_key = $1", [
      shopKey,
    ]);
    return readCursor(row?.cursor);
  };
  await workspace.sync("backfill");
  await workspace.stopAt("backfill", "refunds");
  assert.ok((await cursorOf()).backfill !== null);

  const { order } = (await simulator.control("find-order", { with: "refundable" })) ?? { order: 0 };
  await simulator.control("clock", { advanceSeconds: 3600 });
  await simulator.control("change", { do: "refund", order, line: 0, units: 1, restockType: "RETURN" });
  const stages = new Set<string>();
  await workspace.sync("incremental", { onProgress: (progress) => stages.add(progress.stage) });
  assert.ok(!stages.has("refunds"), "it does not continue the backfill");
  const { backfill, watermark } = await cursorOf();
  assert.deepEqual([backfill, watermark === null], [null, false]);
  const left = await shop.rows(
    "select kind from pending_record where shop_key = $1 union all select part from sync_record where shop_key = $1",
    [shopKey],
  );
  assert.deepEqual(left, []);
  const keptUp = await workspace.cohorts();
  assert.deepEqual(keptUp, await own.exportedCohorts());

  await workspace.sync("backfill");
  assert.deepEqual(await workspace.cohorts(), keptUp);
});
