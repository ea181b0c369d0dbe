import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startShopifySimulator } from "../tools/simulators/shopify/start.ts";
import type { ShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { ask, bulk, bulkState, post, read, rowsOf, startBulk } from "./support/simulator-client.ts";
import type { GraphqlBody } from "./support/simulator-client.ts";

/** What the simulated platform refuses, limits and breaks as Shopify does: the tests of the connector rely on it. */

const NOW = "2026-11-20T00:00:00Z";

type Named = { name: string; updatedAt: string; returnStatus: string; displayFinancialStatus: string };
type Page = { orders: { nodes: Named[]; pageInfo: { hasNextPage: boolean; endCursor: string } } };

const PAGE = `query Page($query: String, $after: String, $first: Int!) {
  orders(first: $first, after: $after, query: $query, sortKey: UPDATED_AT) {
    nodes { name updatedAt returnStatus displayFinancialStatus }
    pageInfo { hasNextPage endCursor }
  }
}`;

suite("the simulated store platform", () => {
  let simulator: ShopifySimulator;

  before(async () => {
    simulator = await startShopifySimulator({ seed: 5, orders: 400, now: NOW, bucketPoints: 100_000 });
  });
  after(() => simulator.stop());

  const orders = async (query: string): Promise<Named[]> => {
    const found: Named[] = [];
    for (let cursor: string | null = null; ;) {
      const { orders: page }: Page = await read<Page>(PAGE, {
        simulator,
        variables: { query, after: cursor, first: 100 },
      });
      found.push(...page.nodes);
      if (!page.pageInfo.hasNextPage) return found;
      cursor = page.pageInfo.endCursor;
    }
  };

  test("an invented field is an error with status 200, as on the platform", async () => {
    const response = await post("{ orders(first: 1) { nodes { id invented } } }", { simulator });
    assert.equal(response.status, 200);
    const body = (await response.json()) as GraphqlBody<unknown>;
    assert.match(body.errors?.[0]?.message ?? "", /Cannot query field "invented" on type "Order"/);
    assert.equal("data" in body, false);
  });

  test("a real field that the shop has no data for is an error, not a silent null", async () => {
    const { errors } = await ask("{ orders(first: 1) { nodes { id customerLocale } } }", { simulator });
    assert.match(errors?.[0]?.message ?? "", /serves no Order\.customerLocale/);
  });

  test("a cursor keeps its place when an order before it changes and moves to the end", async () => {
    const variables = { query: "", first: 200 };
    const { orders: first } = await read<Page>(PAGE, { simulator, variables });
    const moved = first.nodes[10]?.name ?? "";
    await simulator.control("change", { do: "removeUnits", order: moved, line: 0, units: 1 });
    const { orders: second } = await read<Page>(PAGE, {
      simulator,
      variables: { ...variables, after: first.pageInfo.endCursor },
    });
    assert.equal(second.nodes.length, 200);
    const { orders: last } = await read<Page>(PAGE, {
      simulator,
      variables: { ...variables, after: second.pageInfo.endCursor },
    });
    assert.deepEqual([...second.nodes, ...last.nodes].slice(-1)[0]?.name, moved);
  });

  test("searches combine times, states, AND, OR, negation and parentheses", async () => {
    const all = await orders("");
    const middle = all[200]?.updatedAt ?? "";
    const expectations: [query: string, matches: (order: Named) => boolean][] = [
      [`updated_at:>='${middle}'`, ({ updatedAt }) => updatedAt >= middle],
      [`updated_at:<"${middle}"`, ({ updatedAt }) => updatedAt < middle],
      [
        `updated_at:>=${middle} AND -return_status:no_return`,
        ({ updatedAt, returnStatus }) => updatedAt >= middle && returnStatus !== "NO_RETURN",
      ],
      [
        "return_status:return_requested OR return_status:in_progress",
        ({ returnStatus }) => returnStatus === "RETURN_REQUESTED" || returnStatus === "IN_PROGRESS",
      ],
      [
        "(return_status:returned OR return_status:in_progress) NOT financial_status:paid",
        ({ returnStatus, displayFinancialStatus }) =>
          (returnStatus === "RETURNED" || returnStatus === "IN_PROGRESS") &&
          displayFinancialStatus !== "PAID",
      ],
    ];
    for (const [query, matches] of expectations) {
      const expected = all.filter(matches);
      assert.ok(expected.length > 0 && expected.length < all.length, query);
      assert.deepEqual(await orders(query), expected, query);
    }
  });

  test("a search field that does not exist is refused and not ignored", async () => {
    const { errors } = await ask(PAGE, {
      simulator,
      variables: { query: "updatd_at:>=2026-01-01", first: 1 },
    });
    assert.match(errors?.[0]?.message ?? "", /updatd_at is not known/);
  });

  test("a page of 250 variants with their inventory items costs what the platform was seen to charge", async () => {
    const { extensions } = await ask(
      `{ product(id: "gid://shopify/Product/1") { variants(first: 250) { nodes { inventoryItem { id tracked } } } } }`,
      { simulator },
    );
    assert.deepEqual([extensions?.cost.requestedQueryCost, extensions?.cost.actualQueryCost], [25, 1]);
  });

  test("a mutation costs 10, and the unused part of a page's cost is given back", async () => {
    const { extensions: written } = await ask(
      `mutation { bulkOperationCancel(id: "gid://shopify/BulkOperation/99") { userErrors { message } } }`,
      { simulator },
    );
    assert.equal(written?.cost.requestedQueryCost, 10);
    const { extensions: asked } = await ask(
      `{ orders(first: 250, query: "name:'#1001'") { nodes { id } } }`,
      {
        simulator,
      },
    );
    assert.deepEqual([asked?.cost.requestedQueryCost, asked?.cost.actualQueryCost], [13, 3]);
  });

  test("a query above 1,000 points and an array above 250 ids are refused unread", async () => {
    const { errors, data } = await ask(
      `{ orders(first: 250) { nodes { id lineItems(first: 250) { nodes { id product { id } variant { id product { id } }
        taxLines { title } } } returns(first: 100) { nodes { id returnLineItems(first: 50) { nodes { id } } } } } } }`,
      { simulator },
    );
    assert.equal(errors?.[0]?.extensions?.code, "MAX_COST_EXCEEDED");
    assert.equal(data, undefined);
    const ids = Array.from({ length: 251 }, (_, index) => `gid://shopify/Order/${index}`);
    const long = await ask("query($ids: [ID!]!) { nodes(ids: $ids) { id } }", {
      simulator,
      variables: { ids },
    });
    assert.equal(long.errors?.[0]?.extensions?.code, "MAX_INPUT_SIZE_EXCEEDED");
  });

  test("faults come as ordered: errors, a cut connection, a throttled answer", async () => {
    const query = "{ shop { name } }";
    await simulator.control("fault", { fault: { kind: "status", status: 502 }, times: 2, after: 1 });
    const statuses = [];
    for (let index = 0; index < 4; index += 1) statuses.push((await post(query, { simulator })).status);
    assert.deepEqual(statuses, [200, 502, 502, 200]);
    await simulator.control("fault", { fault: { kind: "cut" } });
    await assert.rejects(async () => (await post(query, { simulator })).text());
    await simulator.control("fault", { fault: { kind: "throttled" } });
    const { errors } = await ask(query, { simulator });
    assert.equal(errors?.[0]?.extensions?.code, "THROTTLED");
  });
});

const SHOP = "{ shop { name } }";

type Token = {
  access_token: string;
  scope: string;
  expires_in?: number;
  refresh_token?: string;
  refresh_token_expires_in?: number;
};

suite("the simulated platform's tokens", () => {
  let simulator: ShopifySimulator;

  before(async () => {
    simulator = await startShopifySimulator({ orders: 20, now: NOW });
  });
  after(() => simulator.stop());

  const authorize = async (): Promise<URL> => {
    const query = new URLSearchParams({
      client_id: simulator.options.clientId,
      scope: "read_orders,read_returns",
      redirect_uri: "https://app.example/callback",
      state: "nonce-1",
    });
    const response = await fetch(`${simulator.url}/admin/oauth/authorize?${query.toString()}`, {
      redirect: "manual",
    });
    assert.equal(response.status, 302);
    return new URL(response.headers.get("location") ?? "");
  };
  const exchange = (
    input: Record<string, string>,
    secret = simulator.options.clientSecret,
  ): Promise<Response> =>
    fetch(`${simulator.url}/admin/oauth/access_token`, {
      method: "POST",
      body: new URLSearchParams({ client_id: simulator.options.clientId, client_secret: secret, ...input }),
    });
  const expiring = async (): Promise<Token> => {
    const code = (await authorize()).searchParams.get("code") ?? "";
    return (await (await exchange({ code, expiring: "1" })).json()) as Token;
  };
  const refresh = (token: Token): Promise<Response> =>
    exchange({ grant_type: "refresh_token", refresh_token: token.refresh_token ?? "" });
  const status = async (token: string): Promise<number> => (await post(SHOP, { simulator, token })).status;

  test("a code gives an expiring token once, with the scopes that were granted", async () => {
    const code = (await authorize()).searchParams.get("code") ?? "";
    assert.equal((await exchange({ code, expiring: "1" }, "wrong")).status, 400);
    const token = (await (await exchange({ code, expiring: "1" })).json()) as Token;
    assert.deepEqual([token.expires_in, token.refresh_token_expires_in], [3600, 7_776_000]);
    assert.equal(token.scope, "read_orders,read_returns");
    assert.equal(await status(token.access_token), 200);
    assert.equal((await exchange({ code, expiring: "1" })).status, 400);
  });

  test("an access token ends after an hour; its refresh token works exactly once", async () => {
    const token = await expiring();
    await simulator.control("clock", { advanceSeconds: 3599 });
    assert.equal(await status(token.access_token), 200);
    await simulator.control("clock", { advanceSeconds: 1 });
    assert.equal(await status(token.access_token), 401);
    const renewed = (await (await refresh(token)).json()) as Token;
    assert.equal(await status(renewed.access_token), 200);
    const again = await refresh(token);
    assert.equal(again.status, 400);
    assert.equal(((await again.json()) as { error: string }).error, "invalid_grant");
    assert.equal((await refresh(renewed)).status, 200);
    assert.equal(await status(renewed.access_token), 401, "a refresh ends the token before it");
  });
});

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

test("an empty bucket answers THROTTLED with status 200, and waiting as its status says is enough", async () => {
  const simulator = await startShopifySimulator({
    orders: 30,
    now: NOW,
    bucketPoints: 40,
    restorePerSecond: 20,
  });
  try {
    const query = "{ orders(first: 250, sortKey: ID) { nodes { id lineItems(first: 2) { nodes { id } } } } }";
    const first = await ask(query, { simulator });
    assert.equal(first.errors?.[0]?.extensions?.code, "THROTTLED", "57 points never fit into 40");
    const small = "{ orders(first: 30, sortKey: ID) { nodes { id lineItems(first: 2) { nodes { id } } } } }";
    const throttled = await askUntilRefused(small, simulator);
    assert.equal(throttled.errors?.[0]?.extensions?.code, "THROTTLED");
    const { requestedQueryCost, actualQueryCost, throttleStatus } =
      throttled.extensions?.cost ?? assert.fail();
    assert.equal(actualQueryCost, null);
    assert.ok(throttleStatus.currentlyAvailable < requestedQueryCost);
    const missing = requestedQueryCost - throttleStatus.currentlyAvailable;
    await pause((missing / throttleStatus.restoreRate) * 1000 + 10);
    assert.equal((await ask(small, { simulator })).errors, undefined);
  } finally {
    await simulator.stop();
  }
});

/** One after another, so that the refusal's status is the bucket's last word. */
async function askUntilRefused(query: string, simulator: ShopifySimulator): Promise<GraphqlBody<unknown>> {
  for (let asked = 0; asked < 100; asked += 1) {
    const answer = await ask(query, { simulator });
    if (answer.errors !== undefined) return answer;
  }
  return assert.fail("the bucket never ran empty");
}

test("without read_all_orders only the orders of the last 60 days are seen, in lists, by id and counted", async () => {
  const scopes = ["read_orders", "read_returns", "read_products"];
  const simulator = await startShopifySimulator({ orders: 300, now: NOW, scopes });
  try {
    const query = "{ orders(first: 250) { nodes { id createdAt } } ordersCount { count } }";
    type Answer = { orders: { nodes: { id: string; createdAt: string }[] }; ordersCount: { count: number } };
    const recent = await read<Answer>(query, { simulator });
    const oldest = recent.orders.nodes.map(({ createdAt }) => createdAt).toSorted()[0] ?? "";
    assert.ok(oldest >= "2026-09-21T00:00:00Z");
    assert.ok(recent.orders.nodes.length > 10 && recent.orders.nodes.length < 60);
    assert.equal(recent.ordersCount.count, recent.orders.nodes.length);
    const { order } = await read<{ order: unknown }>(
      `{ order(id: "gid://shopify/Order/5800000000001") { id } }`,
      {
        simulator,
      },
    );
    assert.equal(order, null);
    await simulator.control("set-scopes", { scopes: [...scopes, "read_all_orders"] });
    assert.equal((await read<Answer>(query, { simulator })).ordersCount.count, 300);
    await simulator.control("set-scopes", { scopes: ["read_orders"] });
    const { errors } = await ask("{ orders(first: 1) { nodes { id returns(first: 1) { nodes { id } } } } }", {
      simulator,
    });
    assert.equal(errors?.[0]?.extensions?.code, "ACCESS_DENIED");
  } finally {
    await simulator.stop();
  }
});
