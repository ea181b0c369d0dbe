import assert from "node:assert/strict";
import { test } from "node:test";
import { pollIntervalMs, SourceFailed, SourceRefused } from "./connector.ts";

test("polls are as frequent as orders, within limits, and rare where webhooks report all changes", () => {
  const minutes = (kind: "store" | "label_cost", weekOrders: number, isToldByWebhooks = false): number =>
    pollIntervalMs(kind, { weekOrders, isToldByWebhooks }) / 60_000;
  assert.deepEqual(
    [100_000, 672, 336, 20, 14, 1, 0].map((orders) => minutes("store", orders)),
    [15, 15, 30, 504, 720, 720, 720],
  );
  assert.deepEqual(
    [100_000, 168, 84, 0].map((orders) => minutes("label_cost", orders)),
    [60, 60, 120, 720],
  );
  assert.equal(minutes("store", 100_000, true), 720);
});

test("the part of an answer that a sentence quotes can be stored and shown, whatever the source answered", () => {
  for (const Failure of [SourceFailed, SourceRefused]) {
    const { message, name } = new Failure(`It answered a\u0000b\ud800${"é".repeat(2000)}.`);
    assert.match(message, /^It answered ab\ufffdé+$/u, name);
    assert.ok(Buffer.byteLength(message) <= 1024);
  }
});
