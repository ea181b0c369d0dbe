import assert from "node:assert/strict";
import { test } from "node:test";
import { curveDaysOf, outlookModel, outlookOf, shareObserved, sumOutlooks } from "./outlook.ts";
import type { DayCurve, Outlook, OutlookBasis } from "./outlook.ts";
import { dayFromText, monthOfDay } from "../lib/month.ts";

const AS_OF_DAY = dayFromText("2026-06-15") as number;
const LEVELS = [0.8, 0.95];
const close = (actual: number | undefined, expected: number, within = 1e-9): void =>
  assert.ok(Math.abs((actual ?? NaN) - expected) <= within, `${actual} ≠ ${expected}`);

/** A day of 100 lines of two units: 5 come back after 5 days, 3 after 20, 2 after 50; of later days what is old enough. */
function day(age: number, factor = 1): DayCurve {
  const lagDays = [5, 20, 50].filter((lag) => lag <= age);
  const returnedLines = [5, 8, 10].slice(0, lagDays.length).map((lines) => lines * factor);
  return {
    day: AS_OF_DAY - age,
    soldUnits: 200,
    soldLines: 100,
    lagDays,
    returnedLines,
    returnedUnits: returnedLines.map((lines) => lines * 2),
  };
}
const days = (fromAge: number, toAge: number, factor = 1): DayCurve[] =>
  Array.from({ length: fromAge - toAge + 1 }, (_, place) => day(fromAge - place, factor));

const basis = (change: Partial<OutlookBasis> = {}): OutlookBasis => ({
  asOfDay: AS_OF_DAY,
  horizonDays: 60,
  windowDays: 30,
  curveDays: days(300, 61),
  ownDays: days(300, 0),
  ...change,
});
const outlookAt = (own: DayCurve[], change: Partial<OutlookBasis> = {}) => {
  const model = outlookModel(basis(change));
  return model === null ? null : outlookOf(model, own, LEVELS);
};

test("M18: what came back, and at the usual rate what is still to come inside the window", () => {
  const outlook = outlookAt(days(14, 0));
  // Ten days are old enough for the first five lines; all of it is 15 days × 8 lines × 2 units.
  close(outlook?.returnedUnits, 240, 0.5);
  close(outlook === null ? NaN : shareObserved(outlook), (10 * 5) / (15 * 8));
});

test("M18: the outlook of a cohort whose window has closed is its returned units", () => {
  const outlook = outlookAt(days(50, 31));
  close(outlook?.returnedUnits, 320);
  assert.deepEqual(
    outlook?.intervals.map(({ low, high }) => [low, high]),
    [
      [320, 320],
      [320, 320],
    ],
  );
  assert.equal(outlook === null ? NaN : shareObserved(outlook), 1);
});

test("M18: months add up to the hundredth; the errors of their ends are half correlated", () => {
  const month = (returnedUnits: number, low: number, high: number): Outlook => ({
    soldUnits: 2000,
    returnedUnitsSoFar: 100,
    returnedUnits,
    intervals: [{ level: 0.8, low, high }],
    wholeLines: 400,
    comingLines: 100,
  });
  const complete = { ...month(160, 160, 160), comingLines: 0 };
  const months = [month(931.25, 891.25, 981.25), month(400, 370, 450)];
  const both = sumOutlooks(months, [0.8]);
  assert.deepEqual(
    [both.returnedUnits, both.intervals],
    [1331.25, [{ level: 0.8, low: 1270.42, high: 1417.85 }]],
  );
  const three = sumOutlooks([...months, complete], [0.8]);
  assert.deepEqual([three.returnedUnits, three.intervals[0]?.low], [1491.25, 1430.42]);
  close(shareObserved(three), 1 - 200 / 1200);
});

test("M18: only the newest 24 complete months show how much months differ", () => {
  const old = days(2000, 301).map((own) =>
    day(AS_OF_DAY - own.day, monthOfDay(own.day) % 2 === 0 ? 0.2 : 1.8),
  );
  const own = days(300, 0);
  const far = old.filter((past) => past.day < AS_OF_DAY - 800);
  assert.deepEqual(
    outlookAt(days(14, 0), { ownDays: [...far, ...own] }),
    outlookAt(days(14, 0), { ownDays: own }),
  );
  assert.notDeepEqual(
    outlookAt(days(14, 0), { ownDays: [...old, ...own] }),
    outlookAt(days(14, 0), { ownDays: own }),
  );
});

test("M18: a few days with many units per line do not count as usual lines", () => {
  const curveDays = days(300, 61).map((own, place) =>
    place % 60 === 0 ? { ...own, returnedUnits: own.returnedUnits.map((units) => units * 1000) } : own,
  );
  close(
    outlookAt(days(14, 0), { curveDays, ownDays: [...curveDays, ...days(60, 0)] })?.returnedUnits,
    240,
    1,
  );
});

test("M18: no outlook without 60 days that sold, or when nothing came back", () => {
  assert.equal(outlookAt(days(14, 0), { curveDays: days(119, 61) }), null);
  assert.notEqual(outlookAt(days(14, 0), { curveDays: days(120, 61) }), null);
  assert.equal(outlookAt(days(14, 0), { curveDays: days(300, 61, 0) }), null);
});

test("M18: the category's curve is followed from 200 returned lines on", () => {
  const store = days(300, 61);
  assert.equal(curveDaysOf(days(80, 61), store, 60).length, 20);
  assert.equal(curveDaysOf(days(79, 61), store, 60), store);
});

test("M18: with few lines the interval contains the outlook, between what came back and what was sold", () => {
  const small = (lines: number, units: number, back: number): DayCurve => ({
    day: AS_OF_DAY - 3,
    soldUnits: units,
    soldLines: lines,
    lagDays: back === 0 ? [] : [1],
    returnedLines: back === 0 ? [] : [back],
    returnedUnits: back === 0 ? [] : [back],
  });
  for (const own of [small(1, 1, 0), small(2, 2, 1), small(1, 1, 1), small(3, 4, 0), small(40, 40, 39)]) {
    for (const factor of [1, 8]) {
      const outlook = outlookAt([own], { curveDays: days(300, 61, factor), ownDays: [own] });
      const back = own.returnedUnits[0] ?? 0;
      const { returnedUnits } = outlook ?? { returnedUnits: NaN };
      for (const { level, low, high } of outlook?.intervals ?? []) {
        const name = `${own.soldLines} lines, ${back} back, ${level}: ${low} ${returnedUnits} ${high}`;
        assert.ok(
          back <= low && low <= returnedUnits && returnedUnits <= high && high <= own.soldUnits,
          name,
        );
      }
    }
  }
});
