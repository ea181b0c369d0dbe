import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startShopifySimulator } from "../simulators/shopify/start.ts";
import { deriveKeys } from "../src/lib/keys.ts";
import { openDatabase } from "../src/store/database.ts";
import type { Database } from "../src/store/database.ts";
import { joinEmbedded } from "../src/store/embedded.ts";
import { migrate } from "../src/store/migrate.ts";
import { findRunSince, listRuns } from "../src/store/queries/sync-run.ts";
import { requestRun } from "../src/sync/run-request.ts";
import { startCommand } from "../tests/support/command.ts";
import type { RunningCommand } from "../tests/support/command.ts";
import { serviceEnvironment, TEST_SECRET } from "../tests/support/service.ts";
import { connectedShop, eventually, putShopifyConnection } from "../tests/support/worker.ts";
import type { Finding } from "./finding.ts";
import { startFaultProxy } from "./proxy.ts";
import type { FaultProxy, ProxyMode } from "./proxy.ts";

const ORDERS = 5000;
const LONGEST_RECOVERY_SECONDS = 90;

const FAULTS: readonly { mode: ProxyMode; seconds: number }[] = [
  { mode: "refuse", seconds: 5 },
  { mode: "refuse", seconds: 60 },
  { mode: "blackhole", seconds: 30 },
];

type Scene = { database: Database; proxy: FaultProxy; worker: RunningCommand; shopKey: number };

/** Takes the database from a worker in the middle of a backfill, and gives it back. */
export async function run(log: (line: string) => void): Promise<Finding[]> {
  const dataFolder = mkdtempSync(join(tmpdir(), "returns-chaos-"));
  const embedded = await joinEmbedded({ dataFolder, log });
  await migrate({ url: embedded.url });
  const database = openDatabase({
    url: embedded.url,
    maxConnections: 4,
    readOnly: false,
    statementTimeoutMs: 0,
    applicationName: "returns-control",
    onConnectionError: () => {},
  });
  const url = new URL(embedded.url);
  const proxy = await startFaultProxy(Number(url.port));
  url.port = String(proxy.port);
  const simulator = await startShopifySimulator({
    orders: ORDERS,
    bulkMillis: 2000,
    bucketPoints: 20_000,
    restorePerSecond: 20_000,
  });
  const worker = startCommand(["worker"], { ...serviceEnvironment(url.href), LOG_LEVEL: "warn" });
  try {
    await worker.printed(/keeps connected sources/u);
    const { shopKey } = await connectedShop({ database }, []);
    await putShopifyConnection({ database }, shopKey, {
      url: simulator.url,
      accessToken: simulator.token,
      sealingKey: deriveKeys(TEST_SECRET).sealingKey,
    });
    const findings: Finding[] = [];
    for (const fault of FAULTS) {
      log(`worker: ${fault.mode} for ${fault.seconds} s`);
      findings.push(await cause({ database, proxy, worker, shopKey }, fault));
    }
    return findings;
  } finally {
    worker.child.kill("SIGKILL");
    await worker.outcome;
    await simulator.stop();
    await proxy.close();
    await database.close();
    await embedded.release();
    rmSync(dataFolder, { recursive: true, force: true });
  }
}

async function cause(scene: Scene, fault: (typeof FAULTS)[number]): Promise<Finding> {
  const { database, proxy, worker, shopKey } = scene;
  const name = `worker, database ${fault.mode} ${fault.seconds} s`;
  const since = await requestRun(database, {
    shopKey,
    source: "shopify",
    kind: "backfill",
    requestedBy: "operator",
  });
  if (since === null) throw new Error("the shop is not connected");
  const newest = () => findRunSince(database, shopKey, "shopify", "backfill", since);
  await eventually(newest, "the run", LONGEST_RECOVERY_SECONDS);
  await sleep(1000);
  await proxy.set(fault.mode);
  await sleep(fault.seconds * 1000);
  await proxy.set("forward");
  const backAtMs = performance.now();
  const hasEnded = async (): Promise<boolean> => (await newest())?.status === "succeeded";
  const isDone = await eventually(hasEnded, "the end of the run", LONGEST_RECOVERY_SECONDS).catch(
    () => false,
  );
  const seconds = (performance.now() - backAtMs) / 1000;
  const isAlive = worker.child.exitCode === null && worker.child.signalCode === null;
  const runs = (await listRuns(database, { shopKey, source: "shopify", limit: 50 })).toReversed();
  const isOneAtATime = runs.slice(1).every((later, index) => {
    const endedAt = runs[index]?.finished_at ?? null;
    return endedAt !== null && endedAt <= later.started_at;
  });
  return {
    name,
    held: isDone && isAlive && isOneAtATime,
    observed: [
      isDone ? `its run ended ${seconds.toFixed(1)} s after` : `no end within ${LONGEST_RECOVERY_SECONDS} s`,
      isAlive ? "the process lived" : "the process ended",
      isOneAtATime ? "one run at a time" : "two runs at a time",
    ].join(", "),
  };
}
