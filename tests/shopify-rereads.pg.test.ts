import assert from "node:assert/strict";
import { test } from "node:test";
import { startShopifySync } from "./support/shopify-sync.ts";

test("orders that are read again in pieces, in any order and twice, end as those of one backfill", async () => {
  const sync = await startShopifySync({ seed: 4, orders: 60, products: 12, histories: "full" });
  try {
    const live = await sync.connect();
    await live.sync("backfill");
    const first = await live.cohorts();
    /** As webhooks ask for it: orders by id, those that changed and others. */
    const readAgain = async (share: number): Promise<void> => {
      await sync.shop.rows(
        `insert into pending_record (shop_key, source, kind, record_id)
         select shop_key, 'shopify', 'order', order_id from order_document
          where shop_key = $1 and random() < $2 order by random()`,
        [live.shopKey, share],
      );
      await live.sync("refresh");
    };
    for (let round = 0; round < 3; round += 1) {
      await sync.simulator.control("change", { do: "touchOrders", count: 25, seed: round });
      await readAgain(0.4);
    }
    await readAgain(1);
    await readAgain(0.4);
    const once = await sync.connect();
    await once.sync("backfill");
    assert.notDeepEqual(await once.cohorts(), first);
    assert.deepEqual(await live.cohorts(), await once.cohorts());
  } finally {
    await sync.stop();
  }
});
