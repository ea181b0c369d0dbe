import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { INDEPENDENT_UNITS } from "./design-effect.ts";
import { CURVE_AGES, curveAges, observedDays, pooledAges, type CohortCurve } from "./return-curve.ts";
import { dayFromText, firstDayOfMonth, lastDayOfMonth, monthFromText } from "../lib/month.ts";

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

test("M19: an age is complete exactly up to the observed days, and no open age enters the pooled curve", () => {
  const aYear = fc.integer({ min: july - 12, max: july + 12 });
  const anyCurve = fc.record({
    month: aYear,
    soldUnits: fc.nat(50),
    returnedUnits: fc.array(fc.nat(50), { minLength: 7, maxLength: 7 }),
  });
  const asOf = fc.integer({ min: firstDayOfMonth(july - 12), max: lastDayOfMonth(july + 24) });
  fc.assert(
    fc.property(
      fc.array(anyCurve, { maxLength: 6 }),
      asOf,
      fc.boolean(),
      (raw, asOfDay, includeIncomplete) => {
        const curves = raw.map((one) => ({
          ...one,
          returnedUnits: one.returnedUnits.map((units) => Math.min(units, one.soldUnits)),
        }));
        const ages = curves.map((one) => agesAt(asOfDay, includeIncomplete, one));
        for (const [index, one] of curves.entries()) {
          const observed = observedDays(one.month, asOfDay);
          assert.ok(ages[index]?.every((age) => age.isComplete === age.ageDays <= observed));
          assert.ok(ages[index]?.every((age) => !age.isComplete || age.returnedUnits !== null));
        }
        for (const [place, pooled] of pooledAges(curves, { asOfDay, orders: INDEPENDENT_UNITS }).entries()) {
          const complete = ages.flatMap((row) => (row[place]?.isComplete ? [row[place]] : []));
          const units = complete.reduce((sum, age) => sum + (age.returnedUnits ?? 0), 0);
          assert.equal(pooled.monthsIncluded, complete.length);
          assert.equal(pooled.returnedUnits, complete.length === 0 ? null : units);
        }
      },
    ),
  );
});
