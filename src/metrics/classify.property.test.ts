import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { projectOrder } from "./classify.ts";
import { REFUND_ONLY, UNSPECIFIED } from "./returned-units.ts";
import type { DocumentLine, DocumentRefund, DocumentReturn, OrderDocument } from "./order.ts";

const lineId = fc.constantFrom("a", "b", "c");
// Few instants, so that ties and events before the order are common.
const STEP_MS = 6 * 3_600_000;
const STEPS = 12;
const instant = fc.integer({ min: 0, max: STEPS }).map((step) => new Date(step * STEP_MS).toISOString());

const anyLine: fc.Arbitrary<DocumentLine> = fc.record({
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
const runs = { numRuns: 3000 };
const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
const dayOf = (text: string): number => Math.floor(Date.parse(text) / 86_400_000);

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

test("M2: every line returns between 0 and its sold units, and one without sales has no events", () => {
  fc.assert(
    fc.property(anyOrder, (order) => {
      const facts = projectOrder(order);
      for (const fact of facts.lines) {
        const events = facts.events.filter((event) => event.lineId === fact.lineId);
        const returnedUnits = sum(events.map((event) => event.returnedUnits));
        assert.ok(returnedUnits >= 0 && returnedUnits <= fact.soldUnits);
        assert.ok(fact.soldUnits > 0 || events.length === 0);
      }
      for (const line of order.lines) {
        const sold = facts.lines.filter((fact) => lineOf(fact) === line.lineId);
        const days = sold.flatMap(({ soldUnits, orderedOnDay }) => Array(soldUnits).fill(orderedOnDay));
        assert.deepEqual(days, soldDays(order, line));
      }
    }),
    runs,
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

test("M9: the money of the events is the money of the refunds that count", () => {
  fc.assert(
    fc.property(anyOrder, (order) => {
      const facts = projectOrder(order);
      const selling = new Set(facts.lines.filter((line) => line.soldUnits > 0).map(lineOf));
      const counting = order.refunds.filter((row) => row.restockType !== "CANCEL" && selling.has(row.lineId));
      assert.equal(
        sum(facts.events.map((event) => event.refundMinor)),
        sum(counting.map((row) => row.subtotalMinor)),
      );
    }),
    runs,
  );
});

test("M2, M3, M8: the returned units equal those found by walking through time unit by unit", () => {
  fc.assert(
    fc.property(anyOrder, (order) => {
      const facts = projectOrder(order);
      const found = facts.events
        .filter((event) => event.returnedUnits > 0)
        .flatMap((event) =>
          Array.from(
            { length: event.returnedUnits },
            () => `${lineOf(event)} ${event.occurredOnDay} ${event.lagDays} ${event.reason}`,
          ),
        );
      assert.deepEqual(found.toSorted(), order.lines.flatMap((line) => walk(order, line)).toSorted());
    }),
    { numRuns: 6000 },
  );
});

test("M2, M10: refunded units and requests of a line keep their sums, on however many days it was sold", () => {
  fc.assert(
    fc.property(anyOrder, (order) => {
      const facts = projectOrder(order);
      for (const line of order.lines) {
        if (soldDays(order, line).length === 0) continue;
        const returns = order.returns.filter((row) => row.lineId === line.lineId);
        const linked = order.refunds.filter(
          (row) => row.restockType !== "CANCEL" && returns.some(({ returnId }) => returnId === row.returnId),
        );
        const refunded = sum(
          facts.events.filter((event) => lineOf(event) === line.lineId).map((row) => row.refundedUnits),
        );
        const mine = linked.filter((row) => row.lineId === line.lineId);
        assert.ok(refunded >= sum(mine.map((row) => row.units)));
        for (const { returnId, units, processedUnits } of returns) {
          const rows = facts.requests.filter(
            (row) => lineOf(row) === line.lineId && row.returnId === returnId,
          );
          assert.equal(sum(rows.map((row) => row.units)), processedUnits ?? units);
        }
      }
    }),
    runs,
  );
});

/** The line of a fact, which may be about a later day of it. */
function lineOf({ lineId: factId }: { lineId: string }): string {
  return factId.replace(/#.*/u, "");
}

/** M1: the day of each sold unit, first days first, by adding and removing one unit at a time. */
function soldDays(order: OrderDocument, line: DocumentLine): number[] {
  if (line.test || line.giftCard || line.canceledAt !== null) return [];
  const changes = line.changes ?? [];
  const times = Array<string>(line.units).fill(line.orderedAt);
  for (const { changedAt, units } of changes) {
    for (let unit = 0; unit < units; unit += 1) times.push(changedAt);
  }
  times.sort();
  const removals = [
    { at: line.orderedAt, units: line.removedUnits },
    ...changes
      .filter(({ units }) => units < 0)
      .map(({ changedAt, units }) => ({ at: changedAt, units: -units })),
    ...order.refunds
      .filter((row) => row.lineId === line.lineId && row.restockType === "CANCEL")
      .map(({ refundedAt, units }) => ({ at: refundedAt, units })),
  ].toSorted((left, right) => (left.at < right.at ? -1 : 1));
  for (const { at, units } of removals) {
    for (let unit = 0; unit < units; unit += 1) {
      const last = times.findLastIndex((soldAt) => soldAt <= at);
      times.splice(Math.max(0, last), 1);
    }
  }
  return times.map(dayOf);
}

/**
 * Steps through every instant at which something can happen. Each time it asks every source how many units the
 * platform shows as back by now, and moves single units from the customer until that is reached.
 */
function walk(order: OrderDocument, line: DocumentLine): string[] {
  const mine = <Row extends { lineId: string }>(rows: Row[]): Row[] =>
    rows.filter((row) => row.lineId === line.lineId);
  const returns = mine(order.returns).toSorted((left, right) => (left.returnId < right.returnId ? -1 : 1));
  const refunds = mine(order.refunds).toSorted((left, right) => (left.refundId < right.refundId ? -1 : 1));
  const withCustomer = soldDays(order, line);

  const returned: string[] = [];
  const shownBefore = new Map<string, number>();
  const show = (source: string, reason: string, units: number, now: number): void => {
    for (let unit = shownBefore.get(source) ?? 0; unit < units; unit += 1) {
      shownBefore.set(source, unit + 1);
      const soldOn = withCustomer.shift();
      if (soldOn === undefined) continue;
      const day = Math.floor(now / 86_400_000);
      returned.push(`${line.lineId} ${day} ${Math.max(0, day - soldOn)} ${reason}`);
    }
  };
  for (let now = 0; now <= STEPS * STEP_MS; now += STEP_MS) {
    const isPast = (text: string): boolean => Date.parse(text) <= now;
    for (const row of returns) {
      let refundedUnits = 0;
      for (const paid of refunds) {
        if (paid.returnId === row.returnId && paid.restockType !== "CANCEL" && isPast(paid.refundedAt))
          refundedUnits += paid.units;
      }
      let closedUnits = 0;
      if (row.status === "CLOSED" && isPast(row.closedAt as string))
        closedUnits = row.processedUnits ?? row.units;
      const reason = row.reason === null || row.reason === "" ? UNSPECIFIED : row.reason;
      show(`return ${row.returnId}`, reason, Math.max(refundedUnits, closedUnits), now);
    }
    for (const row of refunds) {
      if (row.restockType === "CANCEL" || returns.some((candidate) => candidate.returnId === row.returnId))
        continue;
      if (isPast(row.refundedAt)) show(`refund ${row.refundId}`, REFUND_ONLY, row.units, now);
    }
  }
  return returned;
}
