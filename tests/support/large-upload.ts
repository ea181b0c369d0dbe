import { readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Database } from "../../src/store/database.ts";
import { startCommand } from "./command.ts";
import { signInAs } from "./console-person.ts";
import { startServerProcess } from "./server-process.ts";
import { serviceEnvironment, type TestService } from "./service.ts";
import { createTenant } from "./tenants.ts";
import { endOf } from "./upload-workspace.ts";
import { idOf, PART_BYTES, uploadClient } from "./upload.ts";
import { eventually } from "./worker.ts";

/** Resident memory of a process: after a few parts, and the most until the end. */
export type Memory = { startMb: number; mostMb: number };

export type LargeUpload = {
  status: string;
  rows: number;
  server: Memory;
  worker: Memory;
  sendSeconds: number;
  importSeconds: number;
};

export type LargeUploadPlan = {
  databaseUrl: string;
  database: Database;
  context: Pick<TestContext, "after">;
  bytes: number;
  longestImportSeconds: number;
};

const HEADER = "order_id,line_id,ordered_at,units,note\n";
/** A column that the import does not know: many bytes of few rows. */
const NOTE = "n".repeat(900);
const ORDERS = 5000;
/** Before that a process still grows by what it loads. */
const FIRST_PARTS = 4;
const CHECK_MS = 100;

/** Sends one file of so many bytes, which is made while it is sent, and has a worker import it; both are processes. */
export async function sendLargeUpload(plan: LargeUploadPlan): Promise<LargeUpload> {
  const { databaseUrl, database, bytes } = plan;
  const context = plan.context as TestContext;
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  const server = await startServerProcess(context, databaseUrl);
  const tenant = await createTenant(pool, { readiness: "installing", dataAsOf: null });
  const { shopDomain } = tenant;
  const { address } = server;
  const cookie = await signInAs({ installation: { database }, address } as TestService, {
    name: `Owner of ${shopDomain}`,
    shopDomain,
  });
  const client = uploadClient({ address, cookie, shopDomain });
  const ofServer = watchMemory(server.pid);
  const startedMs = performance.now();
  const id = await idOf(await client.start([["order_lines.csv", bytes]]));
  let number = 0;
  let rows = 0;
  for await (const part of partsOf(bytes, (made) => (rows = made))) {
    for (;;) {
      const answer = await client.part(id, "order_lines.csv", number, part);
      if (answer.status === 200) break;
      if (answer.status !== 429) throw new Error(`answered ${answer.status}: ${await answer.text()}`);
      await sleep(Number(answer.headers.get("retry-after")) * 1000);
    }
    number += 1;
    if (number === FIRST_PARTS) ofServer.begin();
  }
  const sentMs = performance.now();
  const worker = startCommand(["worker"], { ...serviceEnvironment(databaseUrl), LOG_LEVEL: "warn" });
  context.after(() => worker.child.kill("SIGKILL"));
  await worker.printed(/keeps connected sources/u);
  const ofWorker = watchMemory(worker.child.pid ?? 0);
  ofWorker.begin();
  await client.request(id);
  const what = "the import of the large upload";
  const look = () => endOf({ database: pool }, tenant, id);
  const status = await eventually(look, what, plan.longestImportSeconds);
  const importSeconds = (performance.now() - sentMs) / 1000;
  worker.child.kill("SIGTERM");
  server.signal("SIGTERM");
  await Promise.all([worker.outcome, server.ended]);
  await pool.end();
  return {
    status,
    rows,
    server: ofServer.end(),
    worker: ofWorker.end(),
    sendSeconds: (sentMs - startedMs) / 1000,
    importSeconds,
  };
}

/** The parts of a file of exactly so many bytes; `onRows` gets how many rows there are so far. */
async function* partsOf(bytes: number, onRows: (rows: number) => void): AsyncGenerator<Buffer> {
  let rest = Buffer.from(HEADER);
  let rows = 0;
  for (let left = bytes; left > 0;) {
    const wanted = Math.min(left, PART_BYTES);
    const made = [rest];
    for (let length = rest.length; length < wanted;) {
      const row = Buffer.from(`o${rows % ORDERS},l1,2026-01-05T10:00:00Z,1,${NOTE}\n`);
      rows += 1;
      made.push(row);
      length += row.length;
    }
    const whole = Buffer.concat(made);
    rest = whole.subarray(wanted);
    left -= wanted;
    onRows(rows);
    yield whole.subarray(0, wanted);
    await sleep(0);
  }
}

function watchMemory(pid: number): { begin: () => void; end: () => Memory } {
  const memory: Memory = { startMb: 0, mostMb: 0 };
  const timer = setInterval(() => (memory.mostMb = Math.max(memory.mostMb, residentMb(pid))), CHECK_MS);
  return {
    begin: () => (memory.startMb = residentMb(pid)),
    end: () => {
      clearInterval(timer);
      return memory;
    },
  };
}

/** 0 where /proc is not there, or the process has ended. */
function residentMb(pid: number): number {
  try {
    const [, kilobytes = "0"] = /^VmRSS:\s+(\d+)/mu.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Math.round(Number(kilobytes) / 1024);
  } catch {
    return 0;
  }
}
