import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import { APP_OPTIONS, connectShop, messageOf, rowsOf, sendWebhook } from "./support/webhooks.ts";
import { use } from "./support/use.ts";

const service = use(() => startTestService(APP_OPTIONS));

/** A workspace that is connected to a shop. */
async function connectedShop(shop: string) {
  const { shopKey } = await createTenant(service.database);
  await connectShop(service, shopKey, shop);
  return { shop, shopKey };
}

const askedOf = async (shopKey: number): Promise<number> => {
  const [row] = await rowsOf<{ asked: number }>(service, "sync_request", shopKey, "asked::integer, kind");
  return row?.asked ?? 0;
};

const ORDER = { id: 1001, admin_graphql_api_id: "gid://shopify/Order/1001" };
const PRODUCT = { id: 7, admin_graphql_api_id: "gid://shopify/Product/7" };
const RETURN = { id: 5, admin_graphql_api_id: "gid://shopify/Return/5", order: ORDER };

const SHOP = "topics.myshopify.com";
const named = { shop_id: 1, shop_domain: SHOP };
/** A payload of each topic, as the platform documents it. */
const payloads: Record<string, object> = {
  "orders/updated": ORDER,
  "orders/delete": { id: 1001 },
  "refunds/create": { id: 3, order_id: 1001 },
  "products/update": PRODUCT,
  "returns/close": RETURN,
  "bulk_operations/finish": { admin_graphql_api_id: "gid://shopify/BulkOperation/1" },
  "app/uninstalled": { id: 1, myshopify_domain: SHOP },
  "app_subscriptions/update": {
    app_subscription: { admin_graphql_api_id: "gid://shopify/AppSubscription/9" },
  },
  "customers/data_request": {
    ...named,
    orders_requested: [1],
    customer: { id: 1 },
    data_request: { id: 2 },
  },
  "customers/redact": { ...named, customer: { id: 1 }, orders_to_redact: [1] },
  "shop/redact": named,
};

test("a signed body of one topic is refused under every other", async () => {
  const { shopKey } = await connectedShop(SHOP);
  for (const [from, payload] of Object.entries(payloads)) {
    for (const topic of Object.keys(payloads).filter((other) => other !== from)) {
      const response = await sendWebhook(service, { topic, shop: SHOP, payload });
      assert.equal(response.status, 400, `${from} as ${topic}`);
      assert.equal(await messageOf(response), `The payload is not one of the topic ${topic}.`);
    }
  }
  assert.deepEqual(await rowsOf(service, "webhook_delivery", shopKey, "webhook_id, topic"), []);
});

test("a body that is sent once has its effect once within a day, whatever its id", async () => {
  const { shop, shopKey } = await connectedShop("deleting.myshopify.com");
  const deleted = { topic: "orders/delete", shop, payload: { id: 1001 } };
  const answers = await Promise.all(Array.from({ length: 5 }, () => sendWebhook(service, deleted)));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  assert.equal(await askedOf(shopKey), 1);
  await service.database.query(
    "update webhook_delivery set received_at = now() - interval '25 hours' where shop_key = $1",
    [shopKey],
  );
  assert.equal((await sendWebhook(service, deleted)).status, 200);
  assert.equal(await askedOf(shopKey), 2);
});

test("a record that changes twice tells the same twice, and is fetched again", async () => {
  const { shop, shopKey } = await connectedShop("changing.myshopify.com");
  for (const topic of ["orders/updated", "returns/close"]) {
    const payload = payloads[topic];
    await sendWebhook(service, { topic, shop, payload });
    await sendWebhook(service, { topic, shop, payload });
  }
  assert.equal(await askedOf(shopKey), 4);
});

test("what no secret has signed is refused before the database is asked", async () => {
  const client = await service.database.connect();
  try {
    await client.query("begin");
    await client.query("lock table shop_directory, data_source, webhook_delivery in access exclusive mode");
    const forged = { topic: "orders/updated", shop: "no-shop.example", payload: ORDER, secret: "guessed" };
    assert.equal((await sendWebhook(service, forged)).status, 401);
    const foreign = { topic: "shop/redact", shop: SHOP, payload: ORDER };
    assert.equal((await sendWebhook(service, foreign)).status, 400);
  } finally {
    await client.query("rollback");
    client.release();
  }
});
