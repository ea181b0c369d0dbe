import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Change } from "../tools/simulators/shopify/changes.ts";
import { openHistories, type Histories, type TrueEvent } from "../tools/simulators/shopify/histories.ts";

type Nodes<Node> = { nodes: Node[] };
type Sale = { actionType: string; quantity: number | null; lineItem?: { id: string } };
type ShopifyOrder = {
  id: string;
  name: string;
  tags: string[];
  sourceName: string;
  displayFinancialStatus: string;
  cancelledAt: string | null;
  lineItems: Nodes<{
    id: string;
    quantity: number;
    currentQuantity: number;
    unfulfilledQuantity: number;
    requiresShipping: boolean;
    isGiftCard: boolean;
  }>;
  fulfillments: { id: string; status: string; fulfillmentLineItems: Nodes<{ quantity: number }> }[];
  agreements: Nodes<{ id: string; reason: string; happenedAt: string; sales: Nodes<Sale> }>;
  refunds: {
    return: { id: string } | null;
    totalRefundedSet: { shopMoney: { amount: string } };
    refundLineItems: Nodes<{ quantity: number; restockType: string }>;
  }[];
  returns: Nodes<{
    id: string;
    status: string;
    exchangeLineItems: Nodes<{ quantity: number; processedQuantity: number; lineItems: { id: string }[] }>;
    returnLineItems: Nodes<{
      quantity: number;
      processedQuantity: number;
      returnReason: string;
      returnReasonDefinition: { handle: string } | null;
    }>;
  }>;
};

const ORDERS = `query Orders($ids: [ID!]!) { nodes(ids: $ids) { ... on Order {
  id name tags sourceName displayFinancialStatus cancelledAt
  lineItems(first: 250) { nodes { id quantity currentQuantity unfulfilledQuantity requiresShipping isGiftCard } }
  fulfillments { id status fulfillmentLineItems(first: 250) { nodes { quantity } } }
  agreements(first: 250) { nodes { id reason happenedAt sales(first: 250) { nodes { actionType quantity
    totalAmount { shopMoney { amount } } ... on ProductSale { lineItem { id } } ... on GiftCardSale { lineItem { id } }
    ... on TipSale { lineItem { id } } } } } }
  refunds { return { id } totalRefundedSet { shopMoney { amount } }
    refundLineItems(first: 250) { nodes { quantity restockType } } }
  returns(first: 250) { nodes { id status
    exchangeLineItems(first: 250) { nodes { quantity processedQuantity lineItems { id } } }
    returnLineItems(first: 250) { nodes { quantity returnReason returnReasonDefinition { handle }
      ... on ReturnLineItem { processedQuantity } } } } }
} } }`;

type Read = { shown: ShopifyOrder; events: TrueEvent[] };

/** Every order as the API shows it, with what actually happened to it. */
function read(histories: Histories): Read[] {
  const all = histories.orders();
  const pages = Array.from({ length: Math.ceil(all.length / 50) }, (_, page) =>
    all.slice(page * 50, page * 50 + 50),
  );
  return pages.flatMap((page) => {
    const { nodes } = histories.ask(ORDERS, { ids: page.map(({ id }) => id) }) as Nodes<ShopifyOrder>;
    return nodes.map((shown, index) => ({ shown, events: page[index]?.events ?? [] }));
  });
}

suite("random full histories of orders", () => {
  const all = read(openHistories({ seed: 1, orders: 2500, products: 40 }));

  test("an order is shown at every stage as Shopify documents it", () => {
    const histories = openHistories({ seed: 1, orders: 1, products: 40 });
    const life: Change[] = [
      {
        do: "placeOrder",
        lines: [{ product: 1, units: 3 }],
        fulfilled: false,
        set: { returnSales: "processing" },
      },
      { do: "removeUnits", order: 2, line: 0, units: 1, refund: "NO_RESTOCK" },
      { do: "fulfill", order: 2 },
      { do: "addLine", order: 2, product: 2, units: 1 },
      { do: "refund", order: 2, line: 1, units: 1, restockType: "RETURN" },
      { do: "exchange", order: 2, line: 0, units: 1, for: { product: 1, units: 1 } },
    ];
    for (const step of life) histories.change(step);
    const { shown, events } = read(histories)[1] ?? assert.fail();
    const lineOf = (id?: string) => shown.lineItems.nodes.findIndex((line) => line.id === id);
    const ledger = shown.agreements.nodes.map(({ reason, sales }) => [
      reason,
      ...sales.nodes.map((sale) => `${lineOf(sale.lineItem?.id)} ${sale.actionType} ${sale.quantity}`),
    ]);
    assert.deepEqual(ledger, [
      ["ORDER", "0 ORDER 3"],
      ["ORDER_EDIT", "0 RETURN -1"],
      ["ORDER_EDIT", "1 ORDER 1"],
      ["REFUND", "1 RETURN -1"],
      ["RETURN", "0 RETURN -1", "2 ORDER 1"],
    ]);
    assert.deepEqual(
      shown.lineItems.nodes.map(({ quantity, currentQuantity, unfulfilledQuantity }) => [
        quantity,
        currentQuantity,
        unfulfilledQuantity,
      ]),
      [
        [3, 1, 0],
        [1, 0, 0],
        [1, 1, 1],
      ],
    );
    const [beside, refund, ...others] = shown.refunds;
    assert.deepEqual(beside?.refundLineItems.nodes, [{ quantity: 1, restockType: "NO_RESTOCK" }]);
    assert.equal(beside.totalRefundedSet.shopMoney.amount, "0.0");
    assert.equal(refund?.refundLineItems.nodes[0]?.restockType, "RETURN");
    // The exchange is even: no money moves, and no refund is written.
    assert.deepEqual(others, []);
    const { exchangeLineItems } = shown.returns.nodes[0] ?? assert.fail();
    assert.deepEqual(exchangeLineItems.nodes, [
      { quantity: 1, processedQuantity: 1, lineItems: [{ id: shown.lineItems.nodes[2]?.id }] },
    ]);
    assert.deepEqual(
      events.map(({ what, line, units, sent }) => [what, lineOf(line), units, sent]),
      [
        ["placed", 0, 3, undefined],
        ["removed", 0, 1, 0],
        ["fulfilled", 0, 2, undefined],
        ["added", 1, 1, undefined],
        ["refunded", 1, 1, 0],
        ["requested", 0, 1, undefined],
        ["approved", -1, undefined, undefined],
        ["processed", 0, 1, undefined],
        ["added", 2, 1, undefined],
        ["closed", -1, undefined, undefined],
      ],
    );
  });

  test("agreements and their sales never change once they are written", () => {
    const histories = openHistories({ seed: 3, orders: 500, products: 40 });
    const before = read(histories);
    histories.change({ do: "touchOrders", count: 400 });
    const after = read(histories);
    assert.notDeepEqual(after, before);
    for (const [index, { shown }] of before.entries()) {
      const { nodes } = shown.agreements;
      assert.deepEqual(after[index]?.shown.agreements.nodes.slice(0, nodes.length), nodes, shown.id);
    }
  });

  test("every case of the platform occurs", () => {
    const has = (found: (order: ShopifyOrder, events: TrueEvent[]) => boolean): boolean =>
      all.some(({ shown, events }) => found(shown, events));
    const edit = (order: ShopifyOrder, sign: number) =>
      order.agreements.nodes.some(
        ({ reason, sales }) =>
          reason === "ORDER_EDIT" && sales.nodes.some(({ quantity }) => Math.sign(quantity ?? 0) === sign),
      );
    const exchanged = (order: ShopifyOrder) =>
      order.agreements.nodes.some(
        ({ reason, sales }) =>
          reason === "RETURN" &&
          sales.nodes.some(({ quantity }) => (quantity ?? 0) > 0) &&
          sales.nodes.some(({ quantity }) => (quantity ?? 0) < 0),
      );
    const moneyless = (type: string) =>
      has(({ refunds }) =>
        refunds.some(
          (refund) =>
            refund.return === null &&
            refund.totalRefundedSet.shopMoney.amount === "0.0" &&
            refund.refundLineItems.nodes.some(({ restockType }) => restockType === type),
        ),
      );
    const cases: Record<string, boolean> = {
      "an edit that removes": has((order) => edit(order, -1)),
      "an edit that adds": has((order) => edit(order, 1)),
      "a refund without money, CANCEL": moneyless("CANCEL"),
      "a refund without money, NO_RESTOCK": moneyless("NO_RESTOCK"),
      "a refund without money, RETURN": moneyless("RETURN"),
      "an exchange in one agreement": has(exchanged),
      "an exchange that is not processed yet": has(({ returns }) =>
        returns.nodes.some(({ exchangeLineItems }) =>
          exchangeLineItems.nodes.some(({ quantity, processedQuantity }) => processedQuantity < quantity),
        ),
      ),
      "an exchange that is processed in parts": has(({ returns }) =>
        returns.nodes.some(({ exchangeLineItems }) =>
          exchangeLineItems.nodes.some(({ lineItems }) => lineItems.length > 1),
        ),
      ),
      "a return that is processed in part": has(({ returns }) =>
        returns.nodes.some(({ returnLineItems }) =>
          returnLineItems.nodes.some(
            ({ quantity, processedQuantity }) => processedQuantity > 0 && processedQuantity < quantity,
          ),
        ),
      ),
      "a reopened return": has((_, events) => events.some(({ what }) => what === "reopened")),
      "a refund of an amount": has(({ refunds }) =>
        refunds.some(({ refundLineItems }) => refundLineItems.nodes.length === 0),
      ),
      "a refund before fulfilment that is not called so": has((_, events) =>
        events.some(
          ({ what, sent, restockType }) => what === "refunded" && sent === 0 && restockType === "NO_RESTOCK",
        ),
      ),
      "a canceled fulfilment": has(({ fulfillments }) =>
        fulfillments.some(({ status }) => status === "CANCELLED"),
      ),
      "several fulfilments": has(({ fulfillments }) => fulfillments.length > 1),
      "a canceled order": has(({ cancelledAt }) => cancelledAt !== null),
      "a line without shipping": has(({ lineItems }) =>
        lineItems.nodes.some(({ requiresShipping, isGiftCard }) => !requiresShipping && !isGiftCard),
      ),
      "an exchange order of Loop": has(({ name }) => name.startsWith("EXC-")),
      "an exchange order of Narvar": has(({ tags }) => tags.includes("narvar_exchange_order")),
      "a draft order": has(({ sourceName }) => sourceName === "shopify_draft_order"),
      "a reason without definition": has(({ returns }) =>
        returns.nodes.some(({ returnLineItems }) =>
          returnLineItems.nodes.some(
            ({ returnReason, returnReasonDefinition }) =>
              returnReason !== "UNKNOWN" && returnReasonDefinition === null,
          ),
        ),
      ),
    };
    for (const status of ["REQUESTED", "OPEN", "CLOSED", "DECLINED", "CANCELED"]) {
      cases[`a return ${status}`] = has(({ returns }) => returns.nodes.some((one) => one.status === status));
    }
    for (const status of ["PAID", "PENDING", "VOIDED", "REFUNDED", "PARTIALLY_REFUNDED"]) {
      cases[`an order ${status}`] = has((order) => order.displayFinancialStatus === status);
    }
    const missing = Object.keys(cases).filter((name) => cases[name] !== true);
    assert.deepEqual(missing, []);
  });
});
