import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Queryable, Statement } from "../store/database.ts";
import { createAdmissionQueue } from "./admission-queue.ts";

const REQUEST = { shopKey: "1", tokenId: "t", secret: "s", scope: null, entitlements: [], counted: false };
/** Among the values of admit_many. */
const REQUESTS_OF_ASKERS = 6;

/** A database whose every statement takes a while and admits; `tell` hears how many requests one is for. */
function slowDatabase(statementMs: number, tell: (requests: number) => void = () => {}): Queryable {
  return {
    rows: async <Row>(_statement: Statement, values: readonly unknown[]) => {
      tell((values[REQUESTS_OF_ASKERS] as number[]).reduce((sum, requests) => sum + requests));
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
  const asked = await Promise.allSettled(Array.from({ length: 10_000 }, () => queue(REQUEST)));
  const states = asked.map(({ status }) => status);
  assert.equal(states[0], "fulfilled");
  assert.ok(states.includes("rejected"), "all of them waited");
});

test("what waits is shared out evenly between the next statement and the one after it", async () => {
  const batches: number[] = [];
  const database = slowDatabase(20, (requests) => batches.push(requests));
  const queue = createAdmissionQueue({ database, pepper: Buffer.alloc(32), longestWaitMs: 3000 });
  const ask = (count: number) => Array.from({ length: count }, () => queue(REQUEST));
  const first = ask(4);
  await sleep(5);
  await Promise.all([...first, ...ask(20)]);
  assert.deepEqual(batches, [4, 12, 8]);
});
