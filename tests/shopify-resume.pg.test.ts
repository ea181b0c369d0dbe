import assert from "node:assert/strict";
import { test } from "node:test";
import { randomOf } from "../tools/simulators/shopify/world/random.ts";
import type { SyncKind } from "../src/store/queries/sync-request.ts";
import { startShopifySync, type ShopifyWorkspace } from "./support/shopify-sync.ts";
import { use } from "./support/use.ts";

const REASON = new Error("stopped by somebody");

const sync = use(() => startShopifySync({ seed: 21, orders: 300, products: 20 }));

/** Runs until one run comes to its end; each one before is stopped after a random time. Returns how many were. */
async function syncInPieces(workspace: ShopifyWorkspace, kind: SyncKind, seed: number): Promise<number> {
  const random = randomOf(seed);
  for (let stopped = 0; ; stopped += 1) {
    const stop = new AbortController();
    const longestMs = stopped < 25 ? 200 : 60_000;
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

test("runs that are stopped anywhere are continued, and end with the rows of an undisturbed one", async () => {
  const undisturbed = await sync.connect();
  await undisturbed.sync("backfill");
  const pieces = await sync.connect();
  assert.ok((await syncInPieces(pieces, "backfill", 1)) > 3);
  assert.deepEqual(await pieces.cohorts(), await undisturbed.cohorts());

  await sync.simulator.control("change", { do: "touchOrders", count: 150, seed: 2 });
  await undisturbed.sync("incremental");
  assert.ok((await syncInPieces(pieces, "incremental", 2)) > 3);
  assert.deepEqual(await pieces.cohorts(), await undisturbed.cohorts());
});

test("a backfill that is continued does not start its bulk operations or its pages again", async () => {
  const workspace = await sync.connect();
  await sync.simulator.control("statistics", { reset: true });
  for (const stage of ["refunds", "tracking", "cohorts"]) {
    const stop = new AbortController();
    const stopped = workspace.sync("backfill", {
      signal: stop.signal,
      onProgress: (progress) => {
        if (progress.stage === stage) stop.abort(REASON);
      },
    });
    await assert.rejects(stopped, REASON);
  }
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

test("what a webhook asks for while it is fetched stays asked for", async () => {
  const workspace = await sync.connect();
  await workspace.sync("backfill");
  const [order] = await sync.shop.rows<{ order_id: string }>(
    "select order_id from order_document where shop_key = $1 limit 1",
    [workspace.shopKey],
  );
  const ask = () =>
    sync.shop.rows(
      `insert into pending_record (shop_key, source, kind, record_id) values ($1, 'shopify', 'order', $2)
       on conflict (shop_key, source, kind, record_id) do update set requested_at = excluded.requested_at`,
      [workspace.shopKey, order?.order_id],
    );
  await ask();
  const asked: Promise<unknown>[] = [];
  const { counts } = await workspace.sync("refresh", {
    onProgress: ({ stage }) => {
      if (stage === "order" && asked.length === 0) asked.push(ask());
    },
  });
  await Promise.all(asked);
  assert.equal(counts["orders"], 1);
  const pending = await sync.shop.rows("select record_id from pending_record where shop_key = $1", [
    workspace.shopKey,
  ]);
  assert.equal(pending.length, 1);
});
