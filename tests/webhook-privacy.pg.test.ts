import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { lockShop } from "../src/store/queries/import-stage.ts";
import { untilLockIsAwaited } from "./support/locks.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { seedSmallStore } from "./support/small-store.ts";
import { createTenant } from "./support/tenants.ts";
import { APP_OPTIONS, connectShop, rowsOf, sendWebhook } from "./support/webhooks.ts";

let service: TestService;
before(async () => {
  service = await startTestService(APP_OPTIONS);
});
after(() => service.stop());

/** How many rows each table of workspaces has of one of them. */
async function rowsByTable(shopKey: number): Promise<Record<string, number>> {
  const { rows: tables } = await service.database.query<{ name: string }>(
    `select t.table_name as name
       from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
      where c.column_name = 'shop_key' and t.table_type = 'BASE TABLE' and c.table_schema = 'public'
      order by 1`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const { rows } = await service.database.query<{ count: number }>(
      `select count(*)::integer as count from ${name} where shop_key = $1`,
      [shopKey],
    );
    counts[name] = rows[0]?.count ?? 0;
  }
  return counts;
}

/** A workspace with a row in every table, connected to a shop. */
async function fullShop(shop: string): Promise<number> {
  const { shopKey } = await createTenant(service.database);
  await seedSmallStore(service.database, shopKey);
  await connectShop(service, shopKey, shop);
  return shopKey;
}

const auditOf = (shopKey: number) =>
  rowsOf<{ action: string; detail: unknown }>(service, "audit_event", shopKey, "action, detail");

test("shop/redact deletes everything of the shop's workspace and nothing of any other", async () => {
  const shop = "leaving.myshopify.com";
  const leaving = await fullShop(shop);
  const staying = await fullShop("staying.myshopify.com");
  const stored = await rowsByTable(staying);
  const seeded = await rowsByTable(leaving);
  const empty = Object.keys(seeded).filter((table) => seeded[table] === 0);
  assert.deepEqual(empty, [], "every table of workspaces is to be seeded, or this test proves nothing of it");

  const redact = { topic: "shop/redact", shop, payload: { shop_id: 1, shop_domain: shop }, webhookId: "r1" };
  assert.equal((await sendWebhook(service, redact)).status, 200);
  const left = await rowsByTable(leaving);
  assert.deepEqual(
    Object.keys(left).filter((table) => left[table] !== 0),
    [],
  );
  assert.deepEqual(await rowsByTable(staying), stored);

  assert.equal((await sendWebhook(service, redact)).status, 200);
  const [recorded, ...others] = await auditOf(0);
  assert.equal(recorded?.action, "privacy.shop_redact");
  assert.deepEqual(others, []);
});

test("shop/redact whose payload is of another shop than its header, or of none, deletes nothing", async () => {
  const shop = "target.myshopify.com";
  const shopKey = await fullShop(shop);
  const payloads = [
    { shop_id: 1, shop_domain: "attacker.myshopify.com" },
    { id: 1001, admin_graphql_api_id: "gid://shopify/Order/1001" },
    { id: 1, myshopify_domain: shop },
  ];
  for (const payload of payloads) {
    for (const topic of ["shop/redact", "customers/redact", "customers/data_request"]) {
      const response = await sendWebhook(service, { topic, shop, payload });
      assert.equal(response.status, 401, `${topic} ${JSON.stringify(payload)}`);
    }
  }
  assert.equal((await rowsByTable(shopKey))["workspace"], 1);
});

test("shop/redact of before the shop was connected again deletes nothing, and that is recorded", async () => {
  const shop = "returning.myshopify.com";
  const shopKey = await fullShop(shop);
  const late = { topic: "shop/redact", shop, payload: { shop_domain: shop }, webhookId: "late" };
  const triggeredAt = "2026-06-30T23:59:59.123456789Z";
  assert.equal((await sendWebhook(service, { ...late, triggeredAt })).status, 200);
  assert.equal((await rowsByTable(shopKey))["workspace"], 1);
  const recorded = (await auditOf(shopKey)).find(({ action }) => action === "privacy.shop_redact");
  assert.deepEqual(recorded?.detail, {
    shop,
    webhook_id: "late",
    kept: "the shop was connected again since",
  });
});

test("shop/redact that comes again does not erase the workspace that was made since", async () => {
  const shop = "again.myshopify.com";
  const first = await fullShop(shop);
  const redact = { topic: "shop/redact", shop, payload: { shop_domain: shop }, webhookId: "twice" };
  assert.equal((await sendWebhook(service, redact)).status, 200);
  assert.equal((await rowsByTable(first))["workspace"], 0);
  const second = await fullShop(shop);
  assert.equal((await sendWebhook(service, redact)).status, 200);
  assert.equal((await rowsByTable(second))["workspace"], 1);
});

test("shop/redact waits for a run that is writing, and leaves nothing of what it wrote", async () => {
  const shop = "busy.myshopify.com";
  const shopKey = await fullShop(shop);
  const { database } = service.installation;
  let erasing: Promise<Response> | null = null;
  await database.transaction(async (connection) => {
    await lockShop(connection, shopKey);
    await connection.client.query(
      "insert into order_reference (shop_key, order_id, order_name) values ($1, 'written meanwhile', '#1')",
      [shopKey],
    );
    erasing = sendWebhook(service, { topic: "shop/redact", shop, payload: { shop_domain: shop } });
    await untilLockIsAwaited(service.installation.database);
  });
  assert.equal((await (erasing as unknown as Promise<Response>)).status, 200);
  const left = Object.entries(await rowsByTable(shopKey)).filter(([, count]) => count > 0);
  assert.deepEqual(left, []);
});

test("what customers ask for is recorded once and without the customer: no personal data is stored", async () => {
  const shop = "asking.myshopify.com";
  const { shopKey } = await createTenant(service.database);
  await connectShop(service, shopKey, shop);
  const customer = { id: 191, email: "someone@mail.example", phone: "+1 555" };
  for (const topic of ["customers/data_request", "customers/redact"]) {
    const payload = { shop_id: 1, shop_domain: shop, customer };
    const request = { topic, shop, payload, webhookId: topic };
    assert.equal((await sendWebhook(service, request)).status, 200);
    assert.equal((await sendWebhook(service, request)).status, 200);
  }
  const events = await auditOf(shopKey);
  assert.deepEqual(
    events.map(({ action }) => action),
    ["privacy.customers_data_request", "privacy.customers_redact"],
  );
  assert.ok(!JSON.stringify(events).includes("someone"));
  assert.ok(!service.logs.join("").includes("someone"));
});

test("a privacy request of a shop that is not known is done already", async () => {
  const shop = "unknown.myshopify.com";
  for (const topic of ["customers/data_request", "customers/redact", "shop/redact"]) {
    const response = await sendWebhook(service, { topic, shop, payload: { shop_domain: shop } });
    assert.equal(response.status, 200);
  }
  const forged = { topic: "shop/redact", shop, payload: { shop_domain: shop }, secret: "guessed" };
  assert.equal((await sendWebhook(service, forged)).status, 401);
});
