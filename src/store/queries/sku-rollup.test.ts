import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { knownMonth, monthOfDate, monthsBetween } from "../../lib/month.ts";
import { quarterOf, quartersAndMonths, blocksOf } from "./sku-rollup.ts";

test("a range is the calendar quarters inside it and the months at its ends", () => {
  const ranges: [start: string, end: string, quarters: string[], months: string[]][] = [
    [
      "2024-12",
      "2025-11",
      ["2025-01-01", "2025-04-01", "2025-07-01"],
      ["2024-12-01", "2025-10-01", "2025-11-01"],
    ],
    ["2025-04", "2025-06", ["2025-04-01"], []],
    ["2025-02", "2025-03", [], ["2025-02-01", "2025-03-01"]],
    ["2025-02", "2025-01", [], []],
    ["0001-01", "0001-04", ["0001-01-01"], ["0001-04-01"]],
  ];
  for (const [start, end, quarters, months] of ranges)
    assert.deepEqual(quartersAndMonths(knownMonth(start), knownMonth(end)), { quarters, months });
});

test("M7: quarters and months together are the range's months, each once", () => {
  const month = fc.integer({ min: 12, max: 12 * 9999 + 11 });
  fc.assert(
    fc.property(month, fc.integer({ min: -2, max: 130 }), (start, length) => {
      const end = Math.min(start + length, 12 * 9999 + 11);
      const { quarters, months } = quartersAndMonths(start, end);
      const covered = [
        ...months.map(monthOfDate),
        ...quarters.flatMap((day) => [monthOfDate(day), monthOfDate(day) + 1, monthOfDate(day) + 2]),
      ].toSorted((left, right) => left - right);
      assert.deepEqual(
        covered,
        Array.from({ length: Math.max(0, end - start + 1) }, (_, offset) => start + offset),
      );
      for (const day of quarters) assert.equal(quarterOf(day), day);
    }),
  );
});

test("a range is the fewest years, quarters and months that add up to it, months beyond it subtracted", () => {
  const years = ["2023-11", "2024-11", "2025-11"].map(knownMonth);
  assert.deepEqual(blocksOf(knownMonth("2024-12"), knownMonth("2025-11"), years), {
    years: ["2025-11-01"],
    quarters: [],
    months: [],
    lessMonths: [],
  });
  assert.deepEqual(blocksOf(knownMonth("2024-01"), knownMonth("2025-12"), years), {
    years: ["2024-11-01", "2025-11-01"],
    quarters: [],
    months: ["2025-12-01"],
    lessMonths: ["2023-12-01"],
  });
  assert.deepEqual(blocksOf(knownMonth("2025-01"), knownMonth("2025-07"), []), {
    years: [],
    quarters: ["2025-01-01", "2025-04-01"],
    months: ["2025-07-01"],
    lessMonths: [],
  });
});

test("M7: years, quarters and months together are the range's months, each once, in no more blocks than without years", () => {
  const month = fc.integer({ min: 13 * 12, max: 9980 * 12 });
  fc.assert(
    fc.property(month, fc.integer({ min: -2, max: 130 }), fc.nat(11), (start, length, offset) => {
      const end = start + length;
      const ends = monthsBetween(start - 24, start + 60).filter((last) => last % 12 === offset);
      const { years, quarters, months, lessMonths } = blocksOf(start, end, ends);
      const times = new Map<number, number>();
      const add = (day: string, from: number, to: number, by: number): void => {
        for (const of of monthsBetween(monthOfDate(day) + from, monthOfDate(day) + to)) {
          times.set(of, (times.get(of) ?? 0) + by);
        }
      };
      for (const day of years) add(day, -11, 0, 1);
      for (const day of quarters) add(day, 0, 2, 1);
      for (const day of months) add(day, 0, 0, 1);
      for (const day of lessMonths) add(day, 0, 0, -1);
      const covered = [...times].filter(([, count]) => count !== 0).toSorted(([one], [other]) => one - other);
      assert.deepEqual(
        covered,
        monthsBetween(start, end).map((inside) => [inside, 1]),
      );
      for (const day of years) assert.ok(ends.includes(monthOfDate(day)));
      const plain = quartersAndMonths(start, end);
      const blocks = years.length + quarters.length + months.length + lessMonths.length;
      assert.ok(blocks <= plain.quarters.length + plain.months.length);
    }),
  );
});
