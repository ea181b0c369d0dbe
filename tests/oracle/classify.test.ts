import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bookedUnits } from "./bridge.ts";
import { countFacts, countLedger } from "./counts.ts";
import { ledgerOf, type LedgerLine } from "./ledger.ts";
import { USUAL_SETTINGS, type StoreFiles } from "./store.ts";
import { projectOrder } from "../../src/metrics/classify.ts";
import type { DocumentLine, DocumentRefund, DocumentReturn, OrderDocument } from "../../src/metrics/order.ts";

const lineId = fc.constantFrom("a", "b", "c");
// Few instants, so that ties and events before the order are common.
const STEP_MS = 6 * 3_600_000;
const STEPS = 12;
const instant = fc.integer({ min: 0, max: STEPS }).map((step) => new Date(step * STEP_MS).toISOString());

const plainLine: fc.Arbitrary<DocumentLine> = fc.record({
  lineId,
  orderedAt: instant,
  productId: fc.constant("p"),
  variantId: fc.constant(null),
  sku: fc.constant("s"),
  title: fc.constant(null),
  vendor: fc.constant(null),
  units: fc.integer({ min: 0, max: 6 }),
  removedUnits: fc.constantFrom(0, 0, 0, 1, 2),
  unitPriceMinor: fc.constant(null),
  test: fc.constantFrom(false, false, false, false, true),
  canceledAt: fc.constantFrom(null, null, null, null, "1970-01-02T00:00:00Z"),
  giftCard: fc.constantFrom(false, false, false, false, true),
  changes: fc.array(
    fc.record({ changedAt: instant, units: fc.integer({ min: -2, max: 3 }), by: fc.constant("edit") }),
    { maxLength: 3 },
  ),
});
const reversals = fc.array(fc.record({ reversedAt: instant, units: fc.integer({ min: 1, max: 3 }) }), {
  minLength: 1,
  maxLength: 3,
});
const anyLine = fc
  .tuple(plainLine, fc.option(reversals))
  .map(([line, stated]): DocumentLine => (stated === null ? line : { ...line, reversals: stated }));
const anyReturn: fc.Arbitrary<DocumentReturn> = fc
  .record({
    returnId: fc.constantFrom("r1", "r2", "r3"),
    lineId,
    status: fc.constantFrom("REQUESTED", "OPEN", "CLOSED", "CLOSED", "CLOSED", "DECLINED", "CANCELED"),
    units: fc.integer({ min: 0, max: 5 }),
    processedUnits: fc.option(fc.integer({ min: 0, max: 5 })),
    requestedAt: fc.constant(null),
    closedAt: instant,
    reason: fc.constantFrom("SIZE", "COLOR", "refund_only", "unspecified", "", null),
  })
  .map((row) => ({ ...row, closedAt: row.status === "CLOSED" ? row.closedAt : null }));
const anyRefund: fc.Arbitrary<DocumentRefund> = fc.record({
  refundId: fc.constantFrom("f1", "f2", "f3", "f4"),
  lineId,
  refundedAt: instant,
  units: fc.integer({ min: 0, max: 4 }),
  subtotalMinor: fc.integer({ min: 0, max: 5000 }),
  restockType: fc.constantFrom("RETURN", "NO_RESTOCK", "LEGACY_RESTOCK", "CANCEL"),
  returnId: fc.constantFrom(null, "r1", "r2", "unknown"),
});
const anyOrder: fc.Arbitrary<OrderDocument> = fc.record({
  orderId: fc.constant("o"),
  lines: fc.uniqueArray(anyLine, { selector: (row) => row.lineId, maxLength: 3 }),
  returns: fc.uniqueArray(anyReturn, { selector: (row) => row.returnId + row.lineId, maxLength: 8 }),
  refunds: fc.uniqueArray(anyRefund, { selector: (row) => row.refundId + row.lineId, maxLength: 10 }),
});

const shuffled = <Row>(rows: Row[]): fc.Arbitrary<Row[]> =>
  fc.shuffledSubarray(rows, { minLength: rows.length });
const orderTwice = anyOrder.chain((order) =>
  fc
    .tuple(shuffled(order.lines), shuffled(order.returns), shuffled(order.refunds))
    .map(([lines, returns, refunds]) => [order, { ...order, lines, returns, refunds }] as const),
);
const runs = { numRuns: 2000 };
test("M2: the order of the rows does not matter", () => {
  fc.assert(
    fc.property(orderTwice, ([order, otherOrder]) => {
      assert.deepEqual(projectOrder(order), projectOrder(otherOrder));
    }),
    runs,
  );
});

test("M2: rows given twice change nothing", () => {
  fc.assert(
    fc.property(anyOrder, (order) => {
      const { orderId, lines, returns, refunds } = order;
      const doubled = {
        orderId,
        lines: [...lines, ...lines],
        returns: [...returns, ...returns],
        refunds: [...refunds, ...refunds],
      };
      assert.deepEqual(projectOrder(doubled), projectOrder(order));
    }),
  );
});

test("M8: exactly the rows with returned units have a reason, one row for each day and reason", () => {
  fc.assert(
    fc.property(anyOrder, (order) => {
      const { events } = projectOrder(order);
      for (const event of events) assert.equal(event.reason !== null, event.returnedUnits > 0);
      const keys = events.map((event) =>
        JSON.stringify([event.lineId, event.occurredOnDay, event.lagDays, event.reason]),
      );
      assert.equal(new Set(keys).size, events.length);
    }),
    runs,
  );
});

test("M1, M2, M3, M8, M9, M10, M24: units, money, requests and bookings are those of the naive ledger, which walks through time unit by unit", () => {
  fc.assert(
    fc.property(anyOrder, (order) => {
      const facts = projectOrder(order);
      const { lines } = ledgerOf({
        settings: USUAL_SETTINGS,
        as_of: new Date(STEPS * STEP_MS).toISOString(),
        files: rowsOf(order),
      });
      const [found, expected] = [countFacts(facts), countLedger(lines)];
      assert.deepEqual([found.units, found.money], [expected.units, expected.money]);
      const asked = facts.requests.map((row) => ({ ...row, lineId: row.lineId.replace(/#.*/u, "") }));
      const expectedRequests = lines.flatMap(({ lineId: id, requests }) =>
        requests.map((row) => ({ ...row, lineId: id })),
      );
      assert.deepEqual(unitsOf(asked.map(nameOf)), unitsOf(expectedRequests.map(nameOf)));
      const booked = facts.differences.map(({ lineId: id, bookedOnDay, step, units }) => ({
        name: `${id} ${bookedOnDay} ${step}`,
        units,
      }));
      assert.deepEqual(unitsOf(booked), unitsOf(lines.flatMap(bookingsOf)));
    }),
    { numRuns: 4000 },
  );
});

type Request = { lineId: string; returnId: string; status: string; units: number };

type Named = { name: string; units: number };

const nameOf = ({ lineId: id, returnId, status, units }: Request): Named => ({
  name: `${id} ${returnId} ${status}`,
  units,
});

/** M24: what is returned on a day is taken off what is booked on it. */
function bookingsOf(line: LedgerLine): Named[] {
  return [
    ...bookedUnits(line),
    ...line.returned.map(({ day }) => ({ day, step: "other_days", units: -1 })),
  ].map(({ day, step, units }) => ({ name: `${line.lineId} ${day} ${step}`, units }));
}

function unitsOf(rows: readonly Named[]): Record<string, number> {
  const units: Record<string, number> = {};
  for (const { name, units: more } of rows) units[name] = (units[name] ?? 0) + more;
  return Object.fromEntries(Object.entries(units).filter(([, count]) => count !== 0));
}

/** The order as rows of an import folder. */
function rowsOf({ orderId: order_id, lines, returns, refunds }: OrderDocument): StoreFiles {
  return {
    order_lines: lines.map((line) => ({
      order_id,
      line_id: line.lineId,
      ordered_at: line.orderedAt,
      units: line.units,
      removed_units: line.removedUnits,
      changes: (line.changes ?? []).map(({ changedAt, units }) => `${changedAt} ${units} edit`).join("; "),
      test: line.test,
      gift_card: line.giftCard,
      ...(line.reversals && {
        reversals: line.reversals.map(({ reversedAt, units }) => `${reversedAt} ${units}`).join("; "),
      }),
      ...(line.canceledAt !== null && { canceled_at: line.canceledAt }),
    })),
    returns: returns.map((row) => ({
      return_id: row.returnId,
      order_id,
      line_id: row.lineId,
      status: row.status,
      units: row.units,
      ...(row.processedUnits !== null && { processed_units: row.processedUnits }),
      ...(row.closedAt !== null && { closed_at: row.closedAt }),
      ...(row.reason !== null && { reason: row.reason }),
    })),
    refunds: refunds.map((row) => ({
      refund_id: row.refundId,
      order_id,
      line_id: row.lineId,
      refunded_at: row.refundedAt,
      units: row.units,
      subtotal: (row.subtotalMinor / 100).toFixed(2),
      restock_type: row.restockType ?? "NO_RESTOCK",
      ...(row.returnId !== null && { return_id: row.returnId }),
    })),
  };
}
