import assert from "node:assert/strict";
import { test } from "node:test";
import { costPerReturnedUnitMinor, refundShare, sumTotals } from "./totals.ts";
import type { Totals } from "./totals.ts";

const totals: Totals = {
  soldUnits: 10,
  soldMinor: 30_000,
  valuedSoldUnits: 10,
  returnedUnits: 3,
  refundedUnits: 2,
  restockedUnits: 2,
  restockedCostMinor: 700,
  costedSoldUnits: 8,
  costedReturnedUnits: 2,
  refundMinor: 4000,
  labelMinor: 550,
};

test("M20: the refunded share is of known value, from 95 % of the units on", () => {
  assert.equal(refundShare(totals), 0.133333);
  const hundred = { ...totals, soldUnits: 100, valuedSoldUnits: 95 };
  assert.equal(refundShare(hundred), 0.133333);
  assert.equal(refundShare({ ...hundred, valuedSoldUnits: 94 }), null);
  assert.equal(refundShare({ ...totals, soldMinor: 0 }), null);
  assert.equal(refundShare(sumTotals([])), null);
});

test("M11: the cost of a returned unit is rounded, halves away from zero, and is null of nothing", () => {
  const costOf = (refundMinor: number, returnedUnits: number) =>
    costPerReturnedUnitMinor({ refundMinor, labelMinor: 0, returnedUnits }, true);
  assert.deepEqual([costOf(5, 2), costOf(-5, 2), costOf(-4, 3), costOf(-1, 3)], [3, -3, -1, 0]);
  assert.equal(costOf(5, 0), null);
  assert.equal(costPerReturnedUnitMinor(totals, true), 1517);
  assert.equal(costPerReturnedUnitMinor(totals, false), 1333);
});
