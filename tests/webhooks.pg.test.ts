import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { COMMON_HEADERS } from "../src/http/headers.ts";
import { answerRequest, requestRun } from "../src/store/queries/sync-request.ts";
import { startTestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import { APP_OPTIONS, connectShop, messageOf, rowsOf, sendWebhook } from "./support/webhooks.ts";
import { use } from "./support/use.ts";
import { rebuildWorkspace } from "../src/sync/rebuild.ts";
import { orderGid, orderWithReturn, putOrders, putSourceLabels, tracking } from "./support/label-shop.ts";

const service = use(() => startTestService(APP_OPTIONS));
let shops = 0;

/** A workspace that is connected to a separate shop. */
async function connectedShop(
  secrets: Record<string, string> = {},
  shop = `shop-${(shops += 1)}.myshopify.com`,
) {
  const { shopKey } = await createTenant(service.database);
  await connectShop(service, shopKey, shop, secrets);
  return { shop, shopKey };
}

const pendingOf = async (shopKey: number): Promise<string[]> => {
  const rows = await rowsOf<{ kind: string; record_id: string }>(
    service,
    "pending_record",
    shopKey,
    "kind, record_id",
  );
  return rows.map(({ kind, record_id: id }) => `${kind} ${id}`);
};

const requestsOf = async (shopKey: number): Promise<string[]> => {
  const rows = await rowsOf<{ kind: string; asked: string; requested_by: string }>(
    service,
    "sync_request",
    shopKey,
    "kind, asked, requested_by",
  );
  return rows.map(({ kind, asked, requested_by: by }) => `${kind} ${asked} ${by}`);
};

const ORDER = { id: 1001, admin_graphql_api_id: "gid://shopify/Order/1001" };
const PRODUCT = { id: 7, admin_graphql_api_id: "gid://shopify/Product/7" };
const RETURN = { id: 5, admin_graphql_api_id: "gid://shopify/Return/5", order: ORDER };

describe("signature and shop", () => {
  test("a delivery that is not signed by the app is refused and changes nothing", async () => {
    const { shop, shopKey } = await connectedShop();
    const forgeries = [{ secret: "guessed" }, { signature: "" }, { signature: "bm90IGEgc2lnbmF0dXJl" }];
    for (const forgery of forgeries) {
      const response = await sendWebhook(service, {
        topic: "orders/updated",
        shop,
        payload: ORDER,
        ...forgery,
      });
      assert.equal(response.status, 401);
      assert.equal(await messageOf(response), "The signature of this delivery is not that of the app.");
    }
    assert.deepEqual(await pendingOf(shopKey), []);
    assert.deepEqual(await rowsOf(service, "webhook_delivery", shopKey, "webhook_id, topic"), []);
  });

  test("a connection's own client secret signs for its shop alone", async () => {
    const own = await connectedShop({ clientSecret: "own-secret" });
    const other = await connectedShop();
    const delivery = { topic: "orders/updated", payload: ORDER, secret: "own-secret" };
    assert.equal((await sendWebhook(service, { ...delivery, shop: own.shop })).status, 200);
    assert.equal((await sendWebhook(service, { ...delivery, shop: other.shop })).status, 401);
    assert.deepEqual(await pendingOf(own.shopKey), ["order gid://shopify/Order/1001"]);
    // No index takes an id of so many random letters, and no row is to have so long a topic.
    const long = randomBytes(6000).toString("hex");
    const hostile = {
      ...delivery,
      shop: own.shop,
      topic: `returns/${long}`,
      webhookId: long,
      payload: RETURN,
    };
    assert.equal((await sendWebhook(service, hostile)).status, 200);
    const kept = await rowsOf<{ topic: string }>(
      service,
      "webhook_delivery",
      own.shopKey,
      "topic, webhook_id",
    );
    assert.ok(kept.every(({ topic }) => topic.length <= 255));
  });

  test("a delivery of an unconnected shop is told so only if its signature is valid", async () => {
    const delivery = { topic: "orders/updated", shop: "stranger.myshopify.com", payload: ORDER };
    const response = await sendWebhook(service, delivery);
    assert.equal(response.status, 404);
    assert.equal(await messageOf(response), "No workspace is connected to stranger.myshopify.com.");
    assert.equal((await sendWebhook(service, { ...delivery, secret: "guessed" })).status, 401);
  });

  test("answers carry the common headers, and other methods are refused with the allowed one", async () => {
    const { shop } = await connectedShop();
    const taken = await sendWebhook(service, { topic: "orders/updated", shop, payload: ORDER });
    const refused = await sendWebhook(service, {
      topic: "orders/updated",
      shop,
      payload: ORDER,
      secret: "x",
    });
    for (const response of [taken, refused]) {
      for (const [name, value] of Object.entries(COMMON_HEADERS)) {
        assert.equal(response.headers.get(name), value);
      }
      assert.ok(response.headers.has("X-Request-ID"));
    }
    const get = await fetch(`${service.address}/webhooks/shopify`);
    assert.deepEqual([get.status, get.headers.get("Allow")], [405, "POST"]);
  });

  test("a body of ten megabytes is refused", async () => {
    const { shop } = await connectedShop();
    const large = await sendWebhook(service, { topic: "orders/updated", shop, payload: "x".repeat(10e6) });
    assert.equal(large.status, 413);
  });
});

describe("what is fetched again", () => {
  const order = "order gid://shopify/Order/1001";
  const product = "product gid://shopify/Product/7";
  const cases: [topic: string, payload: object, pending: string[]][] = [
    ["orders/updated", ORDER, [order]],
    ["orders/cancelled", ORDER, [order]],
    ["orders/delete", { id: 1001 }, ["deleted_order gid://shopify/Order/1001"]],
    ["refunds/create", { id: 3, order_id: 1001 }, [order]],
    ["products/update", PRODUCT, [product]],
    ["products/delete", { id: 7 }, [product]],
    [
      "returns/update",
      { admin_graphql_api_id: RETURN.admin_graphql_api_id },
      ["return gid://shopify/Return/5"],
    ],
    ["bulk_operations/finish", { admin_graphql_api_id: "gid://shopify/BulkOperation/1" }, []],
  ];
  for (const event of ["request", "approve", "decline", "cancel", "close", "reopen", "process"]) {
    cases.push([`returns/${event}`, RETURN, [order]]);
  }
  for (const event of ["cancel", "close", "reopen"]) {
    const { id, admin_graphql_api_id } = RETURN;
    cases.push([`returns/${event}`, { id, admin_graphql_api_id, order_id: 1001 }, [order]]);
  }

  for (const [topic, payload, pending] of cases) {
    test(`${topic} with ${Object.keys(payload).join()} requests ${pending.join() || "a run"}`, async () => {
      const { shop, shopKey } = await connectedShop();
      assert.equal((await sendWebhook(service, { topic, shop, payload })).status, 200);
      assert.deepEqual(await pendingOf(shopKey), pending);
      assert.deepEqual(await requestsOf(shopKey), ["refresh 1 webhook"]);
    });
  }

  test("the run waits a quarter of a minute, however many deliveries follow", async () => {
    const { shop, shopKey } = await connectedShop();
    const waitOf = async (): Promise<number> => {
      const { rows } = await service.database.query<{ seconds: number }>(
        `select extract(epoch from run_after - requested_at)::float8 as seconds from sync_request
          where shop_key = $1`,
        [shopKey],
      );
      return rows[0]?.seconds ?? NaN;
    };
    await sendWebhook(service, { topic: "orders/updated", shop, payload: ORDER });
    assert.ok(Math.abs((await waitOf()) - 15) < 0.1, String(await waitOf()));
    const runAfter = await rowsOf(service, "sync_request", shopKey, "run_after, kind");
    await sendWebhook(service, { topic: "products/update", shop, payload: PRODUCT });
    assert.deepEqual(await rowsOf(service, "sync_request", shopKey, "run_after, kind"), runAfter);
    const request = { shop_key: shopKey, source: "shopify", kind: "refresh", asked: 1 } as const;
    await answerRequest(service.installation.database, request);
    assert.ok((await waitOf()) > 14, "what arrived during a run waits as long again");
    const { database } = service.installation;
    await requestRun(database, { shopKey, source: "shopify", kind: "refresh", requestedBy: "operator" });
    assert.ok((await waitOf()) < 0.1, "a person does not wait");
  });

  test("an unrequested topic is accepted and changes nothing", async () => {
    const { shop, shopKey } = await connectedShop();
    assert.equal((await sendWebhook(service, { topic: "carts/create", shop, payload: {} })).status, 200);
    assert.deepEqual([await pendingOf(shopKey), await requestsOf(shopKey)], [[], []]);
  });

  test("a delivery that arrives five times at once has its effect once", async () => {
    const { shop, shopKey } = await connectedShop();
    const delivery = { topic: "orders/updated", shop, payload: ORDER, webhookId: "the-same" };
    const answers = await Promise.all(Array.from({ length: 5 }, () => sendWebhook(service, delivery)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.deepEqual(await requestsOf(shopKey), ["refresh 1 webhook"]);
    await service.database.query("delete from pending_record where shop_key = $1", [shopKey]);
    await sendWebhook(service, delivery);
    assert.deepEqual(await pendingOf(shopKey), []);
    await sendWebhook(service, { ...delivery, webhookId: "another" });
    assert.deepEqual(await pendingOf(shopKey), [order]);
    assert.deepEqual(await requestsOf(shopKey), ["refresh 2 webhook"]);
  });
});

/** What became of a workspace's connection. */
async function stateOf(shopKey: number) {
  const { rows } = await service.database.query<Record<string, unknown>>(
    `select w.readiness, w.billing_status, s.status, s.last_error, s.sealed_credentials is not null as has_secrets
       from workspace w join data_source s on s.shop_key = w.shop_key and s.source = 'shopify'
      where w.shop_key = $1`,
    [shopKey],
  );
  return rows[0];
}

describe("the app's installation", () => {
  test("app/uninstalled deletes the credentials, and the workspace waits to be connected again", async () => {
    const { shop, shopKey } = await connectedShop();
    await sendWebhook(service, { topic: "orders/updated", shop, payload: ORDER });
    const uninstalled = { topic: "app/uninstalled", shop, payload: { id: 1, myshopify_domain: shop } };
    assert.equal((await sendWebhook(service, uninstalled)).status, 200);
    assert.deepEqual(await stateOf(shopKey), {
      readiness: "reconnecting",
      billing_status: "active",
      status: "disconnected",
      last_error: "The app was uninstalled from the shop: connect it again.",
      has_secrets: false,
    });
    assert.deepEqual(await requestsOf(shopKey), []);
    await sendWebhook(service, { topic: "orders/updated", shop, payload: ORDER });
    assert.deepEqual(await requestsOf(shopKey), []);
    const audit = await rowsOf(service, "audit_event", shopKey, "action, actor");
    assert.deepEqual(audit, [{ action: "source.uninstalled", actor: "shopify" }]);
  });

  test("one from before the shop was connected again ends nothing", async () => {
    const { shop, shopKey } = await connectedShop();
    const payload = { id: 1, myshopify_domain: shop };
    const late = { topic: "app/uninstalled", shop, payload, triggeredAt: "2026-06-30T23:59:59.123456789Z" };
    assert.equal((await sendWebhook(service, late)).status, 200);
    assert.equal((await stateOf(shopKey))?.["has_secrets"], true);
    await sendWebhook(service, { ...late, triggeredAt: "2026-07-01T00:00:01Z" });
    assert.equal((await stateOf(shopKey))?.["has_secrets"], false);
  });

  test("the app is uninstalled again with the same body, after the shop was connected again on that day", async () => {
    const { shop, shopKey } = await connectedShop();
    const uninstalled = { topic: "app/uninstalled", shop, payload: { id: 1, myshopify_domain: shop } };
    await sendWebhook(service, { ...uninstalled, triggeredAt: "2026-07-01T08:00:00Z" });
    await service.database.query(
      `update data_source set sealed_credentials = '', status = 'ok',
              settings = settings || '{"connectedAt": "2026-07-01T09:00:00Z"}' where shop_key = $1`,
      [shopKey],
    );
    const hasSecretsAfter = async (triggeredAt: string) => {
      assert.equal((await sendWebhook(service, { ...uninstalled, triggeredAt })).status, 200);
      return (await stateOf(shopKey))?.["has_secrets"];
    };
    assert.equal(await hasSecretsAfter("2026-07-01T08:00:00Z"), true, "the first one, sent again");
    assert.equal(await hasSecretsAfter("2026-07-01T10:00:00Z"), false);
  });

  test("a payload of another shop than the header's is refused", async () => {
    const { shop, shopKey } = await connectedShop();
    const payload = { id: 1, myshopify_domain: "other.myshopify.com" };
    const response = await sendWebhook(service, { topic: "app/uninstalled", shop, payload });
    assert.equal(response.status, 401);
    assert.equal((await stateOf(shopKey))?.["has_secrets"], true);
  });

  test("a changed subscription is read from the platform, whatever the delivery says", async () => {
    const { shop, shopKey } = await connectedShop();
    const subscription = { admin_graphql_api_id: "gid://shopify/AppSubscription/9", status: "CANCELLED" };
    const payload = { app_subscription: subscription };
    await sendWebhook(service, { topic: "app_subscriptions/update", shop, payload });
    assert.deepEqual(await pendingOf(shopKey), []);
    assert.deepEqual(await requestsOf(shopKey), ["refresh 1 webhook"]);
    assert.equal((await stateOf(shopKey))?.["billing_status"], "active");
  });

  test("without a connection deliveries change nothing: deletions wait for the next connection", async () => {
    const { shop, shopKey } = await connectedShop();
    const uninstalled = { topic: "app/uninstalled", shop, payload: { id: 1, myshopify_domain: shop } };
    await sendWebhook(service, uninstalled);
    const subscription = { admin_graphql_api_id: "gid://shopify/AppSubscription/9", status: "CANCELLED" };
    const payload = { app_subscription: subscription };
    await sendWebhook(service, { topic: "app_subscriptions/update", shop, payload });
    await sendWebhook(service, { topic: "orders/updated", shop, payload: ORDER });
    await sendWebhook(service, { topic: "orders/delete", shop, payload: { id: 1001 } });
    assert.equal((await stateOf(shopKey))?.["billing_status"], "active");
    assert.deepEqual(await pendingOf(shopKey), ["deleted_order gid://shopify/Order/1001"]);
    assert.deepEqual(await requestsOf(shopKey), []);
  });

  test("a shop that refuses the credentials is not read again, but its deliveries are kept", async () => {
    const { shop, shopKey } = await connectedShop();
    await service.database.query("update data_source set status = 'disconnected' where shop_key = $1", [
      shopKey,
    ]);
    await sendWebhook(service, { topic: "orders/updated", shop, payload: ORDER });
    assert.deepEqual(await pendingOf(shopKey), ["order gid://shopify/Order/1001"]);
    assert.deepEqual(await requestsOf(shopKey), []);
  });
});

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

/** What lacks that which its topic names. */
const malformed: [topic: string, payload: unknown][] = [
  ...[null, [], "text", {}, { id: "not a number" }, { admin_graphql_api_id: "gid://x" }].map(
    (payload): [string, unknown] => ["orders/updated", payload],
  ),
  ["app/uninstalled", {}],
  ["app/uninstalled", { id: 1, myshopify_domain: null }],
];

test("a signed body of one topic is refused under every other, and one without what its topic names", async () => {
  const { shopKey } = await connectedShop({}, SHOP);
  const foreign = Object.keys(payloads).flatMap((topic) =>
    Object.entries(payloads).flatMap(([from, payload]) =>
      from === topic ? [] : [[topic, payload] as const],
    ),
  );
  for (const [topic, payload] of [...foreign, ...malformed]) {
    const response = await sendWebhook(service, { topic, shop: SHOP, payload });
    assert.equal(response.status, 400, `${JSON.stringify(payload)} as ${topic}`);
    assert.equal(await messageOf(response), `The payload is not one of the topic ${topic}.`);
  }
  assert.deepEqual(await rowsOf(service, "webhook_delivery", shopKey, "webhook_id, topic"), []);
  assert.equal((await stateOf(shopKey))?.["has_secrets"], true);
});

test("a body has its effect once within a day, whatever its id", async () => {
  const { shop, shopKey } = await connectedShop();
  const deleted = { topic: "orders/delete", shop, payload: { id: 1001 } };
  const answers = await Promise.all(Array.from({ length: 5 }, () => sendWebhook(service, deleted)));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  assert.deepEqual(await requestsOf(shopKey), ["refresh 1 webhook"]);
  await service.database.query(
    "update webhook_delivery set received_at = now() - interval '25 hours' where shop_key = $1",
    [shopKey],
  );
  assert.equal((await sendWebhook(service, deleted)).status, 200);
  assert.deepEqual(await requestsOf(shopKey), ["refresh 2 webhook"]);
});

test("a record that changes twice sends the same body twice, and is fetched again", async () => {
  const { shop, shopKey } = await connectedShop();
  for (const topic of ["orders/updated", "returns/close"]) {
    const payload = payloads[topic];
    await sendWebhook(service, { topic, shop, payload });
    await sendWebhook(service, { topic, shop, payload });
  }
  assert.deepEqual(await requestsOf(shopKey), ["refresh 4 webhook"]);
});

test("a delivery that no secret has signed is refused without a query", async () => {
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

const ORDERS = [1, 2, 3].map((number) =>
  orderWithReturn(number, { orderName: `#100${number}`, ...tracking(number, `PARCEL-${number}`) }),
);

/** Labels that name a parcel, the order's name, and the order itself. */
const LABELS = [
  { labelId: "by-parcel", trackingNumber: "PARCEL-1" },
  { labelId: "by-name", orderName: "#1001" },
  { labelId: "by-order", orderId: orderGid(1), orderName: "#1001", trackingNumber: "OTHER" },
  { labelId: "of-another", trackingNumber: "PARCEL-2", orderName: "#1002" },
];

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
  const { shop, shopKey } = await connectedShop();
  const { database } = service.installation;
  await putOrders({ database }, shopKey, ORDERS);
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
  assert.equal(await putOrders({ database }, shopKey, ORDERS), 0, "what the store tells again is no change");
  await putSourceLabels({ database }, shopKey, LABELS);
  assert.deepEqual(await namesIn(shopKey), others);
  assert.deepEqual(await sharesOf(shopKey), shares);
});

test("an order that is read after its customer was redacted is stored without names", async () => {
  const { shop, shopKey } = await connectedShop();
  const payload = { shop_id: 1, shop_domain: shop, customer: { id: 191 }, orders_to_redact: [1, 2] };
  assert.equal((await sendWebhook(service, { topic: "customers/redact", shop, payload })).status, 200);
  await putOrders(service.installation, shopKey, ORDERS);
  assert.deepEqual(await namesIn(shopKey), ["#1003", "PARCEL-3"]);
  assert.equal((await rowsOf(service, "order_line", shopKey, "order_id, line_id")).length, 3);
});
