import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Queryable } from "../store/database.ts";
import { createAdmissionQueue } from "./admission-queue.ts";

/** A database whose every statement takes a while and admits. */
function slowDatabase(statementMs: number): Queryable {
  return {
    rows: async <Row>() => {
      await sleep(statementMs);
      return [{ verdicts: ["admitted"], missing: [null], used_requests: null, daily_quota: null } as Row];
    },
  };
}

test("a request behind many quick statements waits no longer than behind one that hangs", async () => {
  const longestWaitMs = 400;
  const queue = createAdmissionQueue({
    database: slowDatabase(25),
    pepper: Buffer.alloc(32),
    longestWaitMs,
  });
  const request = {
    shopKey: "1",
    tokenId: "t",
    secret: "s",
    scope: null,
    entitlements: [],
    counted: false,
  };
  const asked = await Promise.allSettled(Array.from({ length: 10_000 }, () => queue(request)));
  const states = asked.map(({ status }) => status);
  assert.equal(states[0], "fulfilled");
  assert.ok(states.includes("rejected"), "all of them waited");
});
