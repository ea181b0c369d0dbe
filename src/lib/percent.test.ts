import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { tenthsOfPercent } from "./percent.ts";

test("a fraction is rounded once, from its exact value, halves away from zero", () => {
  assert.deepEqual(
    [
      [23, 2000],
      [-23, 2000],
      [229_999, 20_000_000],
      [0, 5],
      [-1, 1_000_000],
      [7, 7],
    ].map(([part = 0, whole = 0]) => tenthsOfPercent(part, whole)),
    [12, -12, 11, 0, 0, 1000],
  );
  const unit = fc.integer({ min: 1, max: 2 ** 40 });
  fc.assert(
    fc.property(unit, unit, (one, other) => {
      const [part, whole] = [BigInt(Math.min(one, other)), BigInt(Math.max(one, other))];
      const exact = (2000n * part + whole) / (2n * whole);
      assert.equal(tenthsOfPercent(Number(part), Number(whole)), Number(exact));
    }),
  );
});
