import assert from "node:assert/strict";
import { test } from "node:test";
import { dayToText } from "../lib/month.ts";
import { dayOfText, firstOfMonth } from "./calendar.ts";

test("a day survives being read and written", () => {
  for (const text of ["1970-01-01", "2024-02-29", "2026-12-31"])
    assert.equal(dayToText(dayOfText(text)), text);
});

test("a text that is no day of the calendar is refused by name", () => {
  for (const text of ["2026-02-30", "2026-13-01", "2026-1-1", "yesterday", "2026-01-01T00:00:00Z", ""]) {
    assert.throws(() => dayOfText(text), { message: new RegExp(`not "${text}"`) });
  }
});

test("months are counted across years in both directions", () => {
  assert.equal(dayToText(firstOfMonth(dayOfText("2026-01-31"), -2)), "2025-11-01");
  assert.equal(dayToText(firstOfMonth(dayOfText("2026-12-31"), 1)), "2027-01-01");
});
