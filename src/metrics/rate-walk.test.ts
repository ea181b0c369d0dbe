import assert from "node:assert/strict";
import { test } from "node:test";
import { rateWalk } from "./rate-walk.ts";

/** The example of M24: lamps and rugs. */
const products = (lamps: number, rugs: number) => [
  { soldUnits: 50, baseSoldUnits: 100, baseReturnedByThen: lamps },
  { soldUnits: 150, baseSoldUnits: 100, baseReturnedByThen: rugs },
];
const PERIOD = { soldUnits: 200, returnedUnits: 65 };
const BASE = { soldUnits: 200, returnedUnits: 40 };

test("M24: a rate changes by mix, rate and, where earlier orders had longer, timing", () => {
  assert.deepEqual(rateWalk(PERIOD, BASE, products(10, 30)), { timing: 0, mix: 0.05, rate: 0.075 });
  assert.deepEqual(rateWalk(PERIOD, BASE, products(8, 24)), { timing: -0.04, mix: 0.04, rate: 0.125 });
});

test("M24: a new product adds nothing by being new; one that is gone is mix", () => {
  const walk = rateWalk({ soldUnits: 20, returnedUnits: 5 }, { soldUnits: 20, returnedUnits: 4 }, [
    { soldUnits: 10, baseSoldUnits: 10, baseReturnedByThen: 1 },
    { soldUnits: 10, baseSoldUnits: 0, baseReturnedByThen: 0 },
    { soldUnits: 0, baseSoldUnits: 10, baseReturnedByThen: 3 },
  ]);
  assert.deepEqual(walk, { timing: 0, mix: -0.05, rate: 0.1 });
});

test("M24: halves are rounded away from zero, and rate takes the remainder", () => {
  const walk = rateWalk({ soldUnits: 128, returnedUnits: 0 }, { soldUnits: 128, returnedUnits: 1 }, [
    { soldUnits: 128, baseSoldUnits: 64, baseReturnedByThen: 1 },
    { soldUnits: 0, baseSoldUnits: 64, baseReturnedByThen: 0 },
  ]);
  assert.deepEqual(walk, { timing: 0, mix: 0.007813, rate: -0.015626 });
});

test("M24: a half that its quotients miss by their last bits counts as one", () => {
  // 0.3 less 0.2000005.
  const walk = rateWalk({ soldUnits: 10, returnedUnits: 3 }, { soldUnits: 2e6, returnedUnits: 400_001 }, [
    { soldUnits: 10, baseSoldUnits: 1e6, baseReturnedByThen: 300_000 },
    { soldUnits: 0, baseSoldUnits: 1e6, baseReturnedByThen: 100_001 },
  ]);
  assert.deepEqual(walk, { timing: 0, mix: 0.1, rate: 0 });
});

test("M24: there are no parts when either side sold nothing", () => {
  const nothing = { soldUnits: 0, returnedUnits: 0 };
  assert.equal(rateWalk(nothing, BASE, []), null);
  assert.equal(rateWalk(PERIOD, nothing, []), null);
});
