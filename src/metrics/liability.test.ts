import assert from "node:assert/strict";
import { test } from "node:test";
import { liabilityOf, refundRate, sumLiabilities } from "./liability.ts";
import type { Liability, RefundRate, ReturnedMonth } from "./liability.ts";
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
  const perUnit = (units: number) =>
    known(refundRate(few, [month(units, units * 1000)], SIX)).refundMinorPerUnit;
  assert.equal(perUnit(29), (40_000 + 20 * 2000) / 30);
  assert.equal(perUnit(30), (40_000 + 20 * 1000) / 30);
  assert.equal(known(refundRate([], [], SIX)).refundMinorPerUnit, 2000);
  assert.equal(refundRate([], [], []), null);
});

test("M21: the variance is that of three or more own months with returns, without topping up; else the group's, else 1", () => {
  const varianceOf = (own: ReturnedMonth[], category: ReturnedMonth[] = [], store = SIX) =>
    Number(known(refundRate(own, category, store)).variance.toFixed(9));
  const uneven = (units: number) => [month(units, 0), month(units, 100 * units), month(units, 200 * units)];
  assert.equal(varianceOf([...SIX, month(0, 500)]), 0.15);
  assert.equal(varianceOf(uneven(10)), 10);
  assert.equal(varianceOf(uneven(9)), 0.15);
  assert.equal(varianceOf(uneven(9), uneven(10)), 10);
  assert.equal(varianceOf(uneven(9), uneven(20).slice(0, 2)), 1);
  assert.equal(varianceOf([0, 0, 0].map((minor) => month(10, minor))), 0.15);
});

test("M21: goods have a value from a known cost of 95 % of the returned units on", () => {
  const of = (costed: number) =>
    known(refundRate([month(100, 1, costed)], [], [month(200, 1, 0)])).goodsMinorPerUnit;
  assert.equal(of(95), 500);
  assert.equal(of(94), null);
  const toppedUp = (own: number, store: number) =>
    known(refundRate([month(20, 1, own)], [], [month(100, 1, store)])).goodsMinorPerUnit;
  assert.deepEqual([toppedUp(19, 95), toppedUp(18, 95), toppedUp(19, 94)], [500, null, null]);
});

test("M21: refunds that were taken back are rounded away from zero like others, and no end is below 0", () => {
  const takenBack = known(
    refundRate(
      Array.from({ length: 6 }, () => month(50, -125)),
      [],
      SIX,
    ),
  );
  const one = liabilityOf(outlook(101, 101, 101), takenBack);
  assert.deepEqual([one.refundMinor, one.lowMinor, one.highMinor], [-3, 0, 0]);
  const both = sumLiabilities([one, one], liabilityOf(outlook(102, 102, 102), takenBack));
  assert.deepEqual([both.refundMinor, both.lowMinor, both.highMinor], [-6, 0, 0]);
});

test("M7, M21: several months are their sum, and never negative", () => {
  const rate = known(refundRate(SIX, [], SIX));
  const months = [liabilityOf(outlook(180.33, 164, 200), rate), liabilityOf(outlook(101.11, 100, 103), rate)];
  const total = sumLiabilities(months, liabilityOf(outlook(181.44, 150, 210), rate));
  assert.deepEqual([months[0]?.expectedUnits, total.refundMinor], [80.33, 160_660 + 2_220]);
  assert.ok(total.lowMinor >= 0 && total.lowMinor < total.refundMinor && total.highMinor > total.refundMinor);
  // Months are rounded before they are added up: 0.6 to 1 each, 1.2 to 1 together, and 0.4 to 0 each, 0.8 to 1 together.
  const half = { ...rate, refundMinorPerUnit: 0.5, goodsMinorPerUnit: 0.5, variance: 0 };
  const twice = (units: number) => {
    const [one, both] = [units, 2 * units].map((more) =>
      liabilityOf(outlook(100 + more, 100 + more, 100 + more), half),
    ) as [Liability, Liability];
    const { refundMinor, lowMinor, highMinor, goodsMinor } = sumLiabilities([one, one], both);
    return [refundMinor, lowMinor, highMinor, goodsMinor];
  };
  assert.deepEqual(twice(1.2), [2, 2, 2, 2]);
  assert.deepEqual(twice(0.8), [0, 0, 0, 0]);
  assert.equal(sumLiabilities(months, { ...total, refundMinor: 170_000, lowMinor: 0 }).lowMinor, 0);
  assert.equal(liabilityOf(outlook(101, 100, 140), rate).lowMinor, 0);
  assert.equal(liabilityOf(outlook(100, 100, 100), rate).highMinor, 0);
});
