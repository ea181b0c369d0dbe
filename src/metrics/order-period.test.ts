import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { dayToText, knownMonth, lastDayOfMonth, firstDayOfMonth, monthOfDay } from "../lib/month.ts";
import { orderPeriods } from "./order-period.ts";

const range = (first: string, last: string) => ({
  startMonth: knownMonth(first),
  endMonth: knownMonth(last),
});
const textsOf = (first: string, last: string, interval: "day" | "week") =>
  orderPeriods(range(first, last), interval).map(
    ({ startsOnDay, endsOnDay }) => `${dayToText(startsOnDay)} ${endsOnDay - startsOnDay + 1}`,
  );

describe("M26: weeks and days of order", () => {
  test("a week begins on Monday, and one that crosses the end of a month is two rows", () => {
    assert.deepEqual(textsOf("2025-10", "2025-11", "week").slice(3, 7), [
      "2025-10-20 7",
      "2025-10-27 5",
      "2025-11-01 2",
      "2025-11-03 7",
    ]);
  });

  test("before 1970, a February of four whole weeks is four rows", () => {
    assert.deepEqual(textsOf("1965-02", "1965-02", "week"), [
      "1965-02-01 7",
      "1965-02-08 7",
      "1965-02-15 7",
      "1965-02-22 7",
    ]);
  });

  test("whatever the months, days and weeks follow each other without a gap, each in its month, days within weeks", () => {
    const months = fc.record({
      start: fc.integer({ min: 12, max: 30_000 }),
      length: fc.integer({ min: 1, max: 30 }),
    });
    fc.assert(
      fc.property(months, ({ start: startMonth, length }) => {
        const asked = { startMonth, endMonth: startMonth + length - 1 };
        const [days, weeks] = [orderPeriods(asked, "day"), orderPeriods(asked, "week")];
        for (const periods of [days, weeks]) {
          let next = firstDayOfMonth(startMonth);
          for (const { month, startsOnDay, endsOnDay } of periods) {
            assert.equal(startsOnDay, next);
            assert.ok(endsOnDay >= startsOnDay && endsOnDay - startsOnDay < 7);
            assert.deepEqual([monthOfDay(startsOnDay), monthOfDay(endsOnDay)], [month, month]);
            next = endsOnDay + 1;
          }
          assert.equal(next, lastDayOfMonth(asked.endMonth) + 1);
        }
        const isStart = (day: number): boolean =>
          new Date(`${dayToText(day)}T00:00:00Z`).getUTCDay() === 1 || dayToText(day).endsWith("-01");
        assert.deepEqual(
          weeks.map(({ startsOnDay }) => startsOnDay),
          days.map(({ startsOnDay }) => startsOnDay).filter(isStart),
        );
      }),
    );
  });
});
