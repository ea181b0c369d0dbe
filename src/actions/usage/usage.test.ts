import assert from "node:assert/strict";
import { test } from "node:test";
import type { UsageSumRow } from "./queries.ts";
import { forecastUsage, summarizeUsage } from "./usage.ts";

const RANGE = { fromDay: "2026-02-27", toDay: "2026-03-01" };

const sum = (
  dimension: UsageSumRow["dimension"],
  key: string,
  outcome: string,
  requests: number,
  quotaRequests = requests,
): UsageSumRow => ({ dimension, key, outcome, requests, quota_requests: quotaRequests });

test("every day of the range is listed, with the difference between its details and its total", () => {
  const { by_day: days } = summarizeUsage(
    RANGE,
    [
      { day: "2026-02-27", requests: 10 },
      { day: "2026-03-01", requests: 4 },
    ],
    [
      sum("day", "2026-02-27", "ok", 6),
      sum("day", "2026-02-27", "invalid_request", 1),
      sum("day", "2026-02-27", "forbidden", 5, 0),
      sum("day", "2026-03-01", "ok", 5),
    ],
  );
  assert.deepEqual(days, [
    { day: "2026-02-27", quota_requests: 10, other_requests: 5, missing_requests: 3 },
    { day: "2026-02-28", quota_requests: 0, other_requests: 0, missing_requests: 0 },
    { day: "2026-03-01", quota_requests: 4, other_requests: 0, missing_requests: -1 },
  ]);
});

test("groups are added over outcomes, the largest first; refusals by code", () => {
  const sums = [
    sum("token", "b", "ok", 3),
    sum("token", "a", "ok", 3),
    sum("token", "c", "ok", 4),
    sum("token", "c", "forbidden", 2, 0),
    sum("surface", "rest", "ok", 10),
    sum("surface", "rest", "forbidden", 1, 0),
    sum("surface", "mcp", "forbidden", 1, 0),
    sum("surface", "mcp", "not_ready", 1, 0),
  ];
  const summary = summarizeUsage(RANGE, [], sums);
  assert.deepEqual(
    summary.by_token.map((group) => [group.key, group.requests, group.refused_requests]),
    [
      ["c", 6, 2],
      ["a", 3, 0],
      ["b", 3, 0],
    ],
  );
  assert.deepEqual(summary.refusals, [
    { code: "forbidden", requests: 2 },
    { code: "not_ready", requests: 1 },
  ]);
  assert.deepEqual(summary.by_endpoint, []);
});

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

test("there is no forecast without a quota or a request, in the first hour, or after the quota is used up", () => {
  assert.equal(forecastUsage(10, null, at("12:00")), null);
  assert.equal(forecastUsage(0, 1000, at("12:00")), null);
  assert.equal(forecastUsage(10, 1000, at("00:59")), null);
  assert.equal(forecastUsage(1000, 1000, at("12:00")), null);
  assert.notEqual(forecastUsage(10, 1000, at("01:00")), null);
});
