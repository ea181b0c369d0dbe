import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { ControlActions } from "../tools/simulators/shopify/control.ts";
import { startShopifySimulator } from "../tools/simulators/shopify/start.ts";
import type { ShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { ask, post, read } from "./support/simulator-client.ts";
import type { GraphqlBody } from "./support/simulator-client.ts";

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

  test("objects are found by their ids, and what does not exist is null", async () => {
    const { orders: page } = await read<{ orders: { nodes: { id: string; refunds: { id: string }[] }[] } }>(
      `{ orders(first: 1, query: "financial_status:partially_refunded") { nodes { id refunds { id } } } }`,
      { simulator },
    );
    const order = page.nodes[0];
    const ids = [order?.id, order?.refunds[0]?.id, "gid://shopify/Order/1", "nonsense"];
    const { nodes } = await read<{ nodes: ({ type: string; id: string } | null)[] }>(
      "query($ids: [ID!]!) { nodes(ids: $ids) { type: __typename id } }",
      { simulator, variables: { ids } },
    );
    assert.deepEqual(
      nodes.map((node) => node?.type),
      ["Order", "Refund", undefined, undefined],
    );
    assert.deepEqual(
      nodes.slice(0, 2).map((node) => node?.id),
      ids.slice(0, 2),
    );
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

  test("changes show: an order with a return that is opened, closed and refunded, then deleted", async () => {
    const placed = (await simulator.control("change", {
      do: "placeOrder",
      lines: [{ product: 1, units: 3 }],
    })) as { number: number; id: string };
    const steps = [
      { do: "openReturn", order: placed.number, line: 0, units: 2, reason: 0 },
      { do: "closeReturn", order: placed.number, return: 0 },
      { do: "refund", order: placed.number, line: 0, units: 2, return: 0 },
    ] as const;
    const state = `query($id: ID!) { order(id: $id) { returnStatus displayFinancialStatus
      returns(first: 2) { nodes { status closedAt returnLineItems(first: 2) { nodes { processedQuantity refundedQuantity
        returnReasonDefinition { handle } } } } } refunds { return { id } refundLineItems(first: 2) { nodes { quantity } } } } }`;
    await simulator.control("change", [...steps]);
    const { order } = await read<{ order: Record<string, unknown> }>(state, {
      simulator,
      variables: { id: placed.id },
    });
    assert.deepEqual(order, {
      returnStatus: "RETURNED",
      displayFinancialStatus: "PARTIALLY_REFUNDED",
      returns: {
        nodes: [
          {
            status: "CLOSED",
            closedAt: (order["returns"] as { nodes: { closedAt: string }[] }).nodes[0]?.closedAt,
            returnLineItems: {
              nodes: [
                {
                  processedQuantity: 2,
                  refundedQuantity: 2,
                  returnReasonDefinition: { handle: "size-too-small" },
                },
              ],
            },
          },
        ],
      },
      refunds: [
        {
          return: { id: `gid://shopify/Return/${9_100_000_000 + placed.number * 100}` },
          refundLineItems: { nodes: [{ quantity: 2 }] },
        },
      ],
    });
    await simulator.control("change", { do: "deleteOrder", order: placed.number });
    assert.equal(
      (await read<{ order: unknown }>(state, { simulator, variables: { id: placed.id } })).order,
      null,
    );
    await assert.rejects(
      simulator.control("change", { do: "deleteOrder", order: placed.number }),
      new Error(`no order ${placed.number}`),
    );
  });

  test("a change or fault that the simulator does not know is refused with those it knows", async () => {
    const control = (action: keyof ControlActions, input: unknown) =>
      simulator.control(action, input as never);
    await assert.rejects(control("change", { do: "buy", order: 1 }), /^Error: do is one of placeOrder, /u);
    await assert.rejects(control("fault", { fault: "status" }), /^Error: fault\.kind is one of status, cut/u);
    await assert.rejects(control("fault", { target: "x", fault: { kind: "cut" } }), /^Error: target is one/u);
    await assert.rejects(control("bulk-fault", { fault: "late" }), /^Error: fault is one of fail, expire/u);
  });
});
