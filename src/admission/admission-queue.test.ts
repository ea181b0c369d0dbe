import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Queryable, Statement } from "../store/database.ts";
import { createAdmissionQueue } from "./admission-queue.ts";

const REQUEST = { shopKey: 1, tokenId: "t", secret: "s", scope: null, entitlements: [], counted: false };
const ADMITTED = { verdicts: ["admitted"], missing: [null], used_requests: null, daily_quota: null };
/** Among the values of admit_many. */
const REQUESTS_OF_ASKERS = 6;

/** A database whose every statement takes a while and admits; `tell` hears how many requests one is for. */
function slowDatabase(statementMs: number, tell: (requests: number) => void = () => {}): Queryable {
  return {
    rows: async <Row>(_statement: Statement, values: readonly unknown[]) => {
      tell(requestsOf(values));
      await sleep(statementMs);
      return [ADMITTED as Row];
    },
  };
}

function requestsOf(values: readonly unknown[]): number {
  return (values[REQUESTS_OF_ASKERS] as number[]).reduce((sum, requests) => sum + requests);
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
  const ends: (() => void)[] = [];
  const database: Queryable = {
    rows: async <Row>(_statement: Statement, values: readonly unknown[]) => {
      batches.push(requestsOf(values));
      await new Promise<void>((end) => ends.push(end));
      return [ADMITTED as Row];
    },
  };
  const queue = createAdmissionQueue({ database, pepper: Buffer.alloc(32), longestWaitMs: 60_000 });
  const ask = (count: number) => Array.from({ length: count }, () => queue(REQUEST));
  const first = ask(4);
  await turn();
  const later = ask(20);
  for (const asked of [first, later, later]) {
    ends.shift()?.();
    await asked[0];
    await turn();
  }
  await Promise.all(later);
  assert.deepEqual(batches, [4, 12, 8]);
});

test("behind a statement that took long, all that wait go with the next", async () => {
  const batches: number[] = [];
  const database = slowDatabase(100, (requests) => batches.push(requests));
  const queue = createAdmissionQueue({ database, pepper: Buffer.alloc(32), longestWaitMs: 3000 });
  const first = queue(REQUEST);
  await turn();
  await Promise.all([first, ...Array.from({ length: 20 }, () => queue(REQUEST))]);
  assert.deepEqual(batches, [1, 20]);
});

/** Until what was asked is on its way. */
async function turn(): Promise<void> {
  for (let turns = 0; turns < 3; turns += 1) await new Promise((done) => setImmediate(done));
}
