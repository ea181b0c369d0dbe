import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isComplete, isDayComplete, isExcluded, latestCompleteMonth } from "./completeness.ts";
import { dayFromText, lastDayOfMonth, monthFromText } from "./month.ts";

const january = monthFromText("2024-01") as number;
const day = (text: string): number => dayFromText(text) as number;

test("M5: a cohort is complete on the day after its last unit's window, not before", () => {
  assert.equal(isComplete(january, 30, day("2024-03-01")), false);
  assert.equal(isComplete(january, 30, day("2024-03-02")), true);
});

test("M5: a source that was never synced completes no finite window", () => {
  assert.equal(isComplete(january, 30, null), false);
  assert.equal(isDayComplete(0, 30, null), false);
  assert.equal(latestCompleteMonth(30, null), null);
});

test("M5: lifetime is never excluded", () => {
  assert.equal(isExcluded(january, null, null, false), false);
  assert.equal(isExcluded(january, null, day("2024-01-01"), false), false);
});

test("M5: incomplete months are left out unless they are asked for", () => {
  assert.equal(isExcluded(january, 30, day("2024-03-01"), false), true);
  assert.equal(isExcluded(january, 30, day("2024-03-01"), true), false);
  assert.equal(isExcluded(january, 30, day("2024-03-02"), false), false);
});

test("M5: at day grain the window of each day counts for itself", () => {
  assert.equal(isDayComplete(day("2024-01-01"), 30, day("2024-01-31")), false);
  assert.equal(isDayComplete(day("2024-01-01"), 30, day("2024-02-01")), true);
});

test("M5: the latest complete month is complete and the one after it is not", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -1000, max: 40_000 }),
      fc.integer({ min: 1, max: 365 }),
      (asOfDay, windowDays) => {
        const month = latestCompleteMonth(windowDays, asOfDay) as number;
        assert.equal(isComplete(month, windowDays, asOfDay), true);
        assert.equal(isComplete(month + 1, windowDays, asOfDay), false);
      },
    ),
  );
});

test("M5: a complete cohort has no unit that could still be returned inside the window", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 40_000 }),
      fc.integer({ min: 1, max: 365 }),
      (asOfDay, windowDays) => {
        const month = latestCompleteMonth(windowDays, asOfDay) as number;
        assert.ok(asOfDay - lastDayOfMonth(month) > windowDays);
      },
    ),
  );
});
