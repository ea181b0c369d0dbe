import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { KEEP_TEST_KEYS } from "../../tests/support/database.ts";
import { startFaultProxy } from "../../tests/support/fault-proxy.ts";
import type { FaultProxy, ProxyMode } from "../../tests/support/fault-proxy.ts";
import { execute } from "../../tests/support/server.ts";
import { startServerProcess } from "../../tests/support/server-process.ts";
import type { ServerProcess } from "../../tests/support/server-process.ts";
import { openTestPool } from "../../tests/support/service.ts";
import { createSmallStore } from "../../tests/support/small-store.ts";
import { usageOf } from "../bench/servers.ts";
import { findingOf, withDatabase } from "./database.ts";
import type { Finding } from "./database.ts";

/** What takes a database away. refuse: nothing listens, its connections are reset. blackhole: nothing passes. */
export const FAULTS: readonly { mode: ProxyMode; seconds: number }[] = [
  { mode: "refuse", seconds: 5 },
  { mode: "refuse", seconds: 60 },
  { mode: "blackhole", seconds: 30 },
];

const CLIENTS = 20;
const BEFORE_MS = 3000;
const AFTER_MS = 5000;
/** Longest wait of a request: to connect (3 s) for admission, then a statement's limit (10 s) and its margin. */
const WAIT_LIMIT_MS = 15_000;
const RECOVERY_LIMIT_MS = 2000;
const READINESS_LIMIT_MS = 15_000;
const MEMORY_LIMIT_MB = 40;

/** Trust: bounded waits, flat memory, correct readiness and automatic recovery, while 20 clients keep sending requests. */
export function breakDatabase(log: (line: string) => void): Promise<Finding[]> {
  return withDatabase(log, async ({ url: ownUrl }) => {
    await execute(ownUrl, KEEP_TEST_KEYS);
    const pool = openTestPool(ownUrl);
    const { token } = await createSmallStore(pool);
    await pool.end();
    const findings: Finding[] = [];
    for (const fault of FAULTS) {
      log(`database: ${fault.mode} for ${fault.seconds} s`);
      const url = new URL(ownUrl);
      const proxy = await startFaultProxy(Number(url.port));
      url.port = String(proxy.port);
      const ends: (() => unknown)[] = [];
      const context = { after: (end: () => unknown) => void ends.push(end) } as unknown as TestContext;
      try {
        const server = await startServerProcess(context, url.href);
        findings.push(await endure({ server, proxy, token }, fault));
      } finally {
        for (const end of ends) end();
        await proxy.close();
      }
    }
    return findings;
  });
}

type Subject = { server: ServerProcess; proxy: FaultProxy; token: string };
type Asked = { startedAt: number; tookMs: number; status: number };

async function endure(
  { server, proxy, token }: Subject,
  { mode, seconds }: (typeof FAULTS)[number],
): Promise<Finding> {
  const asked: Asked[] = [];
  let isOver = false;
  const clients = Promise.all(Array.from({ length: CLIENTS }, () => ask(server, token, asked, () => isOver)));
  await sleep(BEFORE_MS);
  const brokenAt = performance.now();
  await proxy.set(mode);
  const told = untilReadiness(server, false);
  const memory = await memoryGrowth(server, seconds * 1000);
  const untoldMs = await told;
  await proxy.set("forward");
  const mendedAt = performance.now();
  const readyMs = await untilReadiness(server, true);
  await sleep(AFTER_MS);
  isOver = true;
  await clients;

  const longestMs = Math.max(...asked.map((request) => request.tookMs));
  const before = asked.filter((request) => request.startedAt + request.tookMs < brokenAt);
  const during = asked.filter((request) => request.startedAt > brokenAt && request.startedAt < mendedAt);
  const late = asked.filter((request) => request.startedAt > mendedAt + RECOVERY_LIMIT_MS);
  const failures: [boolean, string][] = [
    [!server.isRunning(), "the process ended"],
    [before.length === 0 || before.some((request) => request.status !== 200), "it failed before the fault"],
    [during.every((request) => request.status === 200), "the fault had no effect"],
    [asked.some((request) => ![200, 500].includes(request.status)), "answers other than 200 and 500"],
    [longestMs > WAIT_LIMIT_MS, "a request waited too long"],
    [untoldMs > READINESS_LIMIT_MS, "readiness did not tell"],
    [readyMs > RECOVERY_LIMIT_MS, "readiness came back late"],
    [late.length === 0 || late.some((request) => request.status !== 200), "errors after the recovery"],
    [!(memory <= MEMORY_LIMIT_MB), "memory grew, or was not measured"],
  ];
  const byStatus = [...Map.groupBy(asked, ({ status }) => status)].map(
    ([status, all]) => `${all.length} × ${status}`,
  );
  const shown = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;
  const observed = [
    `${byStatus.join(", ")}, longest ${shown(longestMs)}, not ready after ${shown(untoldMs)}`,
    `ready again after ${shown(readyMs)}, memory ${memory >= 0 ? "+" : ""}${memory} MB`,
  ];
  const problems = failures.flatMap(([isBroken, what]) => (isBroken ? [what] : []));
  return findingOf(`database ${mode} ${seconds} s`, observed, problems);
}

/** The highest memory of the fault's second half above that of its first: the collector's saw teeth are in both. */
async function memoryGrowth(server: ServerProcess, durationMs: number): Promise<number> {
  const start = performance.now();
  const highest: [number, number] = [0, 0];
  for (let elapsedMs = 0; elapsedMs < durationMs; elapsedMs = performance.now() - start) {
    const half = elapsedMs < durationMs / 2 ? 0 : 1;
    highest[half] = Math.max(highest[half], Math.round(usageOf(server.pid).residentMb));
    await sleep(200);
  }
  return highest[1] - highest[0];
}

async function ask(
  server: ServerProcess,
  token: string,
  asked: Asked[],
  isOver: () => boolean,
): Promise<void> {
  const url = `${server.address}/api/v1/summary?start_month=2025-01&end_month=2026-05`;
  while (!isOver()) {
    const startedAt = performance.now();
    // 0 = no answer.
    const status = await fetch(url, { headers: { authorization: `Bearer ${token}` } }).then(
      async (response) => (await response.arrayBuffer(), response.status),
      () => 0,
    );
    asked.push({ startedAt, tookMs: performance.now() - startedAt, status });
    if (status !== 200) await sleep(50);
  }
}

/** Milliseconds until /readyz says so. */
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
