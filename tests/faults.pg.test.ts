import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { startServerProcess, type ServerProcess } from "./support/server-process.ts";
import { openTestPool } from "./support/service.ts";
import { createSmallStore } from "./support/small-store.ts";
import type { Tenant } from "./support/tenants.ts";
import { eventually } from "./support/worker.ts";

const CLIENTS = 20;
const RECOVERY_LIMIT_MS = 2000;
const STOP_LIMIT_MS = 3000;
const SUMMARY = "/api/v1/summary";

let testDatabase: TestDatabase;
let database: pg.Pool;
let tenant: Tenant;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openTestPool(testDatabase.url);
  tenant = await createSmallStore(database);
});
after(async () => {
  await database.end();
  await testDatabase.drop();
});

type Outcome = { startedAt: number; status: number };

/** Clients that send one request after another until stopped; a request without an answer rejects. */
function load(server: ServerProcess, outcomes: Outcome[], isOver: () => boolean): Promise<void[]> {
  const client = async (): Promise<void> => {
    while (!isOver()) {
      const startedAt = performance.now();
      const answer = await server.call(SUMMARY, {
        token: tenant.token,
        params: { start_month: "2025-01", end_month: "2026-05" },
      });
      outcomes.push({ startedAt, status: answer.status });
    }
  };
  return Promise.all(Array.from({ length: CLIENTS }, client));
}

/** Waits until every client has been answered a few times. */
async function untilUnderWay(outcomes: readonly Outcome[]): Promise<void> {
  for (let waits = 0; outcomes.length < CLIENTS * 3; waits++) {
    assert.ok(waits < 1000, "the clients are not answered");
    await sleep(10);
  }
}

test("all serving connections killed under load: only requests in flight fail, no process ends, recovery in 2 s", async (context) => {
  const server = await startServerProcess(context, testDatabase.url);
  let isOver = false;
  const all: Outcome[] = [];
  const clients = load(server, all, () => isOver);
  await untilUnderWay(all);
  const killed = await database.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name in ('returns-admission', 'returns-reading')`,
  );
  const killedAt = performance.now();
  await eventually(
    async () => all.some((outcome) => outcome.startedAt > killedAt + RECOVERY_LIMIT_MS),
    "requests after the time to recover",
    60,
  );
  isOver = true;
  await clients;
  const failed = all.filter((outcome) => outcome.status !== 200);
  assert.ok((killed.rowCount ?? 0) >= 2, "connections of both pools were there to kill");
  assert.ok(failed.length <= CLIENTS, `${failed.length} failed`);
  assert.ok(failed.every((outcome) => outcome.status === 500));
  const late = all.filter((outcome) => outcome.startedAt > killedAt + RECOVERY_LIMIT_MS);
  assert.ok(late.length > 0 && late.every((outcome) => outcome.status === 200));
  assert.ok(server.isRunning());
  server.signal("SIGTERM");
  assert.equal(await server.ended, 0);
});

test("SIGTERM under load: readiness fails first, no request fails, the process exits with 0", async (context) => {
  const server = await startServerProcess(context, testDatabase.url, { DRAIN_SECONDS: "10" });
  // As a load balancer does: no more requests once the server is not ready.
  let isReady = true;
  const all: Outcome[] = [];
  const clients = load(server, all, () => !isReady);
  await untilUnderWay(all);
  server.signal("SIGTERM");
  const signalledAt = performance.now();
  await eventually(
    async () => all.some((outcome) => outcome.startedAt > signalledAt),
    "a request after the signal is answered",
  );
  while (isReady) {
    isReady = (await fetch(`${server.address}/readyz`)).ok;
    await sleep(20);
  }
  await clients;
  assert.deepEqual(
    all.filter((outcome) => outcome.status !== 200),
    [],
  );
  assert.equal(await server.ended, 0);
});

test("SIGTERM: a request in flight is answered before the process exits", async (context) => {
  const server = await startServerProcess(context, testDatabase.url);
  const holder = await database.connect();
  await holder.query("begin");
  await holder.query("lock table alert in access exclusive mode");
  const slow = server.call("/api/v1/alerts", { token: tenant.token });
  await waitForBlockedQuery();
  server.signal("SIGTERM");
  await sleep(200);
  assert.ok(server.isRunning());
  await holder.query("commit");
  holder.release();
  assert.equal((await slow).status, 200);
  const answeredAt = performance.now();
  assert.equal(await server.ended, 0);
  assert.ok(performance.now() - answeredAt < STOP_LIMIT_MS, "no open connection holds the process back");
  await assert.rejects(fetch(server.address));
});

async function waitForBlockedQuery(): Promise<void> {
  const isBlocked = async (): Promise<boolean> => {
    const { rowCount } = await database.query(
      `select from pg_stat_activity
        where datname = current_database() and application_name = 'returns-reading' and wait_event_type = 'Lock'`,
    );
    return rowCount === 1;
  };
  await eventually(isBlocked, "the request waits for the lock", 30);
}
