import assert from "node:assert/strict";
import { test } from "node:test";
import { forecastUsage } from "./usage-forecast.ts";

const at = (time: string): Date => new Date(`2026-11-22T${time}:00Z`);

test("a pace that reaches the quota today says when", () => {
  assert.deepEqual(forecastUsage(500, 1000, at("09:00")), {
    used_up_at: at("18:00"),
    requests_by_reset: 1333,
  });
});

test("a pace that does not reach it says how many requests the day ends with", () => {
  assert.deepEqual(forecastUsage(100, 1000, at("12:00")), { used_up_at: null, requests_by_reset: 200 });
  assert.equal(forecastUsage(500, 1000, at("12:00"))?.used_up_at, null, "at the very end of the day");
});

test("nothing is forecast without a quota or a request, in the first hour, and when it is used up", () => {
  assert.equal(forecastUsage(10, null, at("12:00")), null);
  assert.equal(forecastUsage(0, 1000, at("12:00")), null);
  assert.equal(forecastUsage(10, 1000, at("00:59")), null);
  assert.equal(forecastUsage(1000, 1000, at("12:00")), null);
  assert.notEqual(forecastUsage(10, 1000, at("01:00")), null);
});
