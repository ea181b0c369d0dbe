import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  comparedMonths,
  completeThrough,
  isComplete,
  isDayComplete,
  isExcluded,
  latestCompleteMonth,
  leaderboardMonths,
  splitMonths,
  usualMonths,
} from "./completeness.ts";
import { dayFromText, lastDayOfMonth, monthFromText, monthToText } from "../lib/month.ts";

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
  for (const asOfDay of [null, day("2024-01-01")])
    assert.equal(isExcluded(january, { windowDays: null, asOfDay, includeIncomplete: false }), false);
});

test("M5: incomplete months are left out unless they are asked for", () => {
  const excluded = (asOf: string, includeIncomplete: boolean) =>
    isExcluded(january, { windowDays: 30, asOfDay: day(asOf), includeIncomplete });
  assert.equal(excluded("2024-03-01", false), true);
  assert.equal(excluded("2024-03-01", true), false);
  assert.equal(excluded("2024-03-02", false), false);
});

test("M5: at day grain the window of each day counts for itself", () => {
  assert.equal(isDayComplete(day("2024-01-01"), 30, day("2024-01-31")), false);
  assert.equal(isDayComplete(day("2024-01-01"), 30, day("2024-02-01")), true);
});

test("M5: the latest complete month is complete and the one after it is not: no unit can still be returned inside the window", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -1000, max: 40_000 }),
      fc.integer({ min: 1, max: 365 }),
      (asOfDay, windowDays) => {
        const latest = latestCompleteMonth(windowDays, asOfDay) as number;
        assert.equal(isComplete(latest, windowDays, asOfDay), true);
        assert.equal(isComplete(latest + 1, windowDays, asOfDay), false);
        assert.ok(asOfDay - lastDayOfMonth(latest) > windowDays);
      },
    ),
  );
});

const month = (text: string): number => monthFromText(text) as number;
const covered = (start: string, end: string, windowDays: number | null, asOf: string | null, all = false) => {
  const asOfDay = asOf === null ? null : day(asOf);
  const range = { startMonth: month(start), endMonth: month(end) };
  const { counted, excluded } = splitMonths({ ...range, windowDays, asOfDay, includeIncomplete: all });
  const through = completeThrough(windowDays, asOfDay);
  return [
    counted.length,
    excluded.map(monthToText).join(" "),
    through === null ? null : monthToText(through),
  ];
};

test("M5: of a range, complete months are included and the others named; the newest complete one is given", () => {
  assert.deepEqual(covered("2024-01", "2024-04", 30, "2024-03-02"), [
    1,
    "2024-02 2024-03 2024-04",
    "2024-01",
  ]);
  assert.deepEqual(covered("2023-01", "2023-12", 30, "2024-03-02"), [12, "", "2024-01"]);
  assert.deepEqual(covered("2024-03", "2024-04", 30, "2024-03-02"), [0, "2024-03 2024-04", "2024-01"]);
  assert.deepEqual(covered("2024-03", "2024-04", 30, "2024-03-02", true), [2, "", "2024-01"]);
  assert.deepEqual(covered("2024-03", "2024-04", 30, null), [0, "2024-03 2024-04", null]);
  assert.deepEqual(covered("2024-03", "2024-04", 30, "0001-01-20"), [0, "2024-03 2024-04", null]);
});

test("M5: for lifetime every month is included and no month is the newest complete one", () => {
  assert.deepEqual(covered("2024-03", "2034-02", null, "2024-03-02"), [120, "", null]);
  assert.deepEqual(covered("2024-03", "2024-04", null, null), [2, "", null]);
});

const compared = (start: string, monthsIncluded: number, windowDays: number | null, asOf: string | null) => {
  const asOfDay = asOf === null ? null : day(asOf);
  const range = comparedMonths({ startMonth: month(start), windowDays, asOfDay }, monthsIncluded);
  return range === null ? null : [range.startMonth, range.endMonth].map(monthToText).join(" ");
};

test("M5: a range is compared with as many complete months before it", () => {
  assert.equal(compared("2024-01", 3, 30, "2024-06-15"), "2023-10 2023-12");
  assert.equal(compared("2024-06", 2, 30, "2024-06-15"), "2024-03 2024-04");
  assert.equal(compared("2024-06", 2, null, "2024-06-15"), "2024-04 2024-05");
  assert.equal(compared("2024-06", 2, null, null), "2024-04 2024-05");
});

test("M5: without included or complete months, or before the year 1, there is no comparison", () => {
  assert.equal(compared("2024-06", 0, 30, "2024-06-15"), null);
  assert.equal(compared("2024-06", 2, 30, null), null);
  assert.equal(compared("0001-03", 2, 30, "2024-06-15"), "0001-01 0001-02");
  assert.equal(compared("0001-03", 3, 30, "2024-06-15"), null);
});

test("M25: the usual months are the twelve complete ones before a range, fewer only before the year 1", () => {
  const usual = (start: string, windowDays: number | null, asOf: string | null) => {
    const range = { startMonth: month(start), windowDays, asOfDay: asOf === null ? null : day(asOf) };
    const months = usualMonths(range).map(monthToText);
    return [months.length, months[0], months.at(-1)];
  };
  assert.deepEqual(usual("2024-01", 30, "2024-06-15"), [12, "2023-01", "2023-12"]);
  assert.deepEqual(usual("2024-06", 30, "2024-06-15"), [12, "2023-05", "2024-04"]);
  assert.deepEqual(usual("2024-06", null, null), [12, "2023-06", "2024-05"]);
  assert.deepEqual(usual("2024-06", 30, null), [0, undefined, undefined]);
  assert.deepEqual(usual("0001-03", 30, "2024-06-15"), [2, "0001-01", "0001-02"]);
});

test("M12: a month is the latest complete one, a year the twelve latest", () => {
  const asOfDay = dayFromText("2024-03-02") as number;
  assert.deepEqual(leaderboardMonths("month", 30, asOfDay), { startMonth: january, endMonth: january });
  assert.deepEqual(leaderboardMonths("year", 30, asOfDay), { startMonth: january - 11, endMonth: january });
  assert.deepEqual(leaderboardMonths("month", 30, asOfDay - 1), {
    startMonth: january - 1,
    endMonth: january - 1,
  });
  assert.equal(leaderboardMonths("year", 30, null), null);
});
