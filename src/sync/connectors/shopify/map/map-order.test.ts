import assert from "node:assert/strict";
import { test } from "node:test";
import { mapOrder } from "./map-order.ts";
import type { LineRecord, ReturnLineRecord, ShopifyOrder } from "./records.ts";

const LINE: LineRecord = {
  id: "gid://shopify/LineItem/1",
  sku: "A",
  title: "Dress",
  vendor: "Quay",
  quantity: 5,
  currentQuantity: 5,
  requiresShipping: true,
  isGiftCard: false,
  productId: "gid://shopify/Product/1",
  variantId: "gid://shopify/ProductVariant/1",
  unitPrice: "10.0",
};

function order(
  sourceOrder: Partial<Omit<ShopifyOrder, "order">> = {},
  own: Partial<ShopifyOrder["order"]> = {},
): ShopifyOrder {
  return {
    order: {
      id: "gid://shopify/Order/1",
      name: "#1001",
      processedAt: "2026-01-05T10:00:00.000Z",
      cancelledAt: null,
      test: false,
      currencyCode: "EUR",
      taxesIncluded: false,
      tags: [],
      channel: null,
      financialStatus: "PAID",
      isFree: false,
      tipsAmount: "0.0",
      ...own,
    },
    lines: [LINE],
    returns: [],
    returnLines: [],
    refunds: [],
    fulfillments: [],
    agreements: [],
    sales: [],
    tipLineIds: [],
    trackings: [],
    ...sourceOrder,
  };
}

test("M1: a line is ordered when its order was processed, with all its units", () => {
  const { part } = mapOrder(order({}, { cancelledAt: "2026-01-06T00:00:00.000Z", test: true }), "EUR");
  assert.deepEqual(part.lines, [
    {
      lineId: LINE.id,
      orderedAt: "2026-01-05T10:00:00.000Z",
      productId: LINE.productId,
      variantId: LINE.variantId,
      sku: "A",
      title: "Dress",
      vendor: "Quay",
      units: 5,
      removedUnits: 0,
      unitPriceMinor: 1000,
      soldMinor: null,
      test: true,
      canceledAt: "2026-01-06T00:00:00.000Z",
      giftCard: false,
    },
  ]);
  assert.equal(part.orderName, "#1001");
});

test("the properties that decide whether an order counts are kept, if they are not the default", () => {
  const own = { tags: ["wholesale"], channel: "pos", financialStatus: "PENDING", isFree: true };
  const { tags, channel, unpaidStatus, free } = mapOrder(order({}, own), "EUR").part;
  assert.deepEqual([tags, channel, unpaidStatus, free], [["wholesale"], "pos", "PENDING", true]);
  const refunded = mapOrder(order({}, { financialStatus: "PARTIALLY_REFUNDED" }), "EUR").part;
  assert.equal(refunded.unpaidStatus, null);
});

test("M1: without a ledger, the lines whose value equals the order's tips sell nothing", () => {
  const own = { productId: null, variantId: null, sku: null, requiresShipping: false, quantity: 1 };
  const lines = ["4.0", "2.5", "3.0", "2.5"].map((unitPrice, at) => ({
    ...LINE,
    ...own,
    id: `l${at}`,
    unitPrice,
  }));
  const shipped = { ...LINE, ...own, id: "shipped", unitPrice: "3.0", requiresShipping: true };
  const tipsOf = (tipsAmount: string, sold = [LINE, ...lines, shipped]): string[] =>
    mapOrder(order({ lines: sold }, { tipsAmount }), "EUR").part.lines.flatMap((line) =>
      line.giftCard ? [line.lineId] : [],
    );
  assert.deepEqual(tipsOf("0.0"), []);
  assert.deepEqual(tipsOf("3.0"), ["l2"]);
  assert.deepEqual(tipsOf("2.50"), ["l3"], "one of two alike");
  assert.deepEqual(tipsOf("12.0"), ["l0", "l1", "l2", "l3"], "several payments, each with a tip");
  assert.deepEqual(tipsOf("10.0"), [], "worth as much as a product");
  assert.deepEqual(tipsOf("6.5"), [], "of some of them it is not certain");
});

test("a line keeps its own title, vendor and SKU when its product is gone", () => {
  const { lines } = mapOrder(order({ lines: [{ ...LINE, productId: null, variantId: null }] }), "EUR").part;
  const [line] = lines;
  assert.deepEqual(
    [line?.productId, line?.variantId, line?.sku, line?.title, line?.vendor],
    [null, null, "A", "Dress", "Quay"],
  );
});

const RETURN = {
  id: "gid://shopify/Return/1",
  status: "CLOSED" as const,
  createdAt: "2026-01-10T00:00:00.000Z",
  closedAt: "2026-01-20T00:00:00.000Z",
};

function returnLine(id: number, values: Partial<ReturnLineRecord>): ReturnLineRecord {
  return {
    id: `gid://shopify/ReturnLineItem/${id}`,
    returnId: RETURN.id,
    lineId: LINE.id,
    quantity: 1,
    processedQuantity: 1,
    reason: null,
    ...values,
  };
}

test("M8: several return items of one line add up and carry the reason with the most units", () => {
  const returnLines = [
    returnLine(1, { quantity: 2, processedQuantity: 2, reason: "style" }),
    returnLine(2, { quantity: 1, processedQuantity: null, reason: "style" }),
    returnLine(3, { quantity: 1, reason: "defective" }),
    returnLine(4, { quantity: 2, processedQuantity: 2, reason: "defective" }),
  ];
  const { returns } = mapOrder(order({ returns: [RETURN], returnLines }), "EUR").part;
  assert.deepEqual(returns, [
    {
      returnId: RETURN.id,
      lineId: LINE.id,
      status: "CLOSED",
      units: 6,
      processedUnits: 5,
      requestedAt: RETURN.createdAt,
      closedAt: RETURN.closedAt,
      reason: "defective",
      exchangedUnits: 0,
      keptMinor: 0,
    },
  ]);
});

test("M8: units of a return that did not come back do not decide its reason", () => {
  const returnLines = [
    returnLine(1, { quantity: 2, processedQuantity: 0, reason: "style" }),
    returnLine(2, { quantity: 1, processedQuantity: 1, reason: "defective" }),
  ];
  const reasonOf = (status: "OPEN" | "CLOSED", lines: ReturnLineRecord[]) =>
    mapOrder(order({ returns: [{ ...RETURN, status }], returnLines: lines }), "EUR").part.returns[0]?.reason;
  assert.equal(reasonOf("CLOSED", returnLines), "defective");
  assert.equal(reasonOf("OPEN", returnLines), "style", "until it is closed, all are on their way");
  const none = returnLines.map((row) => ({ ...row, processedQuantity: 0 }));
  assert.equal(reasonOf("CLOSED", none), "style");
});

test("M8: of return items with equally many units the one with the smaller id gives the reason", () => {
  const returnLines = [returnLine(10, { reason: "later" }), returnLine(9, { reason: "earlier" })];
  const { returns } = mapOrder(order({ returns: [RETURN], returnLines }), "EUR").part;
  assert.equal(returns[0]?.reason, "earlier");
});

test("M2: processed units are unknown only when no item of the line has any", () => {
  const unknown = [returnLine(1, { processedQuantity: null }), returnLine(2, { processedQuantity: null })];
  const { part } = mapOrder(order({ returns: [RETURN], returnLines: unknown }), "EUR");
  assert.equal(part.returns[0]?.processedUnits, null);
});

test("M2: the platform's count of processed units is ignored until the return is closed", () => {
  const returnLines = [returnLine(1, { quantity: 2, processedQuantity: 0 })];
  for (const status of ["REQUESTED", "OPEN", "DECLINED", "CANCELED"] as const) {
    const sourceOrder = order({ returns: [{ ...RETURN, status }], returnLines });
    const [row] = mapOrder(sourceOrder, "EUR").part.returns;
    assert.deepEqual([row?.units, row?.processedUnits], [2, null], status);
  }
});

test("M2: a return that is closed with nothing processed returned nothing", () => {
  const returnLines = [returnLine(1, { quantity: 2, processedQuantity: 0 })];
  const [row] = mapOrder(order({ returns: [RETURN], returnLines }), "EUR").part.returns;
  assert.equal(row?.processedUnits, 0);
});

test("units that the platform assigns to no line are counted as such and nowhere else", () => {
  const returnLines = [returnLine(1, {}), returnLine(2, { lineId: null, quantity: 2 })];
  const { part, anomalies } = mapOrder(order({ returns: [RETURN], returnLines }), "EUR");
  assert.deepEqual(
    part.returns.map((row) => row.units),
    [1],
  );
  assert.equal(anomalies.unverifiedReturnLines, 2);
});

test("a return that is closed without a time is counted as such", () => {
  const { anomalies } = mapOrder(order({ returns: [{ ...RETURN, closedAt: null }] }), "EUR");
  assert.equal(anomalies.undatedClosedReturns, 1);
});
