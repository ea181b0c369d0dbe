import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { FAULTS, startFaultProxy, type FaultProxy } from "./support/fault-proxy.ts";
import { post, toolCall } from "./support/mcp.ts";
import { residentMb, startServerProcess, type ServerProcess } from "./support/server-process.ts";
import { openTestPool, type CalledAnswer } from "./support/service.ts";
import { seedSmallStore } from "./support/small-store.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";
import { eventually } from "./support/worker.ts";

const CONNECTIONS = 4;
const REQUESTS_PER_SHOP = 2;
/** Requests of each of two shops: more than a shop may have at once, and more than there are connections. */
const REQUESTS = 6;
const SORRY =
  "Something went wrong on our side. Try again, and quote the X-Request-ID header if it happens again.";

let testDatabase: TestDatabase;
let database: pg.Pool;
let limited: Tenant;
let unlimited: Tenant;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openTestPool(testDatabase.url);
  limited = await createTenant(database);
  unlimited = await createTenant(database, { dailyQuota: null });
  for (const { shopKey } of [limited, unlimited]) await seedSmallStore(database, shopKey);
});
after(async () => {
  await database.end();
  await testDatabase.drop();
});

type Scene = { server: ServerProcess; proxy: FaultProxy; answers: Promise<CalledAnswer[]> };

/** A server behind a proxy whose limits are used up by requests that hang in the database, with more waiting. */
async function withWaitingRequests(
  context: TestContext,
  work: (scene: Scene) => Promise<void>,
): Promise<void> {
  const url = new URL(testDatabase.url);
  const proxy = await startFaultProxy(Number(url.port));
  context.after(() => proxy.close());
  url.port = String(proxy.port);
  const server = await startServerProcess(context, url.href, {
    DATABASE_CONNECTIONS: String(CONNECTIONS),
    REQUESTS_PER_SHOP: String(REQUESTS_PER_SHOP),
  });
  const holder = await database.connect();
  try {
    await holder.query("begin");
    await holder.query("lock table alert in access exclusive mode");
    const asked = [limited, unlimited].flatMap((tenant) => askAll(server, tenant));
    const answers = Promise.all(asked);
    await eventually(hasHangingRequests, "requests of both shops hang", 30);
    await work({ server, proxy, answers });
  } finally {
    await holder.query("rollback");
    holder.release();
    server.signal("SIGKILL");
    await server.ended;
  }
}

/** No two limits share a cached answer. */
function askAll(server: ServerProcess, tenant: Tenant): Promise<CalledAnswer>[] {
  const isUnlimited = tenant === unlimited;
  return Array.from({ length: REQUESTS }, (_, index) =>
    server.call("/api/v1/alerts", { token: tenant.token, isUnlimited, params: { limit: index + 1 } }),
  );
}

async function hasHangingRequests(): Promise<boolean> {
  const { rowCount } = await database.query(
    `select from pg_stat_activity
      where datname = current_database() and application_name = 'returns-reading' and wait_event_type = 'Lock'`,
  );
  return (rowCount ?? 0) >= REQUESTS_PER_SHOP;
}

async function assertRecovery(server: ServerProcess, proxy: FaultProxy): Promise<void> {
  await proxy.set("forward");
  const params = { start_month: "2025-01", end_month: "2026-05" };
  const summary = () => server.call("/api/v1/summary", { token: limited.token, params });
  await eventually(async () => (await summary()).status === 200, "an answer once the database is back", 30);
}

function assertOwnFault(answer: CalledAnswer): void {
  assert.deepEqual([answer.status, answer.message()], [500, SORRY]);
  assert.equal(answer.headers.get("retry-after"), "1");
}

test("if the database resets its connections, running and waiting requests fail with 500, never with a 4xx", async (context) => {
  await withWaitingRequests(context, async ({ server, proxy, answers }) => {
    await proxy.set("refuse");
    for (const answer of await answers) assertOwnFault(answer);
    for (const answer of await Promise.all(askAll(server, limited))) assertOwnFault(answer);
    await assertRecovery(server, proxy);
  });
});

test("if the database stops responding, waiting requests fail with 500, and none is answered 429", async (context) => {
  await withWaitingRequests(context, async ({ server, proxy, answers }) => {
    const tool = post(server.address, toolCall("list_alerts", { limit: 50 }), { token: unlimited.token });
    await proxy.set("blackhole");
    for (const answer of await answers) assertOwnFault(answer);
    const { result, error } = (await tool).message;
    assert.ok(!JSON.stringify([result, error]).includes("rate_limited"), JSON.stringify([result, error]));
    await assertRecovery(server, proxy);
  });
});

const CLIENTS = 20;
const BEFORE_MS = 3000;
const AFTER_MS = 5000;
/** Longest wait of a request: to connect (3 s) for admission, then a statement's limit (10 s) and its margin. */
const WAIT_LIMIT_MS = 15_000;
const RECOVERY_LIMIT_MS = 2000;
const READINESS_LIMIT_MS = 15_000;
const MEMORY_LIMIT_MB = 40;

for (const { mode, seconds } of FAULTS) {
  test(`under load, a database that is away (${mode}, ${seconds} s): bounded waits, flat memory, readiness, recovery`, async (context) => {
    const url = new URL(testDatabase.url);
    const proxy = await startFaultProxy(Number(url.port));
    context.after(() => proxy.close());
    url.port = String(proxy.port);
    const server = await startServerProcess(context, url.href);
    const asked: Asked[] = [];
    let isOver = false;
    const clients = Promise.all(Array.from({ length: CLIENTS }, () => askOn(server, asked, () => isOver)));
    await sleep(BEFORE_MS);
    const brokenAt = performance.now();
    await proxy.set(mode);
    const told = untilReadiness(server, false);
    const grewMb = await memoryGrowth(server, seconds * 1000);
    const untoldMs = await told;
    await proxy.set("forward");
    const mendedAt = performance.now();
    const readyMs = await untilReadiness(server, true);
    await sleep(AFTER_MS);
    isOver = true;
    await clients;

    const statusesOf = (fits: (one: Asked) => boolean) =>
      new Set(asked.filter(fits).map(({ status }) => status));
    const longestMs = Math.max(...asked.map(({ tookMs }) => tookMs));
    context.diagnostic(
      `longest ${longestMs.toFixed()} ms, not ready after ${untoldMs.toFixed()} ms, ready after ${readyMs.toFixed()} ms, ${grewMb} MB`,
    );
    assert.ok(server.isRunning());
    const answered = new Set([200]);
    assert.deepEqual(
      statusesOf(({ startedAt, tookMs }) => startedAt + tookMs < brokenAt),
      answered,
    );
    const during = statusesOf(({ startedAt }) => startedAt > brokenAt && startedAt < mendedAt);
    assert.ok(during.has(500), "the fault has an effect");
    assert.ok([...statusesOf(() => true)].every((status) => status === 200 || status === 500));
    assert.ok(longestMs <= WAIT_LIMIT_MS, "a request waits too long");
    assert.ok(untoldMs <= READINESS_LIMIT_MS, "readiness does not tell");
    assert.ok(readyMs <= RECOVERY_LIMIT_MS, "readiness comes back late");
    assert.deepEqual(
      statusesOf(({ startedAt }) => startedAt > mendedAt + RECOVERY_LIMIT_MS),
      answered,
    );
    assert.ok(grewMb <= MEMORY_LIMIT_MB, `memory grows by ${grewMb} MB`);
  });
}

type Asked = { startedAt: number; tookMs: number; status: number };

/** Sends one request after the other; status 0 = no answer. */
async function askOn(server: ServerProcess, asked: Asked[], isOver: () => boolean): Promise<void> {
  const url = `${server.address}/api/v1/summary?start_month=2025-01&end_month=2026-05`;
  while (!isOver()) {
    const startedAt = performance.now();
    const status = await fetch(url, { headers: { authorization: `Bearer ${unlimited.token}` } }).then(
      async (response) => (await response.arrayBuffer(), response.status),
      () => 0,
    );
    asked.push({ startedAt, tookMs: performance.now() - startedAt, status });
    if (status !== 200) await sleep(50);
  }
}

/** The highest memory of the fault's second half minus that of its first: garbage collection affects both alike. */
async function memoryGrowth(server: ServerProcess, durationMs: number): Promise<number> {
  const start = performance.now();
  const highest: [number, number] = [0, 0];
  for (let elapsedMs = 0; elapsedMs < durationMs; elapsedMs = performance.now() - start) {
    const half = elapsedMs < durationMs / 2 ? 0 : 1;
    highest[half] = Math.max(highest[half], residentMb(server.pid));
    await sleep(200);
  }
  return highest[1] - highest[0];
}

/** Milliseconds until /readyz reports this state. */
async function untilReadiness({ address }: ServerProcess, isReady: boolean): Promise<number> {
  const start = performance.now();
  while (performance.now() - start < READINESS_LIMIT_MS * 2) {
    const response = await fetch(`${address}/readyz`).catch(() => null);
    await response?.arrayBuffer();
    if (response?.ok === isReady) break;
    await sleep(50);
  }
  return performance.now() - start;
}
