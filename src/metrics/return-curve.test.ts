import assert from "node:assert/strict";
import { test } from "node:test";
import { INDEPENDENT_UNITS } from "./design-effect.ts";
import { CURVE_AGES, curveAges, observedDays, pooledAges, type CohortCurve } from "./return-curve.ts";
import { dayFromText, monthFromText } from "../lib/month.ts";

const july = monthFromText("2026-07") as number;
const day = (text: string): number => dayFromText(text) as number;
const curve: CohortCurve = { month: july, soldUnits: 10, returnedUnits: [1, 2, 3, 4, 5, 6, 7] };
const agesAt = (asOfDay: number | null, includeIncomplete: boolean, of = curve) =>
  curveAges(of, { asOfDay, includeIncomplete, orders: INDEPENDENT_UNITS });
const unitsAt = (asOfDay: number | null, includeIncomplete: boolean) =>
  agesAt(asOfDay, includeIncomplete).map((age) => age.returnedUnits);

test("M19: an age is complete on the day after the last order's has passed, not before", () => {
  const before = agesAt(day("2026-08-07"), false);
  const after = agesAt(day("2026-08-08"), false);
  assert.deepEqual([before[0]?.isComplete, after[0]?.isComplete], [false, true]);
  assert.deepEqual(before[0], {
    ageDays: 7,
    returnedUnits: null,
    returnRate: null,
    interval: null,
    isComplete: false,
  });
  assert.deepEqual([after[0]?.returnedUnits, after[0]?.returnRate], [1, 0.1]);
});

test("M19: an open age has figures only with open months included, once the first day has reached it", () => {
  const asOfDay = day("2026-08-31");
  assert.deepEqual(unitsAt(asOfDay, false), [1, 2, 3, null, null, null, null]);
  assert.deepEqual(unitsAt(asOfDay - 1, true), [1, 2, 3, null, null, null, null]);
  assert.deepEqual(unitsAt(asOfDay, true), [1, 2, 3, 4, null, null, null]);
});

test("M19: without any sync nothing has been observed", () => {
  assert.equal(observedDays(july, null), 0);
  assert.deepEqual(
    unitsAt(null, true),
    CURVE_AGES.map(() => null),
  );
  const pooled = pooledAges([curve], { asOfDay: null, orders: INDEPENDENT_UNITS });
  assert.ok(pooled.every((age) => age.monthsIncluded === 0 && age.returnRate === null));
});

test("M6, M19: a complete age of a month that sold nothing has rate 0 and no interval", () => {
  const empty = { month: july, soldUnits: 0, returnedUnits: [0, 0, 0, 0, 0, 0, 0] };
  const [first] = agesAt(day("2027-01-01"), false, empty);
  assert.deepEqual([first?.returnedUnits, first?.returnRate, first?.interval], [0, 0, null]);
});
