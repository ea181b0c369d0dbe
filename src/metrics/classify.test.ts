import assert from "node:assert/strict";
import { test } from "node:test";
import { projectOrder, type OrderFacts } from "./classify.ts";
import { NO_RULES } from "./order-rules.ts";
import { dayFromText, monthFromText } from "../lib/month.ts";
import { REFUND_ONLY, UNSPECIFIED } from "./returned-units.ts";
import type { DocumentLine, DocumentRefund, DocumentReturn } from "./order.ts";

/** A line of 5 units ordered on 10 January. */
function line(changes: Partial<DocumentLine> = {}): DocumentLine {
  return {
    lineId: "l1",
    orderedAt: "2024-01-10T12:00:00Z",
    productId: "p",
    variantId: "v",
    sku: "S",
    title: "T",
    vendor: "V",
    units: 5,
    removedUnits: 0,
    unitPriceMinor: 1000,
    test: false,
    canceledAt: null,
    giftCard: false,
    ...changes,
  };
}

/** A closed return of 2 units, closed on 20 January. */
function closedReturn(changes: Partial<DocumentReturn> = {}): DocumentReturn {
  return {
    returnId: "r1",
    lineId: "l1",
    status: "CLOSED",
    units: 2,
    processedUnits: null,
    requestedAt: "2024-01-15T00:00:00Z",
    closedAt: "2024-01-20T00:00:00Z",
    reason: "SIZE",
    ...changes,
  };
}

/** An unlinked, not restocked refund of one unit on 25 January. */
function refund(changes: Partial<DocumentRefund> = {}): DocumentRefund {
  return {
    refundId: "f1",
    lineId: "l1",
    refundedAt: "2024-01-25T00:00:00Z",
    units: 1,
    subtotalMinor: 1000,
    restockType: "NO_RESTOCK",
    returnId: null,
    ...changes,
  };
}

/** `lag: exchanged/other units, money of exchanges paid back and kept` of every event. */
function outcomesOf(facts: OrderFacts): string[] {
  return facts.events.map(
    (event) =>
      `${event.lagDays}: ${event.exchangedUnits}/${event.otherUnits} ${event.exchangeRefundMinor} ${event.keptMinor}`,
  );
}

function project(
  lines: DocumentLine[],
  returns: DocumentReturn[] = [],
  refunds: DocumentRefund[] = [],
): OrderFacts {
  return projectOrder({ orderId: "o", lines, returns, refunds });
}

/** `MM-DD lag reason: returned/refunded/restocked money` of every event. */
function eventsOf(facts: OrderFacts): string[] {
  return facts.events.map(
    (event) =>
      `${new Date(event.occurredOnDay * 86_400_000).toISOString().slice(5, 10)} ${event.lagDays} ${event.reason}: ` +
      `${event.returnedUnits}/${event.refundedUnits}/${event.restockedUnits} ${event.refundMinor}`,
  );
}

const returnedUnits = (facts: OrderFacts): number =>
  facts.events.reduce((sum, event) => sum + event.returnedUnits, 0);

test("M1: a line is sold on its UTC day, in that day's month", () => {
  const facts = project([line({ orderedAt: "2024-02-01T00:30:00+02:00" })]);
  assert.deepEqual(facts.lines, [
    {
      lineId: "l1",
      orderedOnDay: dayFromText("2024-01-31"),
      cohortMonth: monthFromText("2024-01"),
      soldUnits: 5,
      soldMinor: 5000,
      productId: "p",
      variantId: "v",
      sku: "S",
      title: "T",
      vendor: "V",
    },
  ]);
});

test("M20: the value of a line is stated, or its price times its units; a stored price of Shopify's is ignored", () => {
  const valueOf = (change: Partial<DocumentLine>) => project([line(change)]).lines[0]?.soldMinor;
  assert.equal(valueOf({ removedUnits: 1 }), 4000);
  assert.equal(valueOf({ soldMinor: 4999 }), 4999);
  assert.equal(valueOf({ soldMinor: null }), null);
  assert.equal(valueOf({ unitPriceMinor: null }), null);
  assert.equal(valueOf({ lineId: "gid://shopify/LineItem/1" }), null);
  assert.equal(valueOf({ lineId: "gid://shopify/LineItem/1", soldMinor: 4500 }), 4500);
});

test("M1: test orders, canceled orders and gift cards have no sales and no events", () => {
  for (const changes of [{ test: true }, { giftCard: true }, { canceledAt: "2024-01-11T00:00:00Z" }]) {
    const facts = project([line(changes)], [closedReturn()], [refund()]);
    assert.equal(facts.lines[0]?.soldUnits, 0);
    assert.deepEqual([facts.events, facts.requests, facts.warnings], [[], [], []]);
  }
});

test("M2: a closed return counts its processed units, else its requested ones, when it closes", () => {
  assert.deepEqual(eventsOf(project([line()], [closedReturn()])), ["01-20 10 SIZE: 2/0/0 0"]);
  assert.deepEqual(eventsOf(project([line()], [closedReturn({ processedUnits: 1 })])), [
    "01-20 10 SIZE: 1/0/0 0",
  ]);
  assert.deepEqual(project([line()], [closedReturn({ processedUnits: 0 })]).events, []);
});

test("M2: a return and its refunds are the same units, counted when the first of them says so", () => {
  const refundAfter = refund({ returnId: "r1", units: 2 });
  assert.deepEqual(eventsOf(project([line()], [closedReturn()], [refundAfter])), [
    "01-20 10 SIZE: 2/0/0 0",
    "01-25 15 null: 0/2/0 1000",
  ]);
  const partBefore = refund({ returnId: "r1", units: 1, refundedAt: "2024-01-18T00:00:00Z" });
  assert.deepEqual(eventsOf(project([line()], [closedReturn()], [partBefore])), [
    "01-18 8 SIZE: 1/1/0 1000",
    "01-20 10 SIZE: 1/0/0 0",
  ]);
});

test("M2: a line never returns more than it sold, the earliest events win", () => {
  const facts = project(
    [line({ units: 3 })],
    [closedReturn({ units: 3 })],
    [refund({ units: 2, refundedAt: "2024-01-19T00:00:00Z" })],
  );
  assert.deepEqual(eventsOf(facts), [`01-19 9 ${REFUND_ONLY}: 2/2/0 1000`, "01-20 10 SIZE: 1/0/0 0"]);
  assert.deepEqual(facts.warnings, [{ kind: "return_exceeds_line", lineId: "l1", sourceId: "r1" }]);
});

test("M2: at the same instant returns come before refunds of no return, then ids decide", () => {
  const at = "2024-01-20T00:00:00Z";
  const facts = project(
    [line({ units: 3 })],
    [closedReturn()],
    [
      refund({ refundId: "f2", refundedAt: at, subtotalMinor: 20 }),
      refund({ refundedAt: at, subtotalMinor: 10 }),
    ],
  );
  assert.deepEqual(eventsOf(facts), [`01-20 10 ${REFUND_ONLY}: 1/1/0 30`, "01-20 10 SIZE: 2/0/0 0"]);
  assert.deepEqual(facts.warnings, [{ kind: "refund_exceeds_line", lineId: "l1", sourceId: "f2" }]);
});

test("M2: units of an unlinked refund beyond its line count as money only, with a warning", () => {
  const restocked = refund({ units: 4, subtotalMinor: 4000, restockType: "RETURN" });
  const facts = project([line()], [closedReturn({ units: 3 })], [restocked]);
  assert.deepEqual(eventsOf(facts), ["01-20 10 SIZE: 3/0/0 0", `01-25 15 ${REFUND_ONLY}: 2/2/2 4000`]);
  assert.deepEqual(facts.warnings, [{ kind: "refund_exceeds_line", lineId: "l1", sourceId: "f1" }]);
});

test("M3: a return before its order counts as lag 0, with a warning", () => {
  const facts = project(
    [line()],
    [closedReturn({ closedAt: "2024-01-09T23:59:59Z" })],
    [refund({ refundedAt: "2024-01-10T00:00:00Z" })],
  );
  assert.deepEqual(eventsOf(facts), ["01-09 0 SIZE: 2/0/0 0", `01-10 0 ${REFUND_ONLY}: 1/1/0 1000`]);
  assert.deepEqual(facts.warnings, [{ kind: "negative_lag", lineId: "l1", sourceId: "r1" }]);
});

test("M8: an empty reason is unspecified, reasons are kept apart on one day", () => {
  const facts = project(
    [line()],
    [closedReturn({ reason: "  " }), closedReturn({ returnId: "r2", reason: "COLOR", units: 1 })],
  );
  assert.deepEqual(eventsOf(facts), [`01-20 10 ${UNSPECIFIED}: 2/0/0 0`, "01-20 10 COLOR: 1/0/0 0"]);
  assert.equal(project([line()], [closedReturn({ reason: null })]).events[0]?.reason, UNSPECIFIED);
});

test("M14: a line that sold nothing is of its order's day, whenever units were added to it", () => {
  const added = { changedAt: "2024-02-12T12:00:00Z", units: 2, by: "exchange" as const };
  const removed = { changedAt: "2024-03-12T12:00:00Z", units: -2, by: "edit" as const };
  for (const unsold of [
    { units: 0, changes: [added, removed] },
    { units: 0, changes: [added], canceledAt: "2024-03-12T12:00:00Z" },
  ]) {
    const days = project([line(unsold)]).lines.map(({ orderedOnDay, soldUnits }) => [
      orderedOnDay,
      soldUnits,
    ]);
    assert.deepEqual(days, [[dayFromText("2024-01-10"), 0]]);
  }
});

test("of rows with the same key the last one counts", () => {
  const facts = project(
    [line({ units: 1 }), line({ units: 4 })],
    [closedReturn({ units: 4 }), closedReturn({ units: 1 })],
    [refund({ subtotalMinor: 1 }), refund({ subtotalMinor: 2 })],
  );
  assert.equal(facts.lines.length, 1);
  assert.equal(facts.lines[0]?.soldUnits, 4);
  assert.deepEqual(eventsOf(facts), ["01-20 10 SIZE: 1/0/0 0", `01-25 15 ${REFUND_ONLY}: 1/1/0 2`]);
});

test("rows of lines that the order does not have are reported, not counted", () => {
  const facts = project([line()], [closedReturn({ lineId: "x" })], [refund({ lineId: "x" })]);
  assert.equal(returnedUnits(facts), 0);
  assert.deepEqual(facts.warnings, [
    { kind: "unknown_line", lineId: "x", sourceId: "r1" },
    { kind: "unknown_line", lineId: "x", sourceId: "f1" },
  ]);
});

test("M23: a unit is exchanged with its whole return, refunded as far as a refund names it, or neither so far", () => {
  const exchange = closedReturn({ exchangedUnits: 1, keptMinor: 2000 });
  const paid = refund({ returnId: "r1", units: 1, subtotalMinor: 500 });
  assert.deepEqual(outcomesOf(project([line()], [exchange], [paid])), ["10: 2/0 0 2000", "15: 0/0 500 0"]);
  assert.deepEqual(outcomesOf(project([line()], [closedReturn()], [paid])), ["10: 0/1 0 0", "15: 0/0 0 0"]);
  assert.deepEqual(outcomesOf(project([line()], [], [refund()])), ["15: 0/0 0 0"]);
});

test("M23: the value kept by an exchange is split over both lots of a line", () => {
  const changes = [{ changedAt: "2024-01-12T12:00:00Z", units: 1, by: "edit" as const }];
  const exchange = closedReturn({ exchangedUnits: 1, keptMinor: 1001 });
  const facts = project([line({ units: 1, changes })], [exchange]);
  assert.deepEqual(outcomesOf(facts), ["10: 1/0 0 501", "8: 1/0 0 500"]);
  const unprocessed = closedReturn({ exchangedUnits: 1, keptMinor: 1001, units: 0, processedUnits: 0 });
  const paid = refund({ returnId: unprocessed.returnId, units: 1, subtotalMinor: 0 });
  assert.deepEqual(outcomesOf(project([line({ units: 1, changes })], [unprocessed], [paid])), [
    "15: 1/0 0 1001",
  ]);
});

test("M23, M24: an order's amounts count if a line has sales; otherwise its bookings are left out", () => {
  const amountRefunds = [{ refundId: "f9", refundedAt: "2024-01-26T00:00:00Z", amountMinor: 300 }];
  const order = {
    orderId: "o",
    lines: [line()],
    returns: [],
    refunds: [refund()],
    tags: ["B2B"],
    amountRefunds,
  };
  assert.deepEqual(projectOrder(order).amountRefunds, amountRefunds);
  assert.deepEqual(projectOrder(order).differences, []);
  const leftOut = projectOrder(order, { ...NO_RULES, leftOutTags: ["b2b"] });
  assert.deepEqual(leftOut.amountRefunds, []);
  assert.deepEqual(
    leftOut.differences.map(({ step, units }) => `${step} ${units}`),
    ["left_out_orders 1"],
  );
  const moneyAlone = projectOrder(order, { ...NO_RULES, refundsWithoutRestockReturn: false });
  assert.deepEqual(
    moneyAlone.differences.map(({ step, units }) => `${step} ${units}`),
    ["not_counted 1"],
  );
});
