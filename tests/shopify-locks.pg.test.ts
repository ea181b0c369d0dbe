import assert from "node:assert/strict";
import { test } from "node:test";
import { startShopifySync } from "./support/shopify-sync.ts";
import { listKeptTables, withSteps } from "./support/transaction-steps.ts";
import { use } from "./support/use.ts";

const sync = use(() => startShopifySync({ seed: 43, orders: 40, products: 10 }));

test("no transaction of a backfill keeps a table from the runs of other shops", async () => {
  const kept: string[] = [];
  let transactions = 0;
  sync.shop.database = withSteps(sync.shop.database, {
    last: async (connection) => {
      transactions += 1;
      kept.push(...(await listKeptTables(connection)));
    },
  });
  const workspace = await sync.connect();
  const outcome = await workspace.sync("backfill");
  assert.equal(outcome.counts["changed_orders"], 40);
  assert.ok(transactions > 0);
  assert.deepEqual(kept, []);
});
