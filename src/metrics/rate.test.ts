import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  compareRates,
  rate,
  share,
  signedChange,
  wholePercent,
  wilsonBounds,
  wilsonInterval,
  roundedQuotient,
} from "./rate.ts";

const whole = fc.oneof(
  fc.integer({ min: 1, max: 2000 }),
  fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
);
const partAndWhole = whole.chain((units) => fc.tuple(fc.integer({ min: 0, max: units }), fc.constant(units)));

test("M6: a rate is rounded to 6 decimals, halves up", () => {
  assert.equal(rate(1, 3), 0.333333);
  assert.equal(rate(2, 3), 0.666667);
  assert.equal(rate(1, 2_000_000), 0.000001);
  assert.equal(rate(1, 2_000_001), 0);
  assert.equal(rate(1, 64), 0.015625);
  assert.equal(rate(1, 128), 0.007813);
});

test("M6: a rate of nothing sold is 0, a share of nothing is null", () => {
  assert.equal(rate(0, 0), 0);
  assert.equal(share(0, 0), null);
  assert.equal(share(1, 4), 0.25);
});

test("M6: a rate equals long division by hand, and lies in 0 to 1", () => {
  fc.assert(
    fc.property(partAndWhole, ([part, units]) => {
      const value = rate(part, units);
      assert.equal(value, Number(longDivision(part, units)));
      assert.ok(value >= 0 && value <= 1);
    }),
    { numRuns: 2000 },
  );
});

/** Digit by digit, the seventh one deciding. */
function longDivision(part: number, units: number): string {
  let remainder = BigInt(part) % BigInt(units);
  let digits = String(BigInt(part) / BigInt(units));
  for (let place = 0; place < 6; place += 1) {
    digits += String((remainder * 10n) / BigInt(units));
    remainder = (remainder * 10n) % BigInt(units);
  }
  const roundsUp = (remainder * 10n) / BigInt(units) >= 5n;
  const rounded = String(BigInt(digits) + (roundsUp ? 1n : 0n)).padStart(7, "0");
  return `${rounded.slice(0, -6)}.${rounded.slice(-6)}`;
}

test("M6: a change is the difference of the exact rates, not of the rounded ones", () => {
  assert.equal(signedChange(1, 3, 1, 6), 0.166667);
  assert.equal(signedChange(1, 6, 1, 3), -0.166667);
  assert.equal(signedChange(2, 3, 1, 3), 0.333333);
  assert.equal(signedChange(5, 10, 1, 2), 0);
  assert.equal(signedChange(1_000_000, 3_000_000, 1_000_001, 3_000_000), 0);
});

test("M6: a change seen from the other side is its negative, and null when a side sold nothing", () => {
  fc.assert(
    fc.property(partAndWhole, partAndWhole, ([part, units], [otherPart, otherUnits]) => {
      const there = signedChange(part, units, otherPart, otherUnits) as number;
      const back = signedChange(otherPart, otherUnits, part, units) as number;
      assert.equal(there + back, 0);
    }),
  );
  assert.equal(signedChange(1, 2, 0, 0), null);
  assert.equal(signedChange(0, 0, 1, 2), null);
});

test("M16: exact rates are compared even where doubles cannot tell them apart", () => {
  const large = Number.MAX_SAFE_INTEGER;
  assert.equal((large - 1) / large === (large - 2) / (large - 1), true);
  assert.ok(compareRates(large - 1, large, large - 2, large - 1) > 0);
  assert.equal(compareRates(1, 3, 2, 6), 0);
  assert.ok(compareRates(0, 0, 1, 5) < 0);
  assert.equal(compareRates(0, 0, 0, 5), 0);
});

test("the 95 % Wilson interval has its textbook values", () => {
  assert.deepEqual(wilsonInterval(10, 100, 1), { low: 0.055229, high: 0.174366 });
  assert.deepEqual(wilsonInterval(0, 10, 1), { low: 0, high: 0.277533 });
  assert.deepEqual(wilsonInterval(10, 10, 1), { low: 0.722467, high: 1 });
  assert.equal(wilsonInterval(0, 0, 1), null);
});

test("M6: with an effect of two, units have the interval of half as many", () => {
  assert.deepEqual(wilsonInterval(20, 200, 2), wilsonInterval(10, 100, 1));
  assert.deepEqual(wilsonInterval(0, 20, 2), wilsonInterval(0, 10, 1));
  assert.deepEqual(wilsonInterval(20, 20, 2), wilsonInterval(10, 10, 1));
  assert.deepEqual(wilsonInterval(30, 400, 1.414334), { low: 0.049677, high: 0.111713 });
});

test("the ends of a Wilson interval solve its equation and hold the rate between them", () => {
  const smallPair = fc
    .integer({ min: 1, max: 100_000 })
    .chain((units) => fc.tuple(fc.integer({ min: 0, max: units }), fc.constant(units)));
  fc.assert(
    fc.property(smallPair, ([returned, sold]) => {
      const bounds = wilsonBounds(returned, sold, 1);
      assert.ok(bounds !== null);
      const observed = returned / sold;
      assert.ok(0 <= bounds.low && bounds.low <= observed && observed <= bounds.high && bounds.high <= 1);
      for (const end of [bounds.low, bounds.high]) {
        const z = Math.abs(observed - end) / Math.sqrt((end * (1 - end)) / sold);
        assert.ok(end === observed || Math.abs(z - 1.959964) < 1e-4, `${z}`);
      }
    }),
  );
});

test("M13: a whole percent is rounded, halves up, and is 0 of nothing", () => {
  assert.equal(wholePercent(1, 3), 33);
  assert.equal(wholePercent(1, 8), 13);
  assert.equal(wholePercent(1, 200), 1);
  assert.equal(wholePercent(1, 201), 0);
  assert.equal(wholePercent(7, 7), 100);
  assert.equal(wholePercent(0, 0), 0);
});

const rounded = (dividend: number, divisor: number) =>
  Number(roundedQuotient(BigInt(dividend), BigInt(divisor)));

test("every rounding is to the nearest, halves away from zero", () => {
  assert.deepEqual(
    [-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5].map((dividend) => rounded(dividend, 2)),
    [-3, -2, -2, -1, -1, 0, 1, 1, 2, 2, 3],
  );
  assert.deepEqual([rounded(-1000, 3), rounded(1000, 3)], [-333, 333]);
  assert.deepEqual([rounded(-2000, 3), rounded(2000, 3)], [-667, 667]);
});
