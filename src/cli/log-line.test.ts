import assert from "node:assert/strict";
import { test } from "node:test";
import { readableLine } from "./log-line.ts";

const line = (fields: object): string =>
  readableLine(`${JSON.stringify({ level: "info", time: "2026-07-01T12:34:56.789Z", ...fields })}\n`);

test("a line for people has the time of day, the level, what happened and its fields", () => {
  assert.equal(
    line({ run_id: "r1", source: "loop", counts: { records: 5 }, msg: "run succeeded" }),
    '12:34:56 INFO  run succeeded run_id=r1 source=loop counts={"records":5}\n',
  );
});

test("a request is its method, route, status and duration", () => {
  const request = { method: "GET", route: "/api/v1/summary", status: 200, duration_ms: 1.5 };
  assert.equal(
    line({ reqId: "q1", ...request, msg: "request" }),
    "12:34:56 INFO  GET /api/v1/summary 200 in 1.5 ms reqId=q1\n",
  );
});

test("an error shows its stack below, and text other than JSON is unchanged", () => {
  assert.equal(
    line({ level: "error", err: { message: "no", stack: "Error: no\n    at x" }, msg: "it failed" }),
    "12:34:56 ERROR it failed\n  Error: no\n      at x\n",
  );
  assert.equal(readableLine("plain\n"), "plain\n");
});
