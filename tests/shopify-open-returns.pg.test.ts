import assert from "node:assert/strict";
import { test } from "node:test";
import { loopReturn, startLoopSimulator } from "../tools/simulators/loop/server.ts";
import { labelConnector } from "../src/sync/connectors/shared/label-run.ts";
import { LOOP } from "../src/sync/connectors/loop/connector.ts";
import { connectLabels, SMALL_PAGES, syncLabels } from "./support/label-shop.ts";
import { askShop, startShopifySync, type ShopifyWorkspace } from "./support/shopify-sync.ts";
import { before, use } from "./support/use.ts";

const sync = use(() => startShopifySync({ seed: 51, orders: 300, products: 20 }));
let workspace: ShopifyWorkspace;
before(async () => {
  const { order } = (await sync.simulator.control("find-order", { with: "returnable" })) ?? { order: 0 };
  await sync.simulator.control("change", { do: "openReturn", order, line: 0, units: 2, approved: false });
  workspace = await sync.connect();
  await workspace.sync("backfill");
});

type TrueOrder = {
  number: number;
  returns: { status: string; items: { quantity: number }[] }[];
};

/** The shop's orders with a return in this status, each with what actually happened. */
async function ordersWith(status: string): Promise<(TrueOrder & { orderId: string })[]> {
  const owners = await sync.simulator.control("label-owners", {});
  const found = owners.filter((owner) => owner.status === status);
  return Promise.all(
    [...new Map(found.map(({ orderId, orderName }) => [orderId, orderName]))].map(
      async ([orderId, orderName]) => {
        const order = Number(orderName.slice(1)) - 1000;
        return { orderId, ...((await sync.simulator.control("order", { order })) as TrueOrder) };
      },
    ),
  );
}

for (const status of ["REQUESTED", "OPEN", "DECLINED", "CANCELED"]) {
  test(`M2: lifecycle coverage has the requested units of ${status} returns`, async () => {
    const orders = await ordersWith(status);
    assert.ok(orders.length > 0);
    const stored = await sync.shop.rows<{ order_id: string; units: number }>(
      `select order_id, sum(units)::integer as units from return_request
        where shop_key = $1 and status = $2 group by order_id`,
      [workspace.shopKey, status],
    );
    assert.ok(stored.length > 0);
    for (const { order_id: orderId, units } of stored) {
      const returns = orders.find((order) => order.orderId === orderId)?.returns ?? [];
      const asked = returns.filter((row) => row.status === status).flatMap((row) => row.items);
      const askedUnits = asked.reduce((sum, item) => sum + item.quantity, 0);
      assert.ok(units > 0 && units <= askedUnits, `${units} of ${askedUnits} units of ${orderId}`);
    }
    const [served] = await sync.shop.rows(
      `select sum(${status.toLowerCase()}_units)::integer as units
         from cohort where shop_key = $1 and entity_kind = 'workspace'`,
      [workspace.shopKey],
    );
    assert.deepEqual(served, { units: stored.reduce((sum, row) => sum + row.units, 0) });
  });
}

async function countOpen(order: number): Promise<number> {
  const open = await sync.shop.rows(
    `select from return_request join order_reference using (shop_key, order_id)
      where shop_key = $1 and order_name = $2 and status = 'OPEN'`,
    [workspace.shopKey, `#${1000 + order}`],
  );
  return open.length;
}

test("the nightly run finds a return that ended without a webhook", async () => {
  const { order } = (await sync.simulator.control("find-order", { with: "returnOpen" })) ?? { order: 0 };
  const { returns } = (await sync.simulator.control("order", { order })) as TrueOrder;
  for (const [index, { status }] of returns.entries()) {
    if (status === "OPEN")
      await sync.simulator.control("change", { do: "closeReturn", order, return: index });
  }
  await workspace.sync("open_returns");
  assert.equal(await countOpen(order), 0);
  await workspace.sync("incremental");
  assert.deepEqual(await workspace.cohorts(), await sync.exportedCohorts());
});

test("the nightly run finds a return that was opened and inspected without a webhook", async () => {
  const { order } = (await sync.simulator.control("find-order", { with: "returnable" })) ?? { order: 0 };
  await sync.simulator.control("change", [
    { do: "openReturn", order, line: 0, units: 1 },
    { do: "inspectReturn", order, return: 0 },
  ]);
  await workspace.sync("open_returns");
  assert.equal(await countOpen(order), 1);
});

test("the nightly run adds the webhooks that are missing, and the time of a change where it is missing", async () => {
  const uri = "https://returns.example/webhooks/shopify";
  const ids = ["id", "admin_graphql_api_id"];
  await askShop(
    sync.simulator,
    `mutation Earlier($s: WebhookSubscriptionInput!) {
       webhookSubscriptionCreate(topic: ORDERS_UPDATED, webhookSubscription: $s) { userErrors { message } } }`,
    { s: { uri, format: "JSON", includeFields: ids } },
  );
  const { notes } = await workspace.sync("open_returns", { publicUrl: "https://returns.example" });
  assert.doesNotMatch(notes.join(" "), /Webhooks/u);
  const { data } = (await askShop(
    sync.simulator,
    "query Q { webhookSubscriptions(first: 50) { nodes { topic uri includeFields } } }",
  )) as { data: { webhookSubscriptions: { nodes: { topic: string }[] } } };
  const { nodes } = data.webhookSubscriptions;
  assert.equal(nodes.length, 17);
  const ofOrders = nodes.filter(({ topic }) => topic === "ORDERS_UPDATED");
  assert.deepEqual(ofOrders, [{ topic: "ORDERS_UPDATED", uri, includeFields: [...ids, "updated_at"] }]);
});

test("a run goes on where the shop refuses a webhook, and says so", async () => {
  const { notes } = await workspace.sync("open_returns", { publicUrl: "ftp://returns.example" });
  assert.match(
    notes.join(" "),
    /^Webhooks are not registered: Shopify does not send RETURNS_APPROVE to ftp:/u,
  );
});

test("M10: the label of an open return is matched to it", async (context) => {
  const [parcel] = await sync.shop.rows<{ tracking_number: string; order_id: string; return_id: string }>(
    `select t.tracking_number, t.order_id, t.return_id
       from return_tracking t join return_request r using (shop_key, order_id, return_id)
      where t.shop_key = $1 and r.status = 'OPEN'
        and not exists (select from return_event e where e.shop_key = $1 and e.order_id = t.order_id) limit 1`,
    [workspace.shopKey],
  );
  assert.ok(parcel !== undefined);
  const label = { rate: 999, trackingNumber: parcel.tracking_number, status: "in_transit" };
  const loop = await startLoopSimulator({
    returns: [loopReturn({ id: "1", createdAt: "2026-05-30T00:00:00.000Z", labels: [label] })],
  });
  context.after(() => loop.stop());
  await connectLabels(sync.shop, workspace.shopKey, "loop");
  await syncLabels(sync.shop, workspace.shopKey, labelConnector(LOOP, SMALL_PAGES), loop);
  const shares = await sync.shop.rows("select order_id, label_minor from label_share where shop_key = $1", [
    workspace.shopKey,
  ]);
  assert.deepEqual(shares, [{ order_id: parcel.order_id, label_minor: 999 }]);
});
