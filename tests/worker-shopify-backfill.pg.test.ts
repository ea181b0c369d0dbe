import assert from "node:assert/strict";
import { test } from "node:test";
import { readCursor } from "../src/sync/connectors/shopify/settings.ts";
import { startShopifySync } from "./support/shopify-sync.ts";
import { use } from "./support/use.ts";

const sync = use(() => startShopifySync({ seed: 5, orders: 80, products: 10 }));

test("a run that keeps up leaves a backfill that nobody waits for behind, and the next one starts over", async () => {
  const { simulator, shop } = sync;
  const workspace = await sync.connect();
  const { shopKey } = workspace;
  const cursorOf = async () => {
    const [row] = await shop.rows<{ cursor: unknown }>("select cursor from data_source where shop_key = $1", [
      shopKey,
    ]);
    return readCursor(row?.cursor);
  };
  await workspace.sync("backfill");
  const stopping = new AbortController();
  const onProgress = ({ stage }: { stage: string }): void => {
    if (stage === "refunds") stopping.abort(new Error("enough"));
  };
  await assert.rejects(workspace.sync("backfill", { signal: stopping.signal, onProgress }), /enough/u);
  const unfinished = (await cursorOf()).backfill;
  assert.ok(unfinished !== null);

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
  assert.deepEqual(keptUp, await (await sync.importExport())());

  await workspace.sync("backfill");
  assert.deepEqual(await workspace.cohorts(), keptUp);
});
