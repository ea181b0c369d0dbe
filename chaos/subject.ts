import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { joinEmbedded } from "../src/embedded/embedded.ts";
import { migrate } from "../src/store/migrate.ts";
import { openTestPool, serviceEnvironment } from "../tests/support/service.ts";
import { seedSmallStore } from "../tests/support/small-store.ts";
import { createTenant } from "../tests/support/tenants.ts";
import { startFaultProxy } from "../tests/support/fault-proxy.ts";
import { createTestLogins } from "../tests/support/database.ts";

/** stop: PostgreSQL is shut down, which cuts its connections off. blackhole: what is sent there and back is lost. */
export type DatabaseFault = "stop" | "blackhole";

/** A server process whose database can be taken away. */
export type Subject = {
  address: string;
  token: string;
  breakDatabase(fault: DatabaseFault): Promise<void>;
  /** Comes back when the database is there again. */
  mendDatabase(): Promise<void>;
  isRunning(): boolean;
  /** Resident memory in MB; null where the system does not tell. */
  residentMegabytes(): number | null;
  stop(): Promise<void>;
};

const ENTRY = join(import.meta.dirname, "../tests/support/server-entry.ts");

/** A store of its own on an embedded PostgreSQL of its own, served by one process through a fault proxy. */
export async function startSubject(): Promise<Subject> {
  const dataFolder = mkdtempSync(join(tmpdir(), "returns-chaos-"));
  let embedded = await joinEmbedded({ dataFolder, log: console.error });
  await createTestLogins(embedded.url);
  await migrate({ url: embedded.url });
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
    residentMegabytes: () => residentMegabytes(child.pid ?? 0),
    stop: async () => {
      child.kill("SIGKILL");
      await ended;
      await proxy.close();
      await embedded.release();
      rmSync(dataFolder, { recursive: true, force: true });
    },
  };
}

function residentMegabytes(processId: number): number | null {
  try {
    const status = readFileSync(`/proc/${processId}/status`, "utf8");
    const kilobytes = /VmRSS:\s+(\d+) kB/u.exec(status)?.[1];
    return kilobytes === undefined ? null : Math.round(Number(kilobytes) / 1024);
  } catch {
    return null;
  }
}
