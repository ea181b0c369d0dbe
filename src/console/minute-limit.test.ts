import assert from "node:assert/strict";
import { test } from "node:test";
import { createMinuteLimit } from "./minute-limit.ts";

test("a key has its requests in each minute of the clock", () => {
  const admits = createMinuteLimit(30);
  const at = new Date("2026-11-01T08:00:10Z");
  const requests = Array.from({ length: 31 }, () => admits("192.0.2.1", at));
  assert.equal(requests.filter(Boolean).length, 30);
  assert.equal(requests.at(-1), false);
  assert.equal(admits("192.0.2.2", at), true);
  assert.equal(admits("192.0.2.1", new Date("2026-11-01T08:00:59.999Z")), false);
  assert.equal(admits("192.0.2.1", new Date("2026-11-01T08:01:00Z")), true);
});
