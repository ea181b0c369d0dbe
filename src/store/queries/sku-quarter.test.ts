import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { knownMonth, monthOfDate } from "../../lib/month.ts";
import { quarterOf, quartersAndMonths } from "./sku-quarter.ts";

test("a range is the calendar quarters inside it and the months at its ends", () => {
  assert.deepEqual(quartersAndMonths(knownMonth("2024-12"), knownMonth("2025-11")), {
    quarters: ["2025-01-01", "2025-04-01", "2025-07-01"],
    months: ["2024-12-01", "2025-10-01", "2025-11-01"],
  });
  assert.deepEqual(quartersAndMonths(knownMonth("2025-04"), knownMonth("2025-06")), {
    quarters: ["2025-04-01"],
    months: [],
  });
  assert.deepEqual(quartersAndMonths(knownMonth("2025-02"), knownMonth("2025-03")), {
    quarters: [],
    months: ["2025-02-01", "2025-03-01"],
  });
  assert.deepEqual(quartersAndMonths(knownMonth("2025-02"), knownMonth("2025-01")), {
    quarters: [],
    months: [],
  });
  assert.deepEqual(quartersAndMonths(knownMonth("0001-01"), knownMonth("0001-04")), {
    quarters: ["0001-01-01"],
    months: ["0001-04-01"],
  });
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
