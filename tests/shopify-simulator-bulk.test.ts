import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { startShopifySimulator } from "../tools/simulators/shopify/start.ts";
import type { ShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { bulk, bulkState, read, rowsOf, startBulk } from "./support/simulator-client.ts";

const NOW = "2026-11-20T00:00:00Z";

type Row = { id: string; __parentId?: string; quantity?: number };

const LINES = `{ orders { edges { node { id name lineItems { edges { node { id quantity
  originalUnitPriceSet { shopMoney { amount currencyCode } } product { id } } } } } } } }`;
const RETURNS = `{ orders(query: "-return_status:no_return") { edges { node { id returns { edges { node { id
  returnLineItems { edges { node { __typename id quantity ... on ReturnLineItem { fulfillmentLineItem { lineItem { id } } }
  } } } } } } } } } }`;

suite("bulk operations of the simulated platform", () => {
  let simulator: ShopifySimulator;

  before(async () => {
    simulator = await startShopifySimulator({ seed: 6, orders: 1500, now: NOW, bucketPoints: 100_000 });
  });
  after(() => simulator.stop());

  test("rows are shuffled: many children stand before their parent, some far from it", async () => {
    const { status, objectCount, fileSize, url } = await bulk(LINES, simulator);
    const rows = await rowsOf<Row>(url);
    const text = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
    assert.deepEqual(
      [status, objectCount, fileSize],
      ["COMPLETED", String(rows.length), String(Buffer.byteLength(text))],
    );
    const places = new Map(rows.map(({ id }, place) => [id, place]));
    const distances = rows.flatMap(({ id, __parentId: parent }) =>
      parent === undefined ? [] : [(places.get(id) ?? 0) - (places.get(parent) ?? 0)],
    );
    assert.ok(distances.filter((distance) => distance < 0).length > distances.length / 4);
    assert.ok(distances.some((distance) => Math.abs(distance) > 2000));
  });

  test("an operation that finds nothing completes without a file", async () => {
    const state = await bulk(
      `{ orders(query: "updated_at:>2030-01-01") { edges { node { id } } } }`,
      simulator,
    );
    assert.deepEqual(
      [state.status, state.objectCount, state.url, state.fileSize],
      ["COMPLETED", "0", null, null],
    );
  });

  const refusals: [why: string, query: string, message: RegExp][] = [
    ["an invented field", "{ orders { edges { node { id invented } } } }", /Cannot query field "invented"/],
    ["nodes instead of edges", "{ orders { nodes { id } } }", /by edges and node only/],
    ["page info", "{ orders { edges { node { id } } pageInfo { hasNextPage } } }", /by edges and node only/],
    [
      "a connection inside a list",
      "{ orders { edges { node { id refunds { id refundLineItems { edges { node { quantity } } } } } } } }",
      /within a list field/,
    ],
    [
      "three nested levels",
      `{ orders { edges { node { id returns { edges { node { id refunds { edges { node { id
        refundLineItems { edges { node { quantity } } } } } } } } } } } } }`,
      /deeper than 2 levels/,
    ],
    [
      "six connections",
      `{ orders { edges { node { id lineItems { edges { node { id } } } agreements { edges { node { id } } }
        returns { edges { node { id returnLineItems { edges { node { id } } } refunds { edges { node { id } } }
        exchangeLineItems { edges { node { id } } } } } } } } } }`,
      /more than 5 connections/,
    ],
    [
      "a parent without id",
      "{ orders { edges { node { name lineItems { edges { node { id } } } } } } }",
      /its id/,
    ],
    ["no connection", "{ shop { name } }", /must be a connection/],
    ["nodes by id", `{ nodes(ids: ["gid://shopify/Order/1"]) { id } }`, /cannot be used/],
    [
      "two roots",
      "{ orders { edges { node { id } } } products { edges { node { id } } } }",
      /one top-level field/,
    ],
    ["variables", "query($q: String) { orders(query: $q) { edges { node { id } } } }", /no variables/],
  ];
  for (const [why, query, message] of refusals) {
    test(`a bulk query with ${why} is refused`, async () => {
      const { bulkOperation, userErrors } = await startBulk(query, simulator);
      assert.equal(bulkOperation, null);
      assert.equal(userErrors[0]?.code, "INVALID");
      assert.match(userErrors[0]?.message ?? "", message);
    });
  }

  test("five operations run at a time, the sixth is refused, and a cancelled one makes room", async () => {
    await simulator.control("bulk-fault", { fault: "stall", times: 5 });
    const started = await Promise.all(Array.from({ length: 5 }, () => startBulk(LINES, simulator)));
    assert.deepEqual(
      started.map(({ bulkOperation }) => bulkOperation?.status),
      Array.from({ length: 5 }, () => "CREATED"),
    );
    const sixth = await startBulk(LINES, simulator);
    assert.equal(sixth.userErrors[0]?.code, "OPERATION_IN_PROGRESS");
    for (const { bulkOperation } of started) {
      const id = bulkOperation?.id ?? "";
      await read("mutation($id: ID!) { bulkOperationCancel(id: $id) { userErrors { message } } }", {
        simulator,
        variables: { id },
      });
      while ((await bulkState(id, simulator)).status !== "CANCELED");
    }
    assert.equal((await bulk(LINES, simulator)).status, "COMPLETED");
    assert.equal((await simulator.control("statistics", {})).bulkRunningMost, 5);
  });

  test("operations fail, expire and give broken files on demand", async () => {
    const whole = await rowsOf<Row>((await bulk(LINES, simulator)).url);
    for (const fault of ["fail", "expire", "truncated", "duplicate", "cut"] as const) {
      await simulator.control("bulk-fault", { fault });
    }
    const failed = await bulk(LINES, simulator);
    assert.deepEqual(
      [failed.status, failed.errorCode, failed.url],
      ["FAILED", "INTERNAL_SERVER_ERROR", null],
    );
    assert.equal((await fetch(failed.partialDataUrl ?? "")).status, 200);
    const expired = await bulk(LINES, simulator);
    assert.deepEqual([expired.status, expired.url], ["EXPIRED", null]);
    const truncated = await bulk(LINES, simulator);
    await assert.rejects(rowsOf(truncated.url), SyntaxError);
    const doubled = await rowsOf<Row>((await bulk(LINES, simulator)).url);
    assert.ok(doubled.length > whole.length);
    assert.deepEqual(new Set(doubled.map(({ id }) => id)), new Set(whole.map(({ id }) => id)));
    const cut = await bulk(LINES, simulator);
    await assert.rejects(rowsOf(cut.url));
    assert.equal((await rowsOf(cut.url)).length, whole.length);
    await simulator.control("expire-bulk-results", {});
    assert.equal((await fetch(cut.url ?? "")).status, 404);
  });

  test("a broken download can go on where it stopped", async () => {
    const { url, fileSize } = await bulk(LINES, simulator);
    const whole = await (await fetch(url ?? "")).text();
    const rest = await fetch(url ?? "", { headers: { range: "bytes=1000-" } });
    assert.equal(rest.status, 206);
    assert.equal(rest.headers.get("content-range"), `bytes 1000-${Number(fileSize) - 1}/${fileSize}`);
    assert.equal(whole.slice(0, 1000) + (await rest.text()), whole);
  });
});

test("bulk operations see as much as the app may: 60 days of orders, and no returns without their scope", async () => {
  const scopes = ["read_orders", "read_returns", "read_products"];
  const simulator = await startShopifySimulator({ orders: 300, now: NOW, scopes });
  try {
    const rows = await rowsOf<{ createdAt: string }>(
      (await bulk("{ orders { edges { node { id createdAt } } } }", simulator)).url,
    );
    assert.ok(rows.length > 10 && rows.every(({ createdAt }) => createdAt >= "2026-09-21"));
    await simulator.control("set-scopes", { scopes: ["read_orders"] });
    const denied = await bulk(RETURNS, simulator);
    assert.deepEqual([denied.status, denied.errorCode], ["FAILED", "ACCESS_DENIED"]);
  } finally {
    await simulator.stop();
  }
});
