import assert from "node:assert/strict";
import { test } from "node:test";
import type { DocumentRefund, DocumentReturn, RestockType } from "../../../../metrics/order.ts";
import { mapRefunds } from "./map-refunds.ts";
import { readLedger } from "./ledger.ts";
import type { RefundLineRecord, SaleRecord, ShopifyOrder } from "./records.ts";

const REFUND_ID = "gid://shopify/Refund/1";
const LINE_ID = "gid://shopify/LineItem/1";
const EUR = { currencyCode: "EUR", taxesIncluded: false };

function line(
  id: number,
  restockType: RestockType,
  quantity: number,
  subtotal: string,
  tax = "0.0",
): RefundLineRecord {
  return { id: `gid://shopify/RefundLineItem/${id}`, lineId: LINE_ID, quantity, restockType, subtotal, tax };
}

/** The refund's rows; `sales` null = without a ledger. */
function rowsOf(
  lines: RefundLineRecord[],
  sales: Partial<SaleRecord>[] | null = null,
  money = EUR,
): DocumentRefund[] {
  const at = "2026-02-01T00:00:00.000Z";
  const sale = {
    agreementId: "refund",
    lineId: LINE_ID,
    action: "RETURN",
    quantity: -1,
    amount: "0.0",
    tax: "0.0",
  };
  const order = {
    order: { processedAt: "2026-01-01T00:00:00.000Z" },
    lines: [],
    fulfillments: [],
    refunds: [{ id: REFUND_ID, refundedAt: at, createdAt: at, returnId: "gid://shopify/Return/1", lines }],
    agreements: [
      { id: "refund", at, kind: "refund", about: REFUND_ID },
      { id: "other", at, kind: "refund", about: "gid://shopify/Refund/2" },
      { id: "edit", at, kind: "edit", about: null },
      { id: "order", at, kind: "order", about: null },
    ],
    sales: (sales ?? []).map((values, index) => ({ id: `s${index}`, ...sale, ...values })),
  } as object as ShopifyOrder;
  const ledger = sales === null ? null : readLedger(order, money.currencyCode).ledger;
  return mapRefunds(order, { ledger, kept: new Map(), money, returns: [] }).refunds;
}

const subtotals = (rows: DocumentRefund[]): number[] => rows.map((row) => row.subtotalMinor);

test("M9: the ledger's units and amounts without tax come before the refund line's own", () => {
  const rows = rowsOf(
    [line(1, "RETURN", 5, "99.0")],
    [
      { amount: "-11.9", tax: "-1.9" },
      { amount: "-5.95", tax: "-0.95" },
      { agreementId: "other", amount: "-1000.0" },
      { agreementId: "edit", amount: "-1000.0" },
      { lineId: "gid://shopify/LineItem/2", quantity: 1, action: "ORDER", amount: "1000.0" },
    ],
  );
  assert.deepEqual(
    rows.map((row) => [row.units, row.subtotalMinor]),
    [[2, 1500]],
  );
});

test("M9: without the ledger the refund line counts, less its tax when the order's prices include it", () => {
  const lines = [line(1, "RETURN", 1, "11.9", "1.9")];
  assert.deepEqual(subtotals(rowsOf(lines)), [1190]);
  assert.deepEqual(subtotals(rowsOf(lines, null, { ...EUR, taxesIncluded: true })), [1000]);
});

test("refund items of one line with several restock types all stay, under ids of their own", () => {
  const lines = [line(10, "CANCEL", 1, "10.0"), line(9, "RETURN", 2, "20.0"), line(11, "CANCEL", 1, "10.0")];
  const rows = rowsOf(lines);
  assert.deepEqual(
    rows.map((row) => [row.refundId, row.restockType, row.units, row.subtotalMinor, row.returnId]),
    [
      [REFUND_ID, "RETURN", 2, 2000, "gid://shopify/Return/1"],
      [`${REFUND_ID}#CANCEL`, "CANCEL", 2, 2000, "gid://shopify/Return/1"],
    ],
  );
  assert.deepEqual(rowsOf(lines.toReversed()), rows);
});

test("M9: the ledger's amount of a line with several restock types is split to the cent", () => {
  const lines = [line(1, "RETURN", 1, "10.0"), line(2, "NO_RESTOCK", 2, "20.0")];
  assert.deepEqual(subtotals(rowsOf(lines, [{ amount: "-10.0", quantity: -3 }])), [333, 667]);
});

test("a refund of money only keeps its amount and has no units", () => {
  const rows = rowsOf([line(1, "NO_RESTOCK", 0, "4.5")]);
  assert.deepEqual(
    rows.map((row) => [row.units, row.subtotalMinor]),
    [[0, 450]],
  );
});

/** Of five units, so many of which shipped: what refunds without a return, one a day, leave as refunded, and cancel. */
function unshippedOf(
  shipped: number,
  refunds: { units: number; restockType: RestockType }[],
  returns: readonly Partial<DocumentReturn>[] = [],
): { refunded: number[]; canceled: number[] } {
  const processedAt = "2026-01-01T00:00:00.000Z";
  const dated = refunds.map((refund, index) => {
    const id = `gid://shopify/Refund/${index + 1}`;
    return { ...refund, id, at: `2026-02-0${index + 1}T00:00:00.000Z` };
  });
  const sale = { lineId: LINE_ID, amount: "0.0", tax: "0.0" };
  const order = {
    order: { processedAt },
    lines: [{ id: LINE_ID, requiresShipping: true }],
    fulfillments: [{ id: "f", at: processedAt, until: null, lines: [{ lineId: LINE_ID, units: shipped }] }],
    refunds: dated.map(({ id, at, units, restockType }, index) => {
      const lines = [line(index, restockType, units, "0.0")];
      return { id, refundedAt: at, createdAt: at, returnId: null, lines };
    }),
    agreements: [
      { id: "order", at: processedAt, kind: "order", about: null },
      ...dated.map(({ id, at }) => ({ id, at, kind: "refund", about: id })),
    ],
    sales: [
      { ...sale, id: "sold", agreementId: "order", action: "ORDER", quantity: 5 },
      ...dated.map(({ id, units }) => ({ ...sale, id, agreementId: id, action: "RETURN", quantity: -units })),
    ],
  } as object as ShopifyOrder;
  const { ledger } = readLedger(order, EUR.currencyCode);
  const stated = returns.map(
    (row) => ({ lineId: LINE_ID, requestedAt: processedAt, ...row }) as DocumentReturn,
  );
  const rows = mapRefunds(order, { ledger, kept: new Map(), money: EUR, returns: stated }).refunds;
  const unitsBy = (isCanceled: boolean): number[] =>
    rows.filter((row) => (row.restockType === "CANCEL") === isCanceled).map((row) => row.units);
  return { refunded: unitsBy(false), canceled: unitsBy(true) };
}

test("M1: shipped units that a refund without a return took are not there for the next, which cancels", () => {
  const two = { units: 2, restockType: "RETURN" } as const;
  assert.deepEqual(unshippedOf(2, [two, two]), { refunded: [2], canceled: [2] });
  assert.deepEqual(unshippedOf(3, [two, two]), { refunded: [2, 1], canceled: [1] });
});

test("M1: a refund cancels no more units than had not shipped, less those that are canceled", () => {
  const one = { units: 1, restockType: "RETURN" } as const;
  const returning = [{ returnId: "gid://shopify/Return/1", status: "OPEN", units: 3 }] as const;
  assert.deepEqual(unshippedOf(3, [one], returning), { refunded: [], canceled: [1] });
  const canceled = { units: 2, restockType: "CANCEL" } as const;
  assert.deepEqual(unshippedOf(3, [canceled, one], returning), { refunded: [1], canceled: [2] });
});
