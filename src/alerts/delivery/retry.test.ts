import assert from "node:assert/strict";
import { test } from "node:test";
import { lastHour, nextHour, nextTryAt, RETRY_DELAYS_MS } from "./retry.ts";

const now = new Date("2026-11-22T12:00:00Z");
const HOUR_MS = 3_600_000;

test("attempts are repeated over a day with growing delays, and then end", () => {
  const waits = RETRY_DELAYS_MS.map((_, index) => {
    const at = nextTryAt(index + 1, { now, retryAfterMs: null, random: 0 });
    return Number(at) - now.getTime();
  });
  assert.deepEqual(waits, RETRY_DELAYS_MS);
  assert.deepEqual(
    waits,
    waits.toSorted((one, other) => one - other),
  );
  const total = waits.reduce((sum, wait) => sum + wait, 0);
  assert.ok(total >= 24 * HOUR_MS && total < 25 * HOUR_MS, String(total));
  assert.equal(nextTryAt(RETRY_DELAYS_MS.length + 1, { now, retryAfterMs: 1, random: 0 }), null);
});

test("a delay has up to 10 % of jitter, and is as long as the receiver requests, up to 12 hours", () => {
  const after = (retryAfterMs: number | null, random: number): number =>
    Number(nextTryAt(1, { now, retryAfterMs, random })) - now.getTime();
  assert.equal(after(null, 1), 5500);
  assert.equal(after(60_000, 1), 60_000);
  assert.equal(after(1000, 0), 5000);
  assert.equal(after(99 * HOUR_MS, 0), 12 * HOUR_MS);
});

test("the hour of a digest is the last and the next one in UTC", () => {
  for (const [hour, last, next] of [
    [12, "2026-11-22T12:00:00.000Z", "2026-11-23T12:00:00.000Z"],
    [13, "2026-11-21T13:00:00.000Z", "2026-11-22T13:00:00.000Z"],
    [0, "2026-11-22T00:00:00.000Z", "2026-11-23T00:00:00.000Z"],
  ] as const) {
    assert.deepEqual([lastHour(hour, now).toISOString(), nextHour(hour, now).toISOString()], [last, next]);
  }
});
