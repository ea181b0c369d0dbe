import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change } from "../tools/simulators/shopify/changes.ts";
import { openShopifySync, type ShopifySync } from "./support/shopify-sync.ts";
import { listKeptTables, withSteps } from "./support/transaction-steps.ts";

/** One change of each kind that can happen to a shop after its first sync. */
async function changeStore({ simulator }: ShopifySync): Promise<void> {
  const changes: Change[] = [
    {
      do: "placeOrder",
      lines: [
        { product: 1, units: 2 },
        { product: 2, units: 1 },
      ],
    },
    { do: "placeOrder", lines: [{ product: 3, units: 4 }], processedAt: "2026-01-15T10:00:00Z" },
    { do: "changeProduct", product: 1, set: { productType: "Renamed", category: "Elsewhere > Here" } },
    { do: "deleteOrder", order: 7 },
    { do: "touchOrders", count: 30, seed: 5 },
  ];
  await simulator.control("change", changes);
  const returnable = await simulator.control("find-order", { with: "returnable" });
  assert.ok(returnable !== null);
  const { order } = returnable;
  await simulator.control("change", [
    { do: "openReturn", order, line: 0, units: 2, reason: 3 },
    { do: "closeReturn", order, return: 0, processed: [1] },
    { do: "refund", order, line: 0, units: 1, return: 0 },
  ]);
  const refundable = await simulator.control("find-order", { with: "refundable" });
  assert.ok(refundable !== null);
  await simulator.control("change", [
    { do: "refund", order: refundable.order, line: 0, units: 1, restockType: "CANCEL" },
  ]);
  const open = await simulator.control("find-order", { with: "returnOpen" });
  if (open !== null) await simulator.control("change", { do: "closeReturn", order: open.order, return: 0 });
}

for (const { seed, currencyCode } of [
  { seed: 2, currencyCode: "JPY" },
  { seed: 3, currencyCode: "KWD" },
]) {
  test(`a shop in ${currencyCode} that is synced and imported as a folder gives identical cohort rows`, async (context) => {
    const sync = await openShopifySync(context, { seed, currencyCode, orders: 50, products: 25 });
    const synced = await sync.connect();
    await synced.sync("backfill");
    const rows = await synced.cohorts();
    assert.ok(rows.length > 100);
    assert.deepEqual(rows, await sync.exportedCohorts());
  });
}

test("a shop gives identical cohort rows, synced through its API and imported as a folder, also once it has changed", async (context) => {
  const sync = await openShopifySync(context, { seed: 1, orders: 120, products: 25 });
  const synced = await sync.connect();
  const outcome = await synced.sync("backfill");
  assert.equal(outcome.counts["orders"], 120);
  const rows = await synced.cohorts();
  assert.ok(rows.length > 250);
  assert.deepEqual(rows, await sync.exportedCohorts());

  await changeStore(sync);
  await synced.sync("incremental");
  // Only a webhook reports a deleted order.
  const [deleted] = await sync.shop.rows<{ id: string }>(
    "select order_id as id from order_reference where shop_key = $1 and order_name = '#1007'",
    [synced.shopKey],
  );
  await synced.ask("order", [deleted?.id ?? ""]);
  await synced.sync("refresh");
  const changed = await synced.cohorts();
  assert.notDeepEqual(changed, rows);
  assert.deepEqual(changed, await sync.exportedCohorts());

  const again = await sync.connect();
  await again.sync("backfill");
  assert.deepEqual(await again.cohorts(), changed);
});

/** Order #1006 of this shop: jeans of 2, 1 and 3 units and a tip of 5.31, read without its ledger. */
test("M1: a tip without a ledger counts as sold neither from the API nor from the folder", async (context) => {
  const sync = await openShopifySync(context, { seed: 98, orders: 20, products: 5 });
  const synced = await sync.connect();
  await synced.sync("backfill");
  const sold = await sync.shop.rows<{ line_title: string; sold_units: number; sold_minor: number | null }>(
    `select line_title, sold_units, sold_minor from order_line l join order_reference n using (shop_key, order_id)
      where l.shop_key = $1 and n.order_name = '#1006' order by line_id`,
    [synced.shopKey],
  );
  assert.deepEqual(
    sold.map(({ sold_units }) => sold_units),
    [2, 1, 3, 0],
  );
  assert.equal(sold[3]?.line_title, "Tip");
  assert.ok(sold.every(({ sold_minor }) => sold_minor === null));
  assert.deepEqual(await synced.cohorts(), await sync.exportedCohorts());
});

test("orders that are read again in pieces, in any order and twice, end as those of one backfill", async (context) => {
  const sync = await openShopifySync(context, { seed: 4, orders: 60, products: 12, histories: "full" });
  const live = await sync.connect();
  await live.sync("backfill");
  const first = await live.cohorts();
  /** As webhooks ask for it: orders by id, those that changed and others. */
  const readAgain = async (share: number): Promise<void> => {
    await live.ask(
      "order",
      (await live.orderIds()).filter(() => Math.random() < share),
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
});

test("no transaction of a backfill keeps a table from the runs of other shops", async (context) => {
  const sync = await openShopifySync(context, { seed: 43, orders: 40, products: 10 });
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
