import assert from "node:assert/strict";
import { test } from "node:test";
import { readPersonName } from "./person-name.ts";

test("texts that take long to be put in order are refused before they are", () => {
  const marks = `a${"\u0316\u0301".repeat(100_000)}`;
  const began = performance.now();
  assert.throws(() => readPersonName("The name", marks), /^Refusal: The name must be text of 1 to 100 /u);
  assert.ok(performance.now() - began < 1000);
  assert.equal(readPersonName("The name", "e\u0301".repeat(100)), "é".repeat(100));
});
