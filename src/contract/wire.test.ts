import assert from "node:assert/strict";
import { test } from "node:test";
import { quotaHeaders } from "./wire.ts";

test("the rate-limit headers are never negative, and an unlimited plan has none", () => {
  const resetsAt = new Date("2026-04-01T00:00:00Z");
  assert.deepEqual(quotaHeaders({ limit: 3, used: 5, resetsAt }), {
    "X-RateLimit-Limit": "3",
    "X-RateLimit-Remaining": "0",
    "X-RateLimit-Reset": "2026-04-01T00:00:00.000Z",
  });
  assert.deepEqual(quotaHeaders(null), {});
});
