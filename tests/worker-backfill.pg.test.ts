import assert from "node:assert/strict";
import { test } from "node:test";
import { findNextRequestTime, requestRun } from "../src/store/queries/sync-request.ts";
import { openControlDatabase } from "./support/control.ts";
import { pageConnector, startPageSource } from "./support/page-source.ts";
import { connectedShop, runNext, workerOptions } from "./support/worker.ts";
import { use } from "./support/use.ts";

const control = use(openControlDatabase);
const pages = use(startPageSource);

/** A connection whose backfill waits for its next try after so many failures, and an incremental run is asked for. */
async function withFailingBackfill(failures: number, isRead: boolean): Promise<number> {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  if (isRead)
    await control.pool.query("update data_source set last_synced_at = now() where shop_key = $1", [shopKey]);
  const common = { shopKey, source: "shopify", requestedBy: "schedule" } as const;
  await requestRun(control.database, { ...common, kind: "backfill" });
  await control.pool.query(
    "update sync_request set failures = $2, run_after = now() + interval '1 hour' where shop_key = $1",
    [shopKey, failures],
  );
  await requestRun(control.database, { ...common, kind: "incremental" });
  return shopKey;
}

/** What runs next, and whether a worker would look at the connection at all. */
async function nextRunOf(shopKey: number): Promise<string | null> {
  const nextAt = await findNextRequestTime(control.database, shopKey, "shopify");
  const due = nextAt !== null && nextAt <= new Date();
  const options = workerOptions(control, [pageConnector(pages, "shopify", "store")]);
  const result = await runNext(options, { shopKey, source: "shopify" });
  assert.equal(result !== null, due);
  if (result === null) return null;
  const { rows } = await control.pool.query<{ kind: string }>("select kind from sync_run where run_id = $1", [
    result.runId,
  ]);
  return rows[0]?.kind ?? null;
}

test("a backfill that has failed three times lets others pass while it waits, and keeps its turn", async () => {
  const shopKey = await withFailingBackfill(3, true);
  assert.equal(await nextRunOf(shopKey), "incremental");
  assert.equal(await nextRunOf(shopKey), null, "the backfill still waits");
  await control.pool.query("update sync_request set run_after = now() where shop_key = $1", [shopKey]);
  const common = { shopKey, source: "shopify", requestedBy: "schedule" } as const;
  await requestRun(control.database, { ...common, kind: "incremental" });
  assert.equal(await nextRunOf(shopKey), "backfill", "due, it goes first again");
});

test("others wait for a backfill that has failed less often, and for a first one however often", async () => {
  assert.equal(await nextRunOf(await withFailingBackfill(2, true)), null);
  assert.equal(await nextRunOf(await withFailingBackfill(100, false)), null);
});
