import assert from "node:assert/strict";
import { test } from "node:test";
import { loopReturn, startLoopSimulator } from "../tools/simulators/loop/server.ts";
import { labelConnector } from "../src/sync/connectors/shared/label-run.ts";
import { LOOP } from "../src/sync/connectors/loop/connector.ts";
import { connectLabels, SMALL_PAGES, syncLabels } from "./support/label-shop.ts";
import { startShopifySync, type ShopifyWorkspace } from "./support/shopify-sync.ts";
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

test("the nightly run finds a return that ended without a webhook", async () => {
  const { order } = (await sync.simulator.control("find-order", { with: "returnOpen" })) ?? { order: 0 };
  const { returns } = (await sync.simulator.control("order", { order })) as TrueOrder;
  for (const [index, { status }] of returns.entries()) {
    if (status === "OPEN")
      await sync.simulator.control("change", { do: "closeReturn", order, return: index });
  }
  await workspace.sync("open_returns");
  const open = await sync.shop.rows(
    `select from return_request join order_reference using (shop_key, order_id)
      where shop_key = $1 and order_name = $2 and status = 'OPEN'`,
    [workspace.shopKey, `#${1000 + order}`],
  );
  assert.deepEqual(open, []);
  await workspace.sync("incremental");
  const [synced, exported] = [await workspace.cohorts(), await sync.exportedCohorts()];
  assert.deepEqual(synced.map(withoutLabels), exported.map(withoutLabels));
});

test("the nightly run finds a return that was opened and inspected without a webhook", async () => {
  const { order } = (await sync.simulator.control("find-order", { with: "returnable" })) ?? { order: 0 };
  await sync.simulator.control("change", [
    { do: "openReturn", order, line: 0, units: 1 },
    { do: "inspectReturn", order, return: 0 },
  ]);
  await workspace.sync("open_returns");
  const open = await sync.shop.rows(
    `select from return_request join order_reference using (shop_key, order_id)
      where shop_key = $1 and order_name = $2 and status = 'OPEN'`,
    [workspace.shopKey, `#${1000 + order}`],
  );
  assert.equal(open.length, 1);
});

async function askShop(query: string, variables: object = {}): Promise<unknown> {
  const answer = await fetch(`${sync.simulator.url}/admin/api/2026-10/graphql.json`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-shopify-access-token": sync.simulator.token },
    body: JSON.stringify({ query, variables }),
  });
  return answer.json();
}

test("the nightly run adds the webhooks that are missing, and the time of a change where it is missing", async () => {
  const uri = "https://returns.example/webhooks/shopify";
  const ids = ["id", "admin_graphql_api_id"];
  await askShop(
    `mutation Earlier($s: WebhookSubscriptionInput!) {
       webhookSubscriptionCreate(topic: ORDERS_UPDATED, webhookSubscription: $s) { userErrors { message } } }`,
    { s: { uri, format: "JSON", includeFields: ids } },
  );
  const { notes } = await workspace.sync("open_returns", { publicUrl: "https://returns.example" });
  assert.doesNotMatch(notes.join(" "), /Webhooks/u);
  const { data } = (await askShop(
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

/** Columns that are no sums by lag day, and sums over orders and their days with returned units: labels do not affect them. */
const OF_ORDERS: ReadonlySet<string> = new Set([
  "has_day_money",
  "year_months",
  "orders",
  "squared_sold_units",
  "order_lag_days",
  "returned_orders",
  "sold_returned_units",
  "squared_returned_units",
]);

/** A cohort row without what labels say, and without the lag days on which only a label was charged. */
function withoutLabels(row: unknown): Record<string, unknown> {
  const members = Object.entries(row as Record<string, unknown>).filter(([name]) => !name.includes("label"));
  const isCurve = ([name, value]: [string, unknown]): boolean =>
    (value === null || Array.isArray(value)) && !name.startsWith("return_") && !OF_ORDERS.has(name);
  const valuesOf = ([, value]: [string, unknown]): number[] => (value ?? []) as number[];
  const measures = members.filter((member) => isCurve(member) && member[0] !== "lag_days").map(valuesOf);
  const isStep = (_: number, place: number): boolean =>
    measures.some((values) => values[place] !== (values[place - 1] ?? 0));
  return Object.fromEntries(
    members.map((member) => [member[0], isCurve(member) ? valuesOf(member).filter(isStep) : member[1]]),
  );
}
