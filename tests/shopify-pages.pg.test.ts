import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openShopifySync } from "./support/shopify-sync.ts";

type Between = {
  /** Changes the request's body. */
  asked?: (body: string) => string;
  /** Changes the answer, possibly after a delay. */
  answered?: (body: string, asked: string) => Promise<{ status: number; body: string }>;
};

/** Stands between the connector and the shop, until the test ends. */
async function openBetween(
  context: TestContext,
  shopUrl: string,
  { asked = (body) => body, answered }: Between,
) {
  let underWay = 0;
  const server = createServer((request, response) => {
    void (async () => {
      underWay += 1;
      const body = Buffer.concat(await request.toArray()).toString();
      const answer = await fetch(`${shopUrl}${request.url}`, {
        method: request.method ?? "POST",
        headers: {
          "content-type": "application/json",
          "x-shopify-access-token": String(request.headers["x-shopify-access-token"]),
        },
        body: asked(body),
      });
      const text = await answer.text();
      const given =
        answered === undefined ? { status: answer.status, body: text } : await answered(text, body);
      response.writeHead(given.status, { "content-type": "application/json" }).end(given.body);
      underWay -= 1;
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { settings: { url }, underWay: () => underWay };
}

/** Makes every page contain a single record. */
const ONE_BY_ONE: Between = { asked: (body) => body.replaceAll(/\bfirst: \d+/g, "first: 1") };

test("every connection is read to its end: pages of one record give the same rows", async (context) => {
  const sync = await openShopifySync(context, { seed: 31, orders: 24, products: 8 });
  const { simulator, shop } = sync;
  const { settings } = await openBetween(context, simulator.url, ONE_BY_ONE);
  await simulator.control("change", { do: "touchOrders", count: 12, seed: 1 });
  const paged = await sync.connect();
  await paged.sync("backfill", { settings });
  assert.deepEqual(await paged.cohorts(), await sync.exportedCohorts());

  const products = await shop.rows<{ gid: string }>(
    "select product_gid as gid from product where shop_key = $1",
    [paged.shopKey],
  );
  await paged.ask("order", await paged.orderIds());
  await paged.ask(
    "product",
    products.map(({ gid }) => gid),
  );
  const { counts } = await paged.sync("refresh", { settings });
  assert.equal(counts["orders"], 24);
  assert.equal(counts["products"], 8);
  // Orders fetched whole equal those of bulk operations and pages.
  assert.equal(counts["changed_orders"], 0);

  await simulator.control("change", { do: "touchOrders", count: 12, seed: 2 });
  await paged.sync("incremental", { settings });
  assert.deepEqual(await paged.cohorts(), await sync.exportedCohorts());
});

test("every tracking number of a return is read, however many there are", async (context) => {
  const { simulator, shop, connect } = await openShopifySync(context, { seed: 31, orders: 20, products: 4 });
  const oneByOne = await openBetween(context, simulator.url, ONE_BY_ONE);
  const { order } = (await simulator.control("find-order", { with: "returnable" })) ?? { order: 0 };
  const trackingNumbers = Array.from({ length: 40 }, (_, index) => `PARCEL-${index + 10}`);
  await simulator.control("change", { do: "openReturn", order, line: 0, units: 2 });
  await simulator.control("change", { do: "sendParcels", order, return: 0, trackingNumbers });
  for (const settings of [{}, oneByOne.settings]) {
    const workspace = await connect();
    await workspace.sync("backfill", { settings });
    const stored = await shop.rows<{ number: string }>(
      `select tracking_number as number from return_tracking
        where shop_key = $1 and tracking_number like 'PARCEL-%' order by 1`,
      [workspace.shopKey],
    );
    assert.deepEqual(
      stored.map(({ number }) => number),
      trackingNumbers,
    );
    await workspace.ask("order", await workspace.orderIds());
    assert.equal((await workspace.sync("refresh", { settings })).counts["changed_orders"], 0);
  }
});

test("when a request ends the run, no other request continues", async (context) => {
  const { simulator, connect } = await openShopifySync(context, { seed: 31, orders: 120, products: 12 });
  let pages = 0;
  const { settings, underWay } = await openBetween(context, simulator.url, {
    ...ONE_BY_ONE,
    answered: async (body, asked) => {
      if (!asked.includes("query RefundLines")) return { status: 200, body };
      pages += 1;
      if (pages === 1) return { status: 418, body: "{}" };
      await sleep(200);
      return { status: 200, body };
    },
  });
  const workspace = await connect();
  await assert.rejects(
    workspace.sync("backfill", { settings }),
    /Shopify answered RefundLines with status 418/u,
  );
  assert.ok(pages > 1);
  assert.equal(underWay(), 0);
});

test("an unreadable answer is reported with its order", async (context) => {
  const { simulator, connect } = await openShopifySync(context, { seed: 31, orders: 40, products: 12 });
  const { settings } = await openBetween(context, simulator.url, {
    answered: async (body, asked) => ({
      status: 200,
      body: asked.includes("query Orders(")
        ? body.replace(/"currentQuantity":\d+/u, '"currentQuantity":null')
        : body,
    }),
  });
  const workspace = await connect();
  await workspace.sync("backfill");
  await simulator.control("change", { do: "touchOrders", count: 3 });
  await assert.rejects(
    workspace.sync("incremental", { settings }),
    /^SourceFailed: Shopify's answer about gid:\/\/shopify\/Order\/\d+ cannot be read: LineItem\.currentQuantity should be a whole number, and is null\.$/u,
  );
});
