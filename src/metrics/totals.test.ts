import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  cogsCoverage,
  costPerReturnedUnitMinor,
  marginImpactMinor,
  refundShare,
  returnsCostMinor,
  sumTotals,
} from "./totals.ts";
import type { Totals } from "./totals.ts";

const figure = fc.integer({ min: -1_000_000, max: 1_000_000 });
const anyTotals: fc.Arbitrary<Totals> = fc.record({
  soldUnits: figure,
  soldMinor: figure,
  valuedSoldUnits: figure,
  returnedUnits: figure,
  refundedUnits: figure,
  restockedUnits: figure,
  restockedCostMinor: figure,
  costedSoldUnits: figure,
  costedReturnedUnits: figure,
  refundMinor: figure,
  labelMinor: figure,
});

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

test("M7: the sum of sums is the sum of all, however the parts are grouped", () => {
  fc.assert(
    fc.property(fc.array(anyTotals), fc.array(anyTotals), (some, others) => {
      assert.deepEqual(sumTotals([sumTotals(others), sumTotals(some)]), sumTotals([...some, ...others]));
    }),
  );
});

test("M7: every figure is added, and no parts sum to zeros", () => {
  const doubled = sumTotals([totals, totals]);
  for (const [field, value] of Object.entries(totals))
    assert.equal(doubled[field as keyof Totals], 2 * value, field);
  assert.deepEqual(Object.keys(doubled).toSorted(), Object.keys(totals).toSorted());
  assert.ok(Object.values(sumTotals([])).every((value) => value === 0));
});

test("M20: the refunded share is of known value, from 95 % of the units on", () => {
  assert.equal(refundShare(totals), 0.133333);
  const hundred = { ...totals, soldUnits: 100, valuedSoldUnits: 95 };
  assert.equal(refundShare(hundred), 0.133333);
  assert.equal(refundShare({ ...hundred, valuedSoldUnits: 94 }), null);
  assert.equal(refundShare({ ...totals, soldMinor: 0 }), null);
  assert.equal(refundShare(sumTotals([])), null);
});

test("M11: returns cost holds label costs only where they are known", () => {
  assert.equal(returnsCostMinor(totals, true), 4550);
  assert.equal(returnsCostMinor(totals, false), 4000);
});

test("M13: margin impact takes off what went back on the shelf, and is null without a unit cost", () => {
  assert.equal(marginImpactMinor(totals, true), 3850);
  assert.equal(marginImpactMinor(totals, false), 3300);
  assert.equal(marginImpactMinor({ ...totals, costedSoldUnits: 0 }, true), null);
});

test("M13: coverage is the whole percent of returned units with a unit cost", () => {
  assert.equal(cogsCoverage(totals), 67);
  assert.equal(cogsCoverage({ returnedUnits: 0, costedReturnedUnits: 0 }), 0);
});

test("M11: the cost of a returned unit is rounded, halves away from zero, and is null of nothing", () => {
  const costOf = (refundMinor: number, returnedUnits: number) =>
    costPerReturnedUnitMinor({ refundMinor, labelMinor: 0, returnedUnits }, true);
  assert.deepEqual([costOf(5, 2), costOf(-5, 2), costOf(-4, 3), costOf(-1, 3)], [3, -3, -1, 0]);
  assert.equal(costOf(5, 0), null);
  assert.equal(costPerReturnedUnitMinor(totals, true), 1517);
  assert.equal(costPerReturnedUnitMinor(totals, false), 1333);
});
