import assert from "node:assert/strict";
import { test } from "node:test";
import { startShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { lockWorkspace } from "../src/store/queries/import-stage.ts";
import { untilLockIsAwaited } from "./support/locks.ts";
import { countRowsByTable } from "./support/rows-by-table.ts";
import { startTestService } from "./support/service.ts";
import { seedSmallStore } from "./support/small-store.ts";
import { createTenant } from "./support/tenants.ts";
import { APP, APP_OPTIONS, connectShop, rowsOf, sendWebhook } from "./support/webhooks.ts";
import { use } from "./support/use.ts";

const service = use(() => startTestService(APP_OPTIONS));
const simulator = use(() => startShopifySimulator({ ...APP, orders: 10, products: 3 }));

const rowsByTable = (shopKey: number) => countRowsByTable(service.database, shopKey);

/** A workspace with a row in every table, connected to a shop that rejects its token unless given a valid one. */
async function fullWorkspace(shop: string, secrets: Record<string, string> = {}): Promise<number> {
  const { shopKey } = await createTenant(service.database);
  await seedSmallStore(service.database, shopKey);
  await connectShop(service, shopKey, shop, secrets, simulator.url);
  return shopKey;
}

const redactionOf = (shop: string) => ({
  topic: "shop/redact",
  shop,
  payload: { shop_id: 1, shop_domain: shop },
});

const auditOf = (shopKey: number) =>
  rowsOf<{ action: string; detail: unknown }>(service, "audit_event", shopKey, "action, detail");

test("shop/redact deletes everything of the shop's workspace and nothing of any other", async () => {
  const shop = "leaving.myshopify.com";
  const leaving = await fullWorkspace(shop);
  const staying = await fullWorkspace("staying.myshopify.com");
  const stored = await rowsByTable(staying);
  const seeded = await rowsByTable(leaving);
  const empty = Object.keys(seeded).filter((table) => seeded[table] === 0);
  assert.deepEqual(empty, [], "every table of workspaces is to be seeded, or this test proves nothing of it");

  const redact = { ...redactionOf(shop), webhookId: "r1" };
  assert.equal((await sendWebhook(service, redact)).status, 200);
  const left = await rowsByTable(leaving);
  assert.deepEqual(
    Object.keys(left).filter((table) => left[table] !== 0),
    [],
  );
  assert.deepEqual(await rowsByTable(staying), stored);

  assert.equal((await sendWebhook(service, redact)).status, 200);
  const recorded = await service.database.query("select action from identity_event");
  assert.deepEqual(recorded.rows, [{ action: "privacy.shop_redact" }]);
});

test("privacy requests whose payload is of another shop than their header remove nothing", async () => {
  const shop = "target.myshopify.com";
  const shopKey = await fullWorkspace(shop);
  const foreign = { shop_id: 1, shop_domain: "attacker.myshopify.com" };
  const customer = { id: 191 };
  const requests = {
    "shop/redact": foreign,
    "customers/redact": { ...foreign, customer, orders_to_redact: [1001] },
    "customers/data_request": { ...foreign, customer, data_request: { id: 1 } },
  };
  for (const [topic, payload] of Object.entries(requests)) {
    assert.equal((await sendWebhook(service, { topic, shop, payload })).status, 401, topic);
  }
  assert.equal((await rowsByTable(shopKey))["workspace"], 1);
});

test("shop/redact of a shop whose token still works erases nothing, which is logged and recorded once", async () => {
  const shop = "installed.myshopify.com";
  const shopKey = await fullWorkspace(shop, { accessToken: simulator.token });
  const stored = await rowsByTable(shopKey);
  for (const webhookId of ["kept", "kept again"]) {
    assert.equal((await sendWebhook(service, { ...redactionOf(shop), webhookId })).status, 200);
  }
  const left = await rowsByTable(shopKey);
  assert.deepEqual(
    { ...left, audit_event: 0, webhook_delivery: 0 },
    { ...stored, audit_event: 0, webhook_delivery: 0 },
  );
  const recorded = (await auditOf(shopKey)).filter(({ action }) => action === "privacy.shop_redact");
  const kept = "the platform still accepts the shop's token: the app is installed";
  assert.deepEqual(
    recorded.map(({ detail }) => detail),
    [{ shop, webhook_id: "kept", kept }],
  );
  assert.ok(service.logs.some((line) => line.includes("shop/redact erased nothing") && line.includes(shop)));
});

test("shop/redact is answered so that it is sent again while the platform cannot say whether the app is installed", async () => {
  const shop = "silent.myshopify.com";
  const { shopKey } = await createTenant(service.database);
  await connectShop(service, shopKey, shop, {}, "http://127.0.0.1:1");
  const redact = { ...redactionOf(shop), webhookId: "unanswered" };
  for (let attempt = 1; attempt <= 2; attempt += 1) {
    const response = await sendWebhook(service, redact);
    assert.deepEqual([response.status, response.headers.get("Retry-After")], [503, "10"]);
  }
  const events = (await auditOf(shopKey)).filter(({ action }) => action === "privacy.shop_redact");
  assert.equal(events.length, 1);
  await service.database.query(
    "update data_source set settings = settings || jsonb_build_object('url', $2::text) where shop_key = $1",
    [shopKey, simulator.url],
  );
  assert.equal((await sendWebhook(service, redact)).status, 200);
  assert.equal((await rowsByTable(shopKey))["workspace"], 0);
});

test("shop/redact from before the shop was connected again deletes nothing, and that is recorded", async () => {
  const shop = "returning.myshopify.com";
  const shopKey = await fullWorkspace(shop);
  const triggeredAt = "2026-06-30T23:59:59.123456789Z";
  const late = { ...redactionOf(shop), webhookId: "late", triggeredAt };
  assert.equal((await sendWebhook(service, late)).status, 200);
  assert.equal((await rowsByTable(shopKey))["workspace"], 1);
  const recorded = (await auditOf(shopKey)).find(({ action }) => action === "privacy.shop_redact");
  assert.deepEqual(recorded?.detail, {
    shop,
    webhook_id: "late",
    kept: "the shop was connected again since",
  });
});

for (const [name, under, id] of [
  ["again", "under its id", { webhookId: "twice" }],
  ["once", "under another id", {}],
] as const) {
  test(`shop/redact that comes again ${under} does not erase the workspace that was made since`, async () => {
    const shop = `${name}.myshopify.com`;
    const redact = { ...redactionOf(shop), ...id };
    const first = await fullWorkspace(shop);
    assert.equal((await sendWebhook(service, redact)).status, 200);
    assert.equal((await rowsByTable(first))["workspace"], 0);
    const second = await fullWorkspace(shop);
    assert.equal((await sendWebhook(service, redact)).status, 200);
    assert.equal((await rowsByTable(second))["workspace"], 1);
  });
}

for (const [what, isReconnected] of [
  ["leaves nothing of what it wrote", false],
  ["erases no shop that was connected again meanwhile", true],
] as const) {
  test(`shop/redact waits for a run that is writing, and ${what}`, async () => {
    const shop = `busy-${isReconnected}.myshopify.com`;
    const shopKey = await fullWorkspace(shop);
    const { database } = service.installation;
    let erasing: Promise<Response> | null = null;
    await database.transaction(async (connection) => {
      await lockWorkspace(connection, shopKey);
      await connection.client.query(
        "insert into order_reference (shop_key, order_id, order_name) values ($1, 'written meanwhile', '#1')",
        [shopKey],
      );
      erasing = sendWebhook(service, redactionOf(shop));
      await untilLockIsAwaited(service.installation.database);
      if (!isReconnected) return;
      const reconnect = "update data_source set sealed_credentials = 'new' where shop_key = $1";
      await connection.client.query(reconnect, [shopKey]);
    });
    assert.equal((await (erasing as unknown as Promise<Response>)).status, isReconnected ? 503 : 200);
    const left = Object.entries(await rowsByTable(shopKey)).filter(([, count]) => count > 0);
    assert.equal(left.length > 0, isReconnected);
  });
}

test("customers' privacy requests are recorded once and without the customer", async () => {
  const shop = "asking.myshopify.com";
  const { shopKey } = await createTenant(service.database);
  await connectShop(service, shopKey, shop);
  const customer = { id: 191, email: "someone@mail.example", phone: "+1 555" };
  const named = { shop_id: 1, shop_domain: shop, customer };
  const payloads = {
    "customers/data_request": { ...named, orders_requested: [], data_request: { id: 1 } },
    "customers/redact": { ...named, orders_to_redact: [] },
  };
  for (const [topic, payload] of Object.entries(payloads)) {
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      assert.equal((await sendWebhook(service, { topic, shop, payload })).status, 200);
    }
  }
  const events = await auditOf(shopKey);
  assert.deepEqual(
    events.map(({ action }) => action),
    ["privacy.customers_data_request", "privacy.customers_redact"],
  );
  assert.ok(!JSON.stringify(events).includes("someone"));
  assert.ok(!service.logs.join("").includes("someone"));
});

test("a privacy request of an unknown shop is accepted without an action", async () => {
  const shop = "unknown.myshopify.com";
  const named = { shop_id: 1, shop_domain: shop };
  const payloads = {
    "customers/data_request": { ...named, customer: {}, data_request: {} },
    "customers/redact": { ...named, customer: {}, orders_to_redact: [1001] },
    "shop/redact": named,
  };
  for (const [topic, payload] of Object.entries(payloads)) {
    assert.equal((await sendWebhook(service, { topic, shop, payload })).status, 200);
  }
  const forged = { ...redactionOf(shop), secret: "guessed" };
  assert.equal((await sendWebhook(service, forged)).status, 401);
});
