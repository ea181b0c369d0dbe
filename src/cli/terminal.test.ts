import assert from "node:assert/strict";
import { test } from "node:test";
import { progressLine } from "./terminal.ts";

test("a progress line fills up with its share and never leaves its bounds", () => {
  assert.match(progressLine("Reading", 0, 10), /^Reading +\[-{24}\] {3}0 %$/u);
  assert.match(progressLine("Reading", 5, 10), /\[#{12}-{12}\] {2}50 %$/u);
  assert.match(progressLine("Reading", 11, 10), /\[#{24}\] 100 %$/u);
  assert.match(progressLine("Reading", 0, 0), /\[-{24}\] {3}0 %$/u);
});
