import assert from "node:assert/strict";
import { test } from "node:test";
import { startShopifySync, type ShopifyWorkspace } from "./support/shopify-sync.ts";
import { before, use } from "./support/use.ts";

const ORDERS = 160;
const sync = use(() => startShopifySync({ seed: 41, orders: ORDERS, products: 25 }));
let workspace: ShopifyWorkspace;
before(async () => {
  workspace = await sync.connect();
  await workspace.sync("backfill");
});

/** As-of, data version, source and readiness: what a run publishes besides its rows. */
async function published() {
  const [row] = await sync.shop.rows<{
    as_of: Date;
    readiness: string;
    status: string;
    synced: Date;
  }>(
    `select w.data_as_of as as_of, w.readiness, s.status, s.last_synced_at as synced
       from workspace w join data_source s on s.shop_key = w.shop_key and s.source = 'shopify' where w.shop_key = $1`,
    [workspace.shopKey],
  );
  assert.ok(row !== undefined);
  return row;
}

test("M5: the as-of of a backfill is its beginning, and it makes the workspace ready", async () => {
  const { as_of: asOf, readiness, status, synced } = await published();
  assert.equal(asOf.toISOString(), "2026-06-01T00:00:00.000Z");
  assert.deepEqual([readiness, status, synced], ["ready", "ok", asOf]);
  const alerts = await sync.shop.rows<{ category: string; body: string }>(
    "select category, body from alert where shop_key = $1",
    [workspace.shopKey],
  );
  const body = `${ORDERS} orders were new or changed.`;
  assert.deepEqual(alerts, [{ category: "backfill_completed", body }]);
});

test("tracking numbers and names of orders are those of the shop", async () => {
  const owners = await sync.simulator.control("label-owners", {});
  const expected = owners
    .filter(({ trackingNumber, status }) => trackingNumber !== null && /^(OPEN|CLOSED)$/.test(status))
    .map(({ orderId, orderName, returnId, trackingNumber }) => ({
      order_id: orderId,
      order_name: orderName,
      return_id: returnId,
      tracking_number: trackingNumber,
    }));
  const stored = await sync.shop.rows(
    `select t.order_id, n.order_name, t.return_id, t.tracking_number
       from return_tracking t join order_reference n using (shop_key, order_id) where shop_key = $1
      order by t.order_id, t.return_id`,
    [workspace.shopKey],
  );
  assert.ok(expected.length > 10);
  assert.deepEqual(stored, expected);
});

test("M5: an incremental run without changes only moves the as-of", async () => {
  const earlier = await published();
  const rows = await workspace.cohorts();
  await sync.simulator.control("clock", { advanceSeconds: 3600 });
  const { counts } = await workspace.sync("incremental");
  const later = await published();
  assert.equal(later.as_of.getTime() - earlier.as_of.getTime(), 3600_000);
  assert.deepEqual(await workspace.cohorts(), rows);
  assert.equal(counts["changed_orders"], 0);
});

test("a run over open returns reads their orders and does not change the as-of", async () => {
  const earlier = await published();
  const owners = await sync.simulator.control("label-owners", {});
  const open = new Set(
    owners.filter(({ status }) => /^(OPEN|REQUESTED)$/.test(status)).map((row) => row.orderId),
  );
  assert.ok(open.size > 0);
  await sync.simulator.control("clock", { advanceSeconds: 3600 });
  const { counts } = await workspace.sync("open_returns");
  assert.equal(counts["orders"], open.size);
  assert.deepEqual((await published()).as_of, earlier.as_of);
});

test("a deleted order is removed, a deleted product stays as last known", async () => {
  await sync.simulator.control("change", [
    { do: "deleteOrder", order: 9 },
    { do: "deleteProduct", product: 4 },
  ]);
  const [order] = await sync.shop.rows<{ order_id: string }>(
    "select order_id from order_reference where shop_key = $1 and order_name = '#1009'",
    [workspace.shopKey],
  );
  const products = () => sync.shop.rows("select * from product where shop_key = $1", [workspace.shopKey]);
  const known = (await products()).length;
  await workspace.ask("order", [order?.order_id ?? "", "gid://shopify/Order/1"]);
  await workspace.ask("product", ["gid://shopify/Product/7900000000004"]);
  const { counts } = await workspace.sync("refresh");
  assert.deepEqual([counts["orders"], counts["changed_orders"]], [2, 1]);
  const left = await sync.shop.rows(
    "select from order_document where shop_key = $1 and order_id = $2 union all select from order_line where shop_key = $1 and order_id = $2",
    [workspace.shopKey, order?.order_id],
  );
  assert.deepEqual(left, []);
  assert.equal((await products()).length, known);
});

const small = use(() => startShopifySync({ seed: 42, orders: 10, products: 25 }));

test("a first run is a backfill, whatever kind was requested", async () => {
  const other = await small.connect();
  const { counts } = await other.sync("refresh");
  assert.equal(counts["orders"], 10);
});

test("settings define where families are found and what counts as used", async () => {
  const other = await small.connect();
  await other.sync("backfill", { settings: { familyTagPrefix: "season-", usedConditions: ["Refurbished"] } });
  const families = await small.shop.rows<{ family: string | null }>(
    "select distinct family from product where shop_key = $1 order by 1 nulls last",
    [other.shopKey],
  );
  assert.ok(families.length > 1);
  for (const { family } of families) assert.match(family ?? "1", /^\d$/);
});
