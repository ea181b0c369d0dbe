import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { roundedQuotient } from "./rounding.ts";

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

test("the negative of a number rounds to the negative of what it rounds to, and nothing is nearer", () => {
  const dividend = fc.integer({ min: -1_000_000, max: 1_000_000 });
  fc.assert(
    fc.property(dividend, fc.integer({ min: 1, max: 1000 }), (number, divisor) => {
      const whole = rounded(number, divisor);
      assert.equal(rounded(-number, divisor), 0 - whole);
      const distance = (candidate: number) => Math.abs(2 * (candidate * divisor - number));
      assert.ok(distance(whole) <= divisor);
      if (distance(whole) === divisor) assert.ok(Math.abs(whole) * divisor > Math.abs(number));
    }),
  );
});
