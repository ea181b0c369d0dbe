import assert from "node:assert/strict";
import { test } from "node:test";
import {
  quoted,
  readChoices,
  readDay,
  readExpiry,
  readInstant,
  readInteger,
  readLifetime,
  readText,
} from "./input.ts";
import { Refusal } from "./refusal.ts";

const now = new Date("2026-07-01T12:00:00Z");
const isInvalid = (error: unknown): boolean => error instanceof Refusal && error.kind === "invalid";

test("an expiry is a number of days or hours from now, or a future moment", () => {
  assert.equal(readExpiry("x", "90d", now).toISOString(), "2026-09-29T12:00:00.000Z");
  assert.equal(readExpiry("x", "12h", now).toISOString(), "2026-07-02T00:00:00.000Z");
  assert.equal(readExpiry("x", "2026-07-01T14:00:00+01:00", now).toISOString(), "2026-07-01T13:00:00.000Z");
  for (const text of [
    "0d",
    "2026-07-01T12:00:00Z",
    "2020-01-01",
    "90",
    "90m",
    "-1d",
    "",
    "999999d9",
    "9999999d",
  ]) {
    assert.throws(() => readExpiry("x", text, now), isInvalid, text);
  }
});

test("an expiry beyond the year 9999 is refused", () =>
  assert.throws(() => readExpiry("x", "999999d", new Date("9000-01-01T00:00:00Z")), isInvalid));

test("a time needs an offset, and a day means its first moment in UTC", () => {
  assert.equal(readInstant("x", "2026-06-30").toISOString(), "2026-06-30T00:00:00.000Z");
  assert.equal(readInstant("x", "2026-06-30T02:00:00+02:00").toISOString(), "2026-06-30T00:00:00.000Z");
  for (const text of [
    "2026-06-30T00:00:00",
    "2026-02-30",
    "2026-02-30T00:00:00Z",
    "yesterday",
    "1750000000",
  ]) {
    assert.throws(() => readInstant("x", text), isInvalid, text);
  }
});

test("a day is one of the calendar", () => {
  assert.equal(readDay("x", "2028-02-29"), "2028-02-29");
  for (const text of ["2026-02-29", "2026-1-1", "2026-13-01", "2026-06-30T00:00:00Z"]) {
    assert.throws(() => readDay("x", text), isInvalid, text);
  }
});

test("a lifetime is a number of days or hours", () => {
  assert.equal(readLifetime("x", "24h"), 86_400_000);
  assert.equal(readLifetime("x", "1d"), 86_400_000);
  assert.throws(() => readLifetime("x", "1 day"), isInvalid);
});

test("a list of choices is returned in the choices' order, each once, and unknown ones are named", () => {
  assert.deepEqual(readChoices("x", [" b, a", "b "], ["a", "b", "c"]), ["a", "b"]);
  assert.deepEqual(readChoices("x", [""], ["a"]), []);
  assert.throws(() => readChoices("x", ["a,d"], ["a", "b"]), /list of a, b; "d" is not one of them/u);
});

test("a whole number is plain and within its bounds", () => {
  assert.equal(readInteger("x", "365", 1, 365), 365);
  assert.equal(readInteger("x", "2147483647", 0, null), 2_147_483_647);
  for (const text of ["0", "366", "1.0", "1e2", "-1", "", " 5"]) {
    assert.throws(() => readInteger("x", text, 1, 365), isInvalid, text);
  }
  assert.throws(() => readInteger("x", "2147483648", 0, null), /of at least 0/u);
});

test("text is trimmed, bounded and without control characters", () => {
  assert.equal(readText("x", " été ", 3), "été");
  for (const text of ["", "  ", "four", "a\u0007", "\ud800"]) {
    assert.throws(() => readText("x", text, 3), isInvalid, JSON.stringify(text));
  }
});

test("quoted text cannot move a terminal's cursor, and its length is limited", () => {
  assert.equal(quoted("a\u001b[2Jb"), '"a?[2Jb"');
  assert.equal(quoted("x".repeat(100)).length, 83);
});
