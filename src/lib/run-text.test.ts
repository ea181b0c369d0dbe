import assert from "node:assert/strict";
import { test } from "node:test";
import { countsText, durationText, retryText, stageText } from "./run-text.ts";

test("durations, counts and stages are in words", () => {
  assert.deepEqual([0.04, 9.94, 12.4, 59.6, 185, 7800].map(durationText), [
    "0.0 s",
    "9.9 s",
    "12 s",
    "1 min 0 s",
    "3 min 5 s",
    "2 h 10 min",
  ]);
  assert.equal(countsText({ orders: 1200, changed_orders: 34 }), "1,200 orders, 34 changed orders");
  assert.equal(countsText({ orders: 1, changed_orders: 0 }), "1 order, 0 changed orders");
  assert.equal(
    stageText({ stage: "reading_orders", done: 1200, total: 5000 }),
    "reading orders 1,200 of 5,000",
  );
  assert.equal(stageText({ stage: "orders", done: 7, total: null }), "orders 7");
  assert.equal(stageText({ stage: null, done: 0, total: null }), null);
});

test("a failed try says why, and when the next one follows", () => {
  const runAfter = new Date("2026-07-01T12:34:56.789Z");
  assert.equal(
    retryText({ try: 2, error: "It answered 503.", run_after: runAfter }),
    "try 2 failed: It answered 503; tried again at 12:34:56 UTC",
  );
});
