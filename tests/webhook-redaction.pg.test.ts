import assert from "node:assert/strict";
import { test } from "node:test";
import type { OrderDocument } from "../src/metrics/order.ts";
import { createStage, lockShop } from "../src/store/queries/import-stage.ts";
import { applyStage } from "../src/sync/apply.ts";
import { replaceDocument } from "../src/sync/document-merge.ts";
import { readStored } from "../src/sync/stored-document.ts";
import { rebuildWorkspace } from "../src/sync/rebuild.ts";
import { orderGid, orderWithReturn, putSourceLabels, tracking } from "./support/label-shop.ts";
import { startTestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import { APP_OPTIONS, connectShop, rowsOf, sendWebhook } from "./support/webhooks.ts";
import { use } from "./support/use.ts";

const service = use(() => startTestService(APP_OPTIONS));

const ORDERS = [1, 2, 3].map((number) =>
  orderWithReturn(number, { orderName: `#100${number}`, ...tracking(number, `PARCEL-${number}`) }),
);
/** By its parcel, by the order's name, and by the order itself. */
const LABELS = [
  { labelId: "by-parcel", trackingNumber: "PARCEL-1" },
  { labelId: "by-name", orderName: "#1001" },
  { labelId: "by-order", orderId: orderGid(1), orderName: "#1001", trackingNumber: "OTHER" },
  { labelId: "of-another", trackingNumber: "PARCEL-2", orderName: "#1002" },
];

/** Applies orders as the store source does. Returns how many have changed. */
async function putStoreOrders(shopKey: number, documents: readonly OrderDocument[]): Promise<number> {
  const { database } = service.installation;
  return database.transaction(async (connection) => {
    await lockShop(connection, shopKey);
    await createStage(connection);
    const stored = await connection.rows<{ order_id: string; document: unknown }>(
      { name: "test_documents", text: "select order_id, document from order_document where shop_key = $1" },
      [shopKey],
    );
    const byId = new Map(stored.map((row) => [row.order_id, readStored(row.order_id, row.document)]));
    const portions = [
      documents.map((part) => ({ orderId: part.orderId, stored: byId.get(part.orderId) ?? null, part })),
    ];
    const orders = { merge: replaceDocument, next: async () => portions.shift() ?? [] };
    const run = { connection, shopKey, currencyCode: "EUR", labels: null, orders };
    return (await applyStage({ ...run, onProgress: () => {} })).changes;
  });
}

const sharesOf = (shopKey: number) =>
  rowsOf(service, "label_share", shopKey, "label_id, order_id, line_id, label_minor, lag_days");

/** Everything of the tables that may name an order or a parcel, as text. */
async function namesIn(shopKey: number): Promise<string[]> {
  const found: string[] = [];
  for (const table of [
    "order_document",
    "order_reference",
    "return_tracking",
    "return_label",
    "audit_event",
  ]) {
    const rows = await rowsOf(service, table, shopKey, "*");
    found.push(...(JSON.stringify(rows).match(/#\d+|PARCEL-\d|OTHER/gu) ?? []));
  }
  return [...new Set(found)].toSorted();
}

test("customers/redact removes the names and parcels of the customer's orders, and no figure changes", async () => {
  const shop = "forgetting.myshopify.com";
  const { shopKey } = await createTenant(service.database);
  await connectShop(service, shopKey, shop);
  const { database } = service.installation;
  await putStoreOrders(shopKey, ORDERS);
  await putSourceLabels({ database }, shopKey, LABELS);
  const shares = await sharesOf(shopKey);
  assert.equal(shares.length, LABELS.length);
  const everyName = ["#1001", "#1002", "#1003", "OTHER", "PARCEL-1", "PARCEL-2", "PARCEL-3"];
  assert.deepEqual(await namesIn(shopKey), everyName);

  const payload = { shop_id: 1, shop_domain: shop, customer: { id: 191 }, orders_to_redact: [1] };
  assert.equal((await sendWebhook(service, { topic: "customers/redact", shop, payload })).status, 200);
  const others = ["#1002", "#1003", "PARCEL-2", "PARCEL-3"];
  assert.deepEqual(await namesIn(shopKey), others);
  const [event] = await rowsOf<{ orders: string }>(
    service,
    "audit_event",
    shopKey,
    "detail ->> 'orders' as orders, action",
  );
  assert.equal(event?.orders, "1");

  await database.transaction((connection) => rebuildWorkspace(connection, shopKey));
  assert.deepEqual(await sharesOf(shopKey), shares);
  assert.equal(await putStoreOrders(shopKey, ORDERS), 0, "what the store tells again is no change");
  await putSourceLabels({ database }, shopKey, LABELS);
  assert.deepEqual(await namesIn(shopKey), others);
  assert.deepEqual(await sharesOf(shopKey), shares);
});

test("an order that is read after its customer asked to be forgotten is stored without names", async () => {
  const shop = "later.myshopify.com";
  const { shopKey } = await createTenant(service.database);
  await connectShop(service, shopKey, shop);
  const payload = { shop_id: 1, shop_domain: shop, customer: { id: 191 }, orders_to_redact: [1, 2] };
  assert.equal((await sendWebhook(service, { topic: "customers/redact", shop, payload })).status, 200);
  await putStoreOrders(shopKey, ORDERS);
  assert.deepEqual(await namesIn(shopKey), ["#1003", "PARCEL-3"]);
  assert.equal((await rowsOf(service, "order_line", shopKey, "order_id, line_id")).length, 3);
});
