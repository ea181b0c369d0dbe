import assert from "node:assert/strict";
import { test } from "node:test";
import { relativeTime } from "./relative-time.ts";

test("a moment is written as people say it, and a far one as a day", () => {
  const now = new Date("2026-07-01T12:00:00Z");
  const cases: [string, string][] = [
    ["2026-07-01T11:59:01Z", "just now"],
    ["2026-07-01T12:00:30Z", "just now"],
    ["2026-07-01T11:59:00Z", "1 min ago"],
    ["2026-07-01T11:00:01Z", "59 min ago"],
    ["2026-07-01T11:00:00Z", "1 h ago"],
    ["2026-07-01T15:30:00Z", "in 3 h"],
    ["2026-06-29T12:00:01Z", "47 h ago"],
    ["2026-06-29T12:00:00Z", "2 days ago"],
    ["2026-09-29T12:00:00Z", "2026-09-29"],
    ["2026-05-02T12:00:00Z", "2026-05-02"],
  ];
  for (const [moment, text] of cases) assert.equal(relativeTime(new Date(moment), now), text, moment);
});
