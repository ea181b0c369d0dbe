import assert from "node:assert/strict";
import { test } from "node:test";
import { liabilityOf, refundRate, sumLiabilities, type RefundRate, type ReturnedMonth } from "./liability.ts";
import type { Outlook } from "./outlook.ts";

const month = (
  returnedUnits: number,
  refundMinor: number,
  costedReturnedUnits = returnedUnits,
): ReturnedMonth => ({
  returnedUnits,
  refundMinor,
  restockedCostMinor: returnedUnits * 500,
  costedReturnedUnits,
});
/** Six months of 50 units each, at 19.00 and 21.00 alternately. */
const SIX = [95_000, 105_000, 95_000, 105_000, 95_000, 105_000].map((minor) => month(50, minor));
const outlook = (returnedUnits: number, low: number, high: number): Outlook => ({
  soldUnits: 1000,
  returnedUnitsSoFar: 100,
  returnedUnits,
  intervals: [{ level: 0.8, low, high }],
  wholeLines: 0,
  comingLines: 0,
});
const known = (rate: RefundRate | null): RefundRate => rate as RefundRate;

test("M21: units to come times the refund of one, in an interval of both uncertainties", () => {
  const rate = known(refundRate(SIX, [], SIX));
  assert.ok(Math.abs(rate.variance - 0.15) < 1e-9, String(rate.variance));
  assert.deepEqual(
    { ...rate, variance: 0.15 },
    {
      refundMinorPerUnit: 2000,
      variance: 0.15,
      units: 300,
      goodsMinorPerUnit: 500,
      isLowEvidence: false,
    },
  );
  // √(320² + 1.2816² · 0.15 · (20² · 80 + 1600² ÷ 300)) = 335.24 below, and 412.29 above.
  assert.deepEqual(liabilityOf(outlook(180, 164, 200), rate), {
    expectedUnits: 80,
    refundMinor: 160_000,
    lowMinor: 126_476,
    highMinor: 201_229,
    goodsMinor: 40_000,
  });
});

test("M21: few units are topped up to 30 with those of the category, or of the store if the category has few, too", () => {
  const few = [month(5, 20_000), month(5, 20_000)];
  const category = [month(20, 20_000), month(20, 20_000)];
  const rate = known(refundRate(few, category, SIX));
  // 10 units at 40.00 and 20 at 10.00.
  assert.deepEqual([rate.refundMinorPerUnit, rate.units, rate.isLowEvidence], [2000, 30, true]);
  assert.equal(
    known(refundRate(few, [month(29, 29_000)], SIX)).refundMinorPerUnit,
    (40_000 + 20 * 2000) / 30,
  );
  assert.equal(known(refundRate([], [], SIX)).refundMinorPerUnit, 2000);
  assert.equal(refundRate([], [], []), null);
});

test("M21: goods have a value from a known cost of 95 % of the returned units on", () => {
  const of = (costed: number) => known(refundRate([month(100, 1, costed)], [], SIX)).goodsMinorPerUnit;
  assert.equal(of(95), 500);
  assert.equal(of(94), null);
});

test("M7, M21: several months are their sum, and never negative", () => {
  const rate = known(refundRate(SIX, [], SIX));
  const months = [liabilityOf(outlook(180.33, 164, 200), rate), liabilityOf(outlook(101.11, 100, 103), rate)];
  const total = sumLiabilities(months, liabilityOf(outlook(181.44, 150, 210), rate));
  assert.equal(total.refundMinor, 160_660 + 2_220);
  assert.ok(total.lowMinor >= 0 && total.lowMinor < total.refundMinor && total.highMinor > total.refundMinor);
  assert.equal(liabilityOf(outlook(101, 100, 140), rate).lowMinor, 0);
  assert.equal(liabilityOf(outlook(100, 100, 100), rate).highMinor, 0);
});
