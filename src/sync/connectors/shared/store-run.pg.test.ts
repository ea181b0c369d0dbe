import assert from "node:assert/strict";
import { test } from "node:test";
import { startImportWorkspace } from "../../../../tests/support/import-workspace.ts";
import { addPending, listPending } from "../../../store/queries/sync-record.ts";
import { drainPending, type StoreRun } from "./store-run.ts";
import { use } from "../../../../tests/support/use.ts";

const shop = use(startImportWorkspace);

test("M5: an order that is asked for again while others are fetched is fetched in this run; one whose fetching had begun stays asked for", async () => {
  const shopKey = await shop.open();
  const ids = ["o0", "o1", "o2", "o3", "o4", "o5"];
  const ask = (asked: readonly string[]): Promise<void> =>
    addPending(shop.database, shopKey, "shopify", "order", asked);
  await ask(ids);
  const { signal } = new AbortController();
  const place = { database: shop.database, shopKey, source: "shopify" };
  const run = { ...place, signal, progress: () => {} } as unknown as StoreRun<null>;
  const fetched: string[] = [];
  await drainPending(
    run,
    { kind: "order" },
    () => 2,
    async (portion) => {
      if (fetched.length === 0) await ask(["o0", "o5", "o6"]);
      fetched.push(...portion);
      return [];
    },
  );
  assert.deepEqual(fetched, ids);
  const left = await listPending(shop.database, shopKey, "shopify", "order", {
    after: "",
    last: "o9",
    limit: 10,
  });
  assert.deepEqual(
    left.map((row) => row.record_id),
    ["o0", "o6"],
  );
});
