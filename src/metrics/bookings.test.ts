import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { dayToText } from "../lib/month.ts";
import { bookingDifferences } from "./bookings.ts";
import type { DocumentLine, DocumentRefund } from "./order.ts";

const LINE: DocumentLine = {
  lineId: "A",
  orderedAt: at("2026-01-10"),
  productId: null,
  variantId: null,
  sku: null,
  title: null,
  vendor: null,
  units: 3,
  removedUnits: 0,
  unitPriceMinor: null,
  test: false,
  canceledAt: null,
  giftCard: false,
};

function at(day: string): string {
  return `${day}T12:00:00Z`;
}

const dayOf = (day: string): number => Math.floor(Date.parse(day) / 86_400_000);

function refund(
  day: string,
  units: number,
  restockType: DocumentRefund["restockType"] = "RETURN",
): DocumentRefund {
  return {
    refundId: day,
    lineId: "A",
    refundedAt: at(day),
    units,
    subtotalMinor: 0,
    restockType,
    returnId: null,
  };
}

const returnedOn = (day: string, returnedUnits: number) => ({ occurredOnDay: dayOf(day), returnedUnits });

function differences(...[line, refunds, returned]: Parameters<typeof bookingDifferences>): string[] {
  return bookingDifferences(line, refunds, returned).map(
    ({ bookedOnDay, step, units }) => `${dayToText(bookedOnDay)} ${step} ${units}`,
  );
}

test("M24: units returned on the day on which they are booked make no difference", () => {
  assert.deepEqual(differences(LINE, [], []), []);
  assert.deepEqual(differences(LINE, [refund("2026-02-01", 2)], [returnedOn("2026-02-01", 2)]), []);
});

test("M24: edits and cancellations before fulfilment take their units out", () => {
  const line: DocumentLine = {
    ...LINE,
    removedUnits: 1,
    changes: [
      { changedAt: at("2026-01-12"), units: 2, by: "edit" },
      { changedAt: at("2026-01-13"), units: -1, by: "edit" },
    ],
  };
  assert.deepEqual(differences(line, [refund("2026-01-14", 1, "CANCEL")], []), [
    "2026-01-10 order_edits 1",
    "2026-01-13 order_edits 1",
    "2026-01-14 canceled_before_fulfillment 1",
  ]);
});

test("M24: units that a line books beyond its returned units are not counted, starting with the last", () => {
  const refunds = [refund("2026-02-01", 3), refund("2026-02-05", 1)];
  assert.deepEqual(differences(LINE, refunds, [returnedOn("2026-02-01", 3)]), ["2026-02-05 not_counted 1"]);
});

test("M24: a ledger's reversals stand in for refunds, and what counts on another day is moved", () => {
  const line = { ...LINE, reversals: [{ reversedAt: at("2026-04-25"), units: 2 }] };
  assert.deepEqual(differences(line, [refund("2026-05-20", 2)], [returnedOn("2026-05-04", 2)]), [
    "2026-04-25 other_days 2",
    "2026-05-04 other_days -2",
  ]);
});

test("M24: all bookings of a line without sales are left out, and its cancellation is the rest", () => {
  const canceled = { ...LINE, canceledAt: at("2026-01-20") };
  assert.deepEqual(differences(canceled, [refund("2026-01-15", 1)], null), [
    "2026-01-15 left_out_orders 1",
    "2026-01-20 left_out_orders 2",
  ]);
  assert.deepEqual(differences({ ...LINE, test: true }, [refund("2026-01-15", 1)], null), [
    "2026-01-15 left_out_orders 1",
  ]);
});

test("M24: the differences of a day are its booked units less its returned units", () => {
  const units = fc.record({ day: fc.integer({ min: 20_463, max: 20_470 }), units: fc.nat({ max: 4 }) });
  const refunds = fc.array(fc.record({ row: units, isCanceled: fc.boolean() }), { maxLength: 5 });
  fc.assert(
    fc.property(
      refunds,
      fc.array(units, { maxLength: 5 }),
      fc.nat({ max: 3 }),
      (drafts, returned, removed) => {
        const rows = drafts.map(({ row, isCanceled }) =>
          refund(dayToText(row.day), row.units, isCanceled ? "CANCEL" : "RETURN"),
        );
        const found = bookingDifferences(
          { ...LINE, removedUnits: removed },
          rows,
          returned.map((row) => ({ occurredOnDay: row.day, returnedUnits: row.units })),
        );
        for (let day = 20_463; day <= 20_470; day++) {
          const sumOf = (list: readonly { day: number; units: number }[]): number =>
            list.reduce((sum, row) => sum + (row.day === day ? row.units : 0), 0);
          const booked = sumOf(drafts.map(({ row }) => row)) + (day === dayOf("2026-01-10") ? removed : 0);
          const difference = sumOf(found.map((row) => ({ day: row.bookedOnDay, units: row.units })));
          assert.equal(difference, booked - sumOf(returned));
        }
        assert.ok(found.every(({ step, units: count }) => step === "other_days" || count > 0));
      },
    ),
  );
});
