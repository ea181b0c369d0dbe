import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  dayFromText,
  dayOfInstant,
  dayToText,
  firstDayOfMonth,
  lastDayOfMonth,
  monthFromText,
  monthOfDay,
  monthsBetween,
  monthToText,
} from "./month.ts";

const firstMonth = 12;
const lastMonth = 9999 * 12 + 11;

test("a day is a UTC calendar day, also before 1970", () => {
  assert.equal(dayOfInstant(0), 0);
  assert.equal(dayOfInstant(86_399_999), 0);
  assert.equal(dayOfInstant(86_400_000), 1);
  assert.equal(dayOfInstant(-1), -1);
  assert.equal(dayOfInstant(Date.parse("2024-03-01T00:30:00+01:00")), dayFromText("2024-02-29"));
});

test("known days have known texts", () => {
  assert.equal(dayToText(0), "1970-01-01");
  assert.equal(dayFromText("2000-03-01"), 11_017);
  assert.equal(dayFromText("0001-01-01"), -719_162);
  assert.equal(dayFromText("9999-12-31"), 2_932_896);
});

test("every month of the years 0001 to 9999 survives text, and its days join the next month's", () => {
  for (let month = firstMonth; month <= lastMonth; month += 1) {
    const firstDay = firstDayOfMonth(month);
    const lastDay = lastDayOfMonth(month);
    assert.equal(monthFromText(monthToText(month)), month);
    assert.equal(monthOfDay(firstDay), month);
    assert.equal(monthOfDay(lastDay), month);
    assert.equal(monthOfDay(lastDay + 1), month + 1);
    assert.ok(lastDay - firstDay >= 27 && lastDay - firstDay <= 30);
  }
});

test("every day of the years 0001 to 9999 survives text, and later days have later texts", () => {
  const day = fc.integer({ min: -719_162, max: 2_932_896 });
  fc.assert(
    fc.property(day, day, (left, right) => {
      assert.equal(dayFromText(dayToText(left)), left);
      assert.equal(dayToText(left).slice(0, 7), monthToText(monthOfDay(left)));
      assert.equal(dayToText(left) < dayToText(right), left < right);
    }),
    { numRuns: 2000 },
  );
});

test("texts that are no month are refused", () => {
  for (const text of [
    "2024-00",
    "2024-13",
    "0000-01",
    "2024-1",
    "2024-01-01",
    "24-01",
    " 2024-01",
    "2024-01\n",
    "",
  ]) {
    assert.equal(monthFromText(text), null, JSON.stringify(text));
  }
  assert.equal(monthFromText("0001-01"), 12);
});

test("texts that are no real calendar day are refused", () => {
  for (const text of [
    "2023-02-29",
    "1900-02-29",
    "2024-04-31",
    "2024-00-10",
    "2024-01-00",
    "0000-12-31",
    "2024-1-1",
  ]) {
    assert.equal(dayFromText(text), null, text);
  }
  assert.notEqual(dayFromText("2000-02-29"), null);
});

test("a range of months holds both ends and is empty when reversed", () => {
  assert.deepEqual(monthsBetween(24_011, 24_013), [24_011, 24_012, 24_013]);
  assert.deepEqual(monthsBetween(5, 5), [5]);
  assert.deepEqual(monthsBetween(6, 5), []);
});
