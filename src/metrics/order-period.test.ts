import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { dayToText, knownMonth } from "../lib/month.ts";
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
});
