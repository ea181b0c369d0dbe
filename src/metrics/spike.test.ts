import assert from "node:assert/strict";
import { test } from "node:test";
import { findSpike, type SpikeMonth } from "./spike.ts";

const newestMonth = 24_000;
const spikeOf = (months: SpikeMonth[], minSoldUnits: number, effect = 1) =>
  findSpike(months, minSoldUnits, effect);

/** Six months of the given rate, then the newest one, all complete. */
function monthsOf(
  baselineReturned: number,
  baselineSold: number,
  returnedUnits: number,
  soldUnits: number,
): SpikeMonth[] {
  const baseline = [6, 5, 4, 3, 2, 1].map((monthsBefore) => ({
    cohortMonth: newestMonth - monthsBefore,
    soldUnits: baselineSold,
    returnedUnits: baselineReturned,
    isComplete: true,
  }));
  return [...baseline, { cohortMonth: newestMonth, soldUnits, returnedUnits, isComplete: true }];
}

test("M16: a clear and large rise is a spike, with its baseline pooled", () => {
  assert.deepEqual(spikeOf(monthsOf(10, 100, 40, 100), 20), {
    cohortMonth: newestMonth,
    soldUnits: 100,
    returnedUnits: 40,
    returnRate: 0.4,
    baselineSoldUnits: 600,
    baselineReturnedUnits: 60,
    baselineRate: 0.1,
  });
});

test("M16: the order of the months does not matter", () => {
  const months = monthsOf(10, 100, 40, 100);
  assert.deepEqual(spikeOf(months.toReversed(), 20), spikeOf(months, 20));
});

test("M16: sold units must reach the workspace threshold", () => {
  assert.equal(spikeOf(monthsOf(10, 100, 40, 100), 101), null);
  assert.notEqual(spikeOf(monthsOf(10, 100, 40, 100), 100), null);
});

test("M16: a rise that few units explain by chance is not a spike", () =>
  assert.equal(spikeOf(monthsOf(10, 100, 3, 20), 20), null));

test("M16: a certain but small rise is not a spike; 1.25 times the baseline is", () => {
  assert.equal(spikeOf(monthsOf(100_000, 1_000_000, 124_999, 1_000_000), 20), null);
  assert.notEqual(spikeOf(monthsOf(100_000, 1_000_000, 125_000, 1_000_000), 20), null);
});

test("M16: the newest complete month is tested, later incomplete ones are not", () => {
  const calm = monthsOf(10, 100, 10, 100);
  const openMonth = { cohortMonth: newestMonth + 1, soldUnits: 100, returnedUnits: 90, isComplete: false };
  assert.equal(spikeOf([...calm, openMonth], 20), null);
  assert.equal(spikeOf([...monthsOf(10, 100, 40, 100), openMonth], 20)?.cohortMonth, newestMonth);
});

test("M16: an earlier spike is not reported again once a newer month is complete", () => {
  const next = { cohortMonth: newestMonth + 1, soldUnits: 100, returnedUnits: 10, isComplete: true };
  assert.equal(spikeOf([...monthsOf(10, 100, 40, 100), next], 20), null);
});

test("M16: all six months before must be there and complete", () => {
  const months = monthsOf(10, 100, 40, 100);
  for (let index = 0; index < 6; index += 1) {
    const others = months.toSpliced(index, 1);
    assert.equal(spikeOf(others, 20), null, `without month ${index}`);
    const older = { cohortMonth: newestMonth - 7, soldUnits: 100, returnedUnits: 10, isComplete: true };
    assert.equal(spikeOf([older, ...others], 20), null, `an older month does not fill in for month ${index}`);
    const open = months.with(index, { ...(months[index] as SpikeMonth), isComplete: false });
    assert.equal(spikeOf(open, 20), null, `month ${index} incomplete`);
  }
});

test("M16: there is no spike when nothing was sold before or now; there may be one when nothing was returned before", () => {
  assert.equal(spikeOf(monthsOf(0, 0, 40, 100), 20), null);
  assert.equal(spikeOf(monthsOf(10, 100, 0, 0), 0), null);
  assert.equal(spikeOf(monthsOf(0, 100, 0, 100), 20), null);
  assert.equal(spikeOf(monthsOf(0, 100, 1, 100), 20)?.baselineRate, 0);
  assert.equal(spikeOf([], 20), null);
});

test("M16: units that come back together count as fewer, so that a rise has to be larger", () => {
  const risen = monthsOf(10, 100, 20, 100);
  assert.notEqual(spikeOf(risen, 20), null);
  assert.notEqual(spikeOf(risen, 20, 1.5), null);
  assert.equal(spikeOf(risen, 20, 3), null);
  assert.notEqual(spikeOf(monthsOf(10, 100, 40, 100), 20, 2), null);
});

test("M6, M16: a design effect only refutes: what is a spike with it is one without it", () => {
  let refuted = 0;
  for (let returned = 0; returned <= 60; returned += 1) {
    for (const effect of [1.01, 1.5, 2, 5, 40]) {
      const months = monthsOf(5, 60, returned, 60);
      if (spikeOf(months, 20, effect) !== null) assert.notEqual(spikeOf(months, 20), null);
      else if (spikeOf(months, 20) !== null) refuted += 1;
    }
  }
  assert.ok(refuted > 0);
});
