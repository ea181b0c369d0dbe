import assert from "node:assert/strict";
import { test } from "node:test";
import { daysText, percentText, readableName, unitsText } from "./wording.ts";

test("a name is one line without direction marks, and otherwise unchanged", () => {
  assert.equal(readableName(" A\r\n\u2028B\u0000\u001b[31m "), "A B [31m");
  assert.equal(readableName("safe\u202egpj.exe\u2066"), "safegpj.exe");
  assert.equal(readableName("Lampe <é> 👩‍🔧 &amp;"), "Lampe <é> 👩‍🔧 &amp;");
});

test("a long name is cut between characters", () => {
  assert.equal(readableName("x".repeat(80)), "x".repeat(80));
  assert.equal(readableName("👍".repeat(81)), `${"👍".repeat(79)}…`);
});

test("figures are written out", () => {
  assert.deepEqual(
    [
      [0, 9],
      [814, 10_000],
      [1, 2],
      [4, 7],
      [23, 2000],
      [3, 3],
    ].map(([part = 0, whole = 0]) => percentText(part, whole)),
    ["0 %", "8.1 %", "50 %", "57.1 %", "1.2 %", "100 %"],
  );
  assert.deepEqual([1, 2, 1234].map(unitsText), ["1 unit", "2 units", "1,234 units"]);
  assert.deepEqual([1, 30].map(daysText), ["1 day", "30 days"]);
});
