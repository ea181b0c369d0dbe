import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { medianDays, TIMING_BUCKETS, timingBuckets } from "./timing.ts";

const unitsByLag = fc.array(
  fc.record({ lagDays: fc.integer({ min: 0, max: 200 }), returnedUnits: fc.integer({ min: 0, max: 5 }) }),
  { maxLength: 12 },
);
const medianOf = (...rows: [lagDays: number, returnedUnits: number][]) =>
  medianDays(rows.map(([lagDays, returnedUnits]) => ({ lagDays, returnedUnits })));

test("M3: the buckets cover every lag once, without a gap", () => {
  TIMING_BUCKETS.forEach((bucket, index) => {
    const next = TIMING_BUCKETS[index + 1];
    assert.equal(bucket.toDay, next === undefined ? null : next.fromDay - 1);
    assert.equal(
      bucket.bucket,
      bucket.toDay === null ? `${bucket.fromDay}+` : `${bucket.fromDay}-${bucket.toDay}`,
    );
  });
  assert.equal(TIMING_BUCKETS[0]?.fromDay, 0);
});

test("M3: units fall into the bucket of their lag, with shares that add up", () => {
  const buckets = timingBuckets([
    { lagDays: 7, returnedUnits: 1 },
    { lagDays: 8, returnedUnits: 2 },
    { lagDays: 30, returnedUnits: 3 },
    { lagDays: 91, returnedUnits: 1 },
    { lagDays: 400, returnedUnits: 1 },
  ]);
  assert.deepEqual(
    buckets.map((bucket) => bucket.returnedUnits),
    [1, 2, 3, 0, 0, 2],
  );
  assert.deepEqual(
    buckets.map((bucket) => bucket.share),
    [0.125, 0.25, 0.375, 0, 0, 0.25],
  );
  assert.deepEqual(
    buckets.map((bucket) => bucket.cumulativeShare),
    [0.125, 0.375, 0.75, 0.75, 0.75, 1],
  );
});

test("M3: without returned units the shares and the median are null", () => {
  assert.ok(timingBuckets([]).every((bucket) => bucket.share === null && bucket.cumulativeShare === null));
  assert.equal(medianOf(), null);
  assert.equal(medianOf([3, 0]), null);
});

test("M3: the median counts every unit and takes the mean of the middle two", () => {
  assert.equal(medianOf([10, 1], [2, 2]), 2);
  assert.equal(medianOf([10, 2], [3, 2]), 6.5);
  assert.equal(medianOf([5, 1]), 5);
});

test("M3: median and buckets equal those of the units laid out one by one", () => {
  fc.assert(
    fc.property(unitsByLag, (units) => {
      const lags = units.flatMap((row) => Array.from({ length: row.returnedUnits }, () => row.lagDays));
      lags.sort((left, right) => left - right);
      const middle = [lags[Math.ceil(lags.length / 2) - 1], lags[Math.floor(lags.length / 2)]];
      const expected = lags.length === 0 ? null : ((middle[0] as number) + (middle[1] as number)) / 2;
      assert.equal(medianDays(units), expected);
      for (const bucket of timingBuckets(units)) {
        const inside = lags.filter((lag) => lag >= bucket.fromDay && lag <= (bucket.toDay ?? Infinity));
        assert.equal(bucket.returnedUnits, inside.length);
      }
    }),
  );
});
