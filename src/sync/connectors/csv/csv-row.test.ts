import assert from "node:assert/strict";
import { test } from "node:test";
import { CellProblem, openCsvRow } from "./csv-row.ts";

const rowOf = openCsvRow(new Map([["cell", 0]]));
const row = (cell: string) => rowOf([cell]);

test("times with any offset become UTC to the millisecond", () => {
  const times: Record<string, string> = {
    "2026-01-31T09:30:00Z": "2026-01-31T09:30:00.000Z",
    "2026-01-31T23:30:00-01:00": "2026-02-01T00:30:00.000Z",
    "2026-01-31T09:30+0530": "2026-01-31T04:00:00.000Z",
    "2026-01-31 09:30:00.1239+01": "2026-01-31T08:30:00.123Z",
    "2024-02-29T00:00:00Z": "2024-02-29T00:00:00.000Z",
    "1900-01-01T00:00:00Z": "1900-01-01T00:00:00.000Z",
    "2200-12-31T23:59:59Z": "2200-12-31T23:59:59.000Z",
    // As BigQuery writes it.
    "2026-01-05 10:00:00.123456 UTC": "2026-01-05T10:00:00.123Z",
    "2026-01-05 10:00:00 UTC": "2026-01-05T10:00:00.000Z",
  };
  for (const [written, instant] of Object.entries(times)) assert.equal(row(written).time("cell"), instant);
});

test("anything but a real time with an offset is refused, even right after a valid one", () => {
  const wrong = [
    "2026-01-31",
    "2026-01-31T09:30:00",
    "31.01.2026 09:30Z",
    "2026-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-31T24:00:00Z",
    "2026-01-31T09:60:00Z",
    "2026-01-31T09:30:60Z",
    "2026-01-31T09:30:00+24:00",
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "1900-01-01T00:00:00+01:00",
    "2200-12-31T23:59:59-01:00",
    "+002026-01-31T09:30:00Z",
    "2026-01-05 10:00:00 CET",
    "2026-01-05 10:00:00UTC+1",
    "2026-01-05 UTC",
  ];
  for (const written of wrong) {
    row("2026-01-31T09:30:00Z").time("cell");
    assert.throws(() => row(written).time("cell"), CellProblem, written);
    assert.throws(() => row(written).time("cell"), CellProblem, `${written}, a second time`);
  }
});

test("flags are read as databases write them", () => {
  for (const yes of ["true", "TRUE", "t", "1"]) assert.equal(row(yes).flag("cell"), true, yes);
  for (const no of ["false", "f", "0", ""]) assert.equal(row(no).flag("cell"), false, no);
  for (const wrong of ["yes", "constructor"])
    assert.throws(() => row(wrong).flag("cell"), CellProblem, wrong);
});

test("M9: money is rounded to the decimals of its currency, halves away from zero", () => {
  assert.equal(row("0.10").money("cell", "EUR", false), 10);
  assert.equal(row("12").money("cell", "JPY", false), 12);
  assert.equal(row("1.234").money("cell", "KWD", false), 1234);
  assert.equal(row("1.500").money("cell", "EUR", false), 150);
  assert.equal(row("-1.5").money("cell", "EUR", true), -150);
  assert.equal(row("").money("cell", "EUR", false), null);
  assert.equal(row("1.234").money("cell", "EUR", false), 123);
  assert.equal(row("1.235").money("cell", "EUR", false), 124);
  assert.equal(row("-1.235").money("cell", "EUR", true), -124);
  assert.equal(row("0.5").money("cell", "JPY", false), 1);
  for (const wrong of [
    "1,50",
    ".5",
    "1.",
    "€5",
    "1e2",
    "0x10",
    "Infinity",
    "1 000",
    "-1",
    "10000000000.01",
  ]) {
    assert.throws(() => row(wrong).money("cell", "EUR", false), CellProblem, wrong);
  }
});

test("units are whole, not negative, and written in plain digits", () => {
  assert.equal(row("007").units("cell"), 7);
  assert.equal(row(" 3 ").units("cell"), 3);
  for (const wrong of ["-1", "+1", "1.0", "1e3", "٣", "ten", "10000001"]) {
    assert.throws(() => row(wrong).units("cell"), CellProblem, wrong);
  }
});

test("ids keep their blanks, labels lose those around them, and control characters are in neither", () => {
  assert.equal(row(" a\u0000b\u009f ").text("cell"), " ab ");
  assert.equal(row(" a\tb ").label("cell"), "ab");
  assert.equal(row(" \n ").text("cell"), null);
  assert.equal(row("missing column").text("other"), null);
});
