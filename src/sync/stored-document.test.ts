import assert from "node:assert/strict";
import { test } from "node:test";
import type { OrderDocument } from "../metrics/order.ts";
import { readStored, storedText } from "./stored-document.ts";

const USUAL: OrderDocument = {
  orderId: "o1",
  lines: ["a", "b"].map((lineId) => ({
    lineId,
    orderedAt: "2026-01-05T10:00:00.000Z",
    productId: null,
    variantId: null,
    sku: null,
    title: null,
    vendor: null,
    units: 1,
    removedUnits: 0,
    unitPriceMinor: null,
    test: false,
    canceledAt: null,
    giftCard: false,
  })),
  returns: [],
  refunds: [],
  orderName: null,
  trackings: [],
  amountRefunds: [],
  tags: [],
  channel: null,
  unpaidStatus: null,
  free: false,
};

const UNUSUAL: OrderDocument = {
  orderId: "o2",
  lines: [
    {
      lineId: "a",
      orderedAt: "2026-01-05T10:00:00.000Z",
      productId: "p",
      variantId: "v",
      sku: "S",
      title: "T",
      vendor: "V",
      units: 0,
      removedUnits: 2,
      unitPriceMinor: 0,
      test: true,
      canceledAt: "2026-01-06T10:00:00.000Z",
      giftCard: true,
      changes: [{ changedAt: "2026-06-09T10:00:00.000Z", units: 1, by: "exchange" }],
    },
    { ...(USUAL.lines[0] as OrderDocument["lines"][number]), orderedAt: "2026-02-05T10:00:00.000Z" },
  ],
  returns: [
    {
      returnId: "r",
      lineId: "a",
      status: "OPEN",
      units: 2,
      processedUnits: 0,
      requestedAt: "2026-01-07T10:00:00.000Z",
      closedAt: "2026-01-08T10:00:00.000Z",
      reason: "size",
      exchangedUnits: 1,
      keptMinor: 900,
    },
  ],
  refunds: [
    {
      refundId: "f",
      lineId: "a",
      refundedAt: "2026-01-09T10:00:00.000Z",
      units: 0,
      subtotalMinor: 0,
      restockType: "RETURN",
      returnId: "r",
    },
  ],
  orderName: "#1",
  trackings: [{ returnId: "r", trackingNumber: "n" }],
  amountRefunds: [{ refundId: "g", refundedAt: "2026-01-09T10:00:00.000Z", amountMinor: 500 }],
  tags: ["wholesale"],
  channel: "pos",
  unpaidStatus: "PENDING",
  free: true,
};

test("default values are not stored", () => {
  const lines = [{ lineId: "a" }, { lineId: "b" }];
  assert.deepEqual(JSON.parse(storedText(USUAL)), { orderedAt: "2026-01-05T10:00:00.000Z", lines });
});

test("every document is read as it was, whatever its values", () => {
  for (const document of [USUAL, UNUSUAL, { ...USUAL, lines: [] }]) {
    assert.deepEqual(readStored(document.orderId, JSON.parse(storedText(document))), document);
  }
});

test("a document that was stored with all its members is read as it was", () => {
  for (const document of [USUAL, UNUSUAL]) {
    assert.deepEqual(readStored(document.orderId, JSON.parse(JSON.stringify(document))), document);
  }
});

test("a document of a source without order names and parcels is read with none of them", () => {
  const { orderName: _orderName, trackings: _trackings, ...others } = USUAL;
  assert.deepEqual(readStored("o1", JSON.parse(JSON.stringify(others))), USUAL);
});
