import assert from "node:assert/strict";
import { test } from "node:test";
import { projectOrder } from "./classify.ts";
import { DEFAULT_RULES, differenceOf, leftOutBy, NO_RULES, type OrderRules } from "./order-rules.ts";
import type { DocumentRefund, OrderDocument } from "./order.ts";

function order(members: Partial<OrderDocument> = {}): OrderDocument {
  const line = {
    lineId: "l1",
    orderedAt: "2026-01-10T12:00:00Z",
    productId: null,
    variantId: null,
    sku: "S",
  };
  const rest = { title: null, vendor: null, units: 3, removedUnits: 0, unitPriceMinor: 100, test: false };
  return {
    orderId: "o1",
    lines: [{ ...line, ...rest, canceledAt: null, giftCard: false }],
    returns: [],
    refunds: [],
    ...members,
  };
}

const refund: DocumentRefund = {
  refundId: "f1",
  lineId: "l1",
  refundedAt: "2026-01-20T00:00:00Z",
  units: 2,
  subtotalMinor: 200,
  restockType: "NO_RESTOCK",
  returnId: null,
};

const EVERYTHING: OrderRules = {
  ...DEFAULT_RULES,
  leftOutKinds: ["free_drafts", "free_orders", "unpaid", "voided"],
  leftOutChannels: ["POS"],
  leftOutTags: ["Wholesale"],
};

test("M1: each rule leaves out what it names, in a fixed order, and an order without these members counts", () => {
  const cases: [Partial<OrderDocument>, ReturnType<typeof leftOutBy>][] = [
    [{}, null],
    [{ orderName: "#1001", tags: ["gift"], channel: "web" }, null],
    [{ orderName: "EXC-#1001-1" }, "exchange"],
    [{ orderName: "exc-1001" }, "exchange"],
    [{ orderName: "#EXC-1001" }, null],
    [{ tags: ["b", "Narvar_Exchange_Order"] }, "exchange"],
    [{ free: true, channel: "shopify_draft_order" }, "free_drafts"],
    [{ free: true, channel: "web" }, "free_orders"],
    [{ free: true }, "free_orders"],
    [{ channel: "shopify_draft_order" }, null],
    [{ unpaidStatus: "PENDING" }, "unpaid"],
    [{ unpaidStatus: "VOIDED" }, "voided"],
    [{ free: true, unpaidStatus: "PENDING", channel: "pos" }, "free_orders"],
    [{ unpaidStatus: "PENDING", channel: "pos" }, "unpaid"],
    [{ channel: "pos", tags: ["wholesale"] }, "channel"],
    [{ tags: ["wholesale"] }, "tag"],
    [{ free: true, tags: ["narvar_exchange_order", "wholesale"], channel: "pos" }, "exchange"],
  ];
  for (const [members, expected] of cases) {
    assert.equal(leftOutBy(order(members), EVERYTHING), expected, JSON.stringify(members));
    assert.equal(leftOutBy(order(members), NO_RULES), null);
  }
  const byDefault = cases.filter(([members]) => leftOutBy(order(members), DEFAULT_RULES) !== null);
  assert.deepEqual(
    byDefault.map(([, by]) => by),
    ["exchange", "exchange", "exchange", "exchange"],
  );
});

test("M1: what is left out sells nothing and brings nothing, and says by which rule", () => {
  const facts = projectOrder(order({ tags: ["wholesale"], refunds: [refund] }), EVERYTHING);
  assert.deepEqual([facts.leftOut, facts.lines.length, facts.lines[0]?.soldUnits], ["tag", 1, 0]);
  assert.deepEqual([facts.events, facts.requests, facts.warnings], [[], [], []]);
});

test("M2: a refund without a return and restock is money only, if the workspace's rules say so", () => {
  const returned = (rows: Partial<OrderDocument>, rules: OrderRules) =>
    projectOrder(order(rows), rules).events.map((event) => [
      event.returnedUnits,
      event.refundedUnits,
      event.refundMinor,
    ]);
  const money: OrderRules = { ...NO_RULES, refundsWithoutRestockReturn: false };
  assert.deepEqual(returned({ refunds: [refund] }, NO_RULES), [[2, 2, 200]]);
  assert.deepEqual(returned({ refunds: [refund] }, money), [[0, 0, 200]]);
  assert.deepEqual(returned({ refunds: [{ ...refund, restockType: "RETURN" }] }, money), [[2, 2, 200]]);
  const request = { returnId: "r1", lineId: "l1", status: "OPEN", units: 2, processedUnits: null } as const;
  const returns = [{ ...request, requestedAt: null, closedAt: null, reason: null }];
  assert.deepEqual(returned({ returns, refunds: [{ ...refund, returnId: "r1" }] }, money), [[2, 2, 200]]);
  // A return that its line does not have links nothing.
  assert.deepEqual(returned({ returns, refunds: [{ ...refund, returnId: "r2" }] }, money), [[0, 0, 200]]);
});

test("what differs between rules is what both do not name, and texts that differ in case do not", () => {
  const other = { ...EVERYTHING, leftOutTags: ["wholesale", "B2B"], exchangeNames: [] };
  assert.deepEqual(differenceOf(EVERYTHING, other), {
    names: ["exc-"],
    tags: ["b2b"],
    channels: [],
    areFree: false,
    areUnpaid: false,
    haveRefundsWithoutRestock: false,
  });
  assert.equal(differenceOf(NO_RULES, { ...NO_RULES, leftOutKinds: ["voided"] }).areUnpaid, true);
});

test("orders with as many tags as Shopify allows are judged by as many as rules may have, in little time", () => {
  const listed = (text: string): string[] => Array.from({ length: 50 }, (_, index) => `${text} ${index}`);
  const rules = {
    ...NO_RULES,
    exchangeNames: listed("NAME"),
    exchangeTags: listed("EXCHANGE"),
    leftOutTags: listed("LEFT OUT"),
  };
  const tags = Array.from({ length: 250 }, (_, index) => `Some other tag of this shop ${index}`);
  const began = performance.now();
  for (let index = 0; index < 1000; index++) leftOutBy(order({ tags }), rules);
  assert.ok(performance.now() - began < 5000);
  assert.equal(leftOutBy(order({ tags: [...tags, "left out 49"] }), rules), "tag");
  assert.equal(leftOutBy(order({ tags: [...tags, "exchange 49"], orderName: "x" }), rules), "exchange");
});
