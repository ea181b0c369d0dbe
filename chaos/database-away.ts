import { setTimeout as sleep } from "node:timers/promises";
import type { Finding } from "./finding.ts";
import { startSubject } from "./subject.ts";
import type { DatabaseFault, Subject } from "./subject.ts";

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
 * null where the system does not tell it.
 */
async function watch(
  subject: Subject,
  durationMs: number,
): Promise<[untoldMs: number, memoryGrowth: number | null]> {
  const start = performance.now();
  const highest: [number, number] = [0, 0];
  let isKnown = true;
  const told = untilReadiness(subject, false);
  for (let elapsedMs = 0; elapsedMs < durationMs; elapsedMs = performance.now() - start) {
    const half = elapsedMs < durationMs / 2 ? 0 : 1;
    const megabytes = subject.residentMegabytes();
    isKnown &&= megabytes !== null;
    highest[half] = Math.max(highest[half], megabytes ?? 0);
    await sleep(200);
  }
  return [await told, isKnown ? highest[1] - highest[0] : null];
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
  memory: number | null;
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
    [memory === null, "memory was not measured"],
    [memory !== null && memory > MEMORY_LIMIT_MB, "memory grew"],
  ];
  const broken = failures.flatMap(([isBroken, what]) => (isBroken ? [what] : []));
  const observed =
    `${asked.length} requests, ${shownAnswers(asked)}, longest ${shownSeconds(longestMs)}, not ready after ${shownSeconds(untoldMs)}, ` +
    `ready again after ${shownSeconds(readyMs)}, memory ${shownGrowth(memory)}`;
  return { name, held: broken.length === 0, observed: [observed, ...broken].join("; ") };
}

/** How many of each status; 0 = no answer. */
function shownAnswers(asked: readonly Asked[]): string {
  const byStatus = Map.groupBy(asked, ({ status }) => status);
  const statuses = [...byStatus.keys()].toSorted((one, other) => one - other);
  return statuses.map((status) => `${byStatus.get(status)?.length} × ${status}`).join(", ");
}

function shownGrowth(megabytes: number | null): string {
  if (megabytes === null) return "unknown";
  return `${megabytes >= 0 ? "+" : ""}${megabytes} MB`;
}

function shownSeconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
