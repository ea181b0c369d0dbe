import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { joinEmbedded } from "../../src/embedded/embedded.ts";
import { migrate } from "../../src/store/migrate.ts";
import { KEEP_TEST_KEYS, createTestLogins } from "../../tests/support/database.ts";
import { execute } from "../../tests/support/server.ts";
import { startFaultProxy } from "../../tests/support/fault-proxy.ts";
import { openTestPool, serviceEnvironment } from "../../tests/support/service.ts";
import { seedSmallStore } from "../../tests/support/small-store.ts";
import { createTenant } from "../../tests/support/tenants.ts";
import { usageOf } from "../bench/servers.ts";
import { findingOf } from "./database.ts";
import type { Finding } from "./database.ts";

const CLIENTS = 20;
const BEFORE_MS = 3000;
const AFTER_MS = 5000;
/** Longest wait of a request: to connect (3 s) for admission, then a statement's limit (10 s) and its margin. */
const WAIT_LIMIT_MS = 15_000;
const RECOVERY_LIMIT_MS = 2000;
const READINESS_LIMIT_MS = 15_000;
const MEMORY_LIMIT_MB = 40;

type Asked = { startedAt: number; tookMs: number; status: number };

const FAULTS: readonly { name: string; fault: DatabaseFault; seconds: number }[] = [
  { name: "database stopped for 5 s", fault: "stop", seconds: 5 },
  { name: "database stopped for 60 s", fault: "stop", seconds: 60 },
  { name: "database black-holed for 30 s", fault: "blackhole", seconds: 30 },
];

/** Trust: bounded waits, flat memory, readiness tells, recovery by itself, while 20 clients go on asking. */
export async function breakDatabase(log: (line: string) => void): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const fault of FAULTS) {
    log(fault.name);
    const subject = await startSubject();
    try {
      findings.push(await endure(subject, fault));
    } finally {
      await subject.stop();
    }
  }
  return findings;
}

async function endure(subject: Subject, { name, fault, seconds }: (typeof FAULTS)[number]): Promise<Finding> {
  const asked: Asked[] = [];
  let isOver = false;
  const clients = Promise.all(Array.from({ length: CLIENTS }, () => ask(subject, asked, () => isOver)));
  await sleep(BEFORE_MS);
  const brokenAt = performance.now();
  await subject.breakDatabase(fault);
  const [untoldMs, memoryGrowth] = await watch(subject, seconds * 1000);
  await subject.mendDatabase();
  const mendedAt = performance.now();
  const readyMs = await untilReadiness(subject, true);
  await sleep(AFTER_MS);
  isOver = true;
  await clients;
  return judge({
    subject,
    name,
    asked,
    brokenAt,
    mendedAt,
    untoldMs,
    readyMs,
    memory: memoryGrowth,
  });
}

/**
 * How long readiness went on saying yes, and the highest memory of the fault's second half above that of its first,
 * not a number where the system does not tell it.
 */
async function watch(
  subject: Subject,
  durationMs: number,
): Promise<[untoldMs: number, memoryGrowth: number]> {
  const start = performance.now();
  const highest: [number, number] = [0, 0];
  const told = untilReadiness(subject, false);
  for (let elapsedMs = 0; elapsedMs < durationMs; elapsedMs = performance.now() - start) {
    const half = elapsedMs < durationMs / 2 ? 0 : 1;
    const megabytes = subject.residentMegabytes();
    highest[half] = Math.max(highest[half], megabytes);
    await sleep(200);
  }
  return [await told, highest[1] - highest[0]];
}

async function ask(subject: Subject, asked: Asked[], isOver: () => boolean): Promise<void> {
  const url = `${subject.address}/api/v1/summary?start_month=2025-01&end_month=2026-05`;
  while (!isOver()) {
    const startedAt = performance.now();
    const status = await fetch(url, { headers: { authorization: `Bearer ${subject.token}` } }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => 0,
    );
    asked.push({ startedAt, tookMs: performance.now() - startedAt, status });
    if (status !== 200) await sleep(50);
  }
}

/** Milliseconds until /readyz says so. */
async function untilReadiness(subject: Subject, isReady: boolean): Promise<number> {
  const start = performance.now();
  while (performance.now() - start < READINESS_LIMIT_MS * 2) {
    const response = await fetch(`${subject.address}/readyz`).catch(() => null);
    await response?.arrayBuffer();
    if (response?.ok === isReady) break;
    await sleep(50);
  }
  return performance.now() - start;
}

type Evidence = {
  subject: Subject;
  name: string;
  asked: readonly Asked[];
  brokenAt: number;
  mendedAt: number;
  untoldMs: number;
  readyMs: number;
  /** Growth in MB from the fault's first half to its second: the collector's saw teeth are in both. */
  memory: number;
};

function judge(evidence: Evidence): Finding {
  const { subject, name, asked, brokenAt, mendedAt, untoldMs, readyMs, memory } = evidence;
  const longestMs = Math.max(...asked.map((request) => request.tookMs));
  const before = asked.filter((request) => request.startedAt + request.tookMs < brokenAt);
  const during = asked.filter((request) => request.startedAt > brokenAt && request.startedAt < mendedAt);
  const late = asked.filter((request) => request.startedAt > mendedAt + RECOVERY_LIMIT_MS);
  const failures: [boolean, string][] = [
    [!subject.isRunning(), "the process ended"],
    [before.length === 0 || before.some((request) => request.status !== 200), "it failed before the fault"],
    [during.every((request) => request.status === 200), "the fault had no effect"],
    [asked.some((request) => ![200, 500].includes(request.status)), "answers other than 200 and 500"],
    [longestMs > WAIT_LIMIT_MS, "a request waited too long"],
    [untoldMs > READINESS_LIMIT_MS, "readiness did not tell"],
    [readyMs > RECOVERY_LIMIT_MS, "readiness came back late"],
    [late.length === 0 || late.some((request) => request.status !== 200), "errors after the recovery"],
    [Number.isNaN(memory), "memory was not measured"],
    [memory > MEMORY_LIMIT_MB, "memory grew"],
  ];
  const broken = failures.flatMap(([isBroken, what]) => (isBroken ? [what] : []));
  const observed =
    `${asked.length} requests, ${shownAnswers(asked)}, longest ${shownSeconds(longestMs)}, not ready after ${shownSeconds(untoldMs)}, ` +
    `ready again after ${shownSeconds(readyMs)}, memory ${shownGrowth(memory)}`;
  return findingOf(name, [observed], broken);
}

/** How many of each status; 0 = no answer. */
function shownAnswers(asked: readonly Asked[]): string {
  const byStatus = Map.groupBy(asked, ({ status }) => status);
  const statuses = [...byStatus.keys()].toSorted((one, other) => one - other);
  return statuses.map((status) => `${byStatus.get(status)?.length} × ${status}`).join(", ");
}

function shownGrowth(megabytes: number): string {
  if (Number.isNaN(megabytes)) return "unknown";
  return `${megabytes >= 0 ? "+" : ""}${megabytes} MB`;
}

function shownSeconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

/** stop: PostgreSQL is shut down, which cuts its connections off. blackhole: what is sent there and back is lost. */
type DatabaseFault = "stop" | "blackhole";

/** A server process whose database can be taken away. */
type Subject = {
  address: string;
  token: string;
  breakDatabase(fault: DatabaseFault): Promise<void>;
  /** Comes back when the database is there again. */
  mendDatabase(): Promise<void>;
  isRunning(): boolean;
  /** Resident memory in MB; not a number where the system does not tell. */
  residentMegabytes(): number;
  stop(): Promise<void>;
};

const ENTRY = join(import.meta.dirname, "../../tests/support/server-entry.ts");

/** A store of its own on an embedded PostgreSQL of its own, served by one process through a fault proxy. */
async function startSubject(): Promise<Subject> {
  const dataFolder = mkdtempSync(join(tmpdir(), "returns-chaos-"));
  let embedded = await joinEmbedded({ dataFolder, log: console.error });
  await createTestLogins(embedded.url);
  await migrate({ url: embedded.url });
  await execute(embedded.url, KEEP_TEST_KEYS);
  const pool = openTestPool(embedded.url);
  const tenant = await createTenant(pool);
  await seedSmallStore(pool, tenant.shopKey);
  await pool.end();
  const url = new URL(embedded.url);
  const { port } = url;
  const proxy = await startFaultProxy(Number(port));
  url.port = String(proxy.port);
  let isStopped = false;
  const child = spawn(process.execPath, [ENTRY], {
    env: { ...serviceEnvironment(url.href), LOG_LEVEL: "silent" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return {
    address: (JSON.parse(line) as { address: string }).address,
    token: tenant.token,
    breakDatabase: async (fault) => {
      isStopped = fault === "stop";
      if (isStopped) await embedded.release();
      await proxy.set(isStopped ? "refuse" : "blackhole");
    },
    mendDatabase: async () => {
      if (isStopped) embedded = await joinEmbedded({ dataFolder, log: console.error });
      if (new URL(embedded.url).port !== port) throw new Error("the database came back on another port");
      await proxy.set("forward");
    },
    isRunning: () => child.exitCode === null && child.signalCode === null,
    residentMegabytes: () => Math.round(usageOf(child.pid ?? 0).residentMb),
    stop: async () => {
      child.kill("SIGKILL");
      await ended;
      await proxy.close();
      await embedded.release();
      rmSync(dataFolder, { recursive: true, force: true });
    },
  };
}
