import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { startShopifySimulator } from "../simulators/shopify/start.ts";
import type { ShopifySimulator } from "../simulators/shopify/start.ts";
import type { Database } from "../../src/store/database.ts";
import { requestRun } from "../../src/store/queries/sync-request.ts";
import { findRunSince, listRuns } from "../../src/actions/sources/queries.ts";
import { startCommand } from "../../tests/support/command.ts";
import type { RunningCommand } from "../../tests/support/command.ts";
import { startFaultProxy } from "../../tests/support/fault-proxy.ts";
import type { FaultProxy } from "../../tests/support/fault-proxy.ts";
import { openTestKeys } from "../../tests/support/secret.ts";
import { countRows, rowProblems, servedRows } from "../../tests/support/served-rows.ts";
import type { ServedRows } from "../../tests/support/served-rows.ts";
import { openTestPool, serviceEnvironment } from "../../tests/support/service.ts";
import { killProblems, killWorkers } from "../../tests/support/worker-kill.ts";
import { connectedShop, eventually, putShopifyConnection } from "../../tests/support/worker.ts";
import { FAULTS } from "./database-away.ts";
import { findingOf, withDatabase } from "./database.ts";
import type { Finding } from "./database.ts";

const ORDERS = 5000;
const LONGEST_RUN_SECONDS = 90;

type Scene = {
  database: Database;
  pool: pg.Pool;
  simulator: ShopifySimulator;
  proxy: FaultProxy;
  worker: RunningCommand;
};

/**
 * Takes the database from a worker in the middle of a backfill, and gives it back: each time of another workspace, whose
 * rows must be those of one that was read undisturbed.
 */
export function takeDatabaseFromWorker(log: (line: string) => void): Promise<Finding[]> {
  return withDatabase(log, async ({ url: ownUrl, database }) => {
    const pool = openTestPool(ownUrl);
    const url = new URL(ownUrl);
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
      const scene = { database, pool, simulator, proxy, worker };
      log("worker: undisturbed");
      const calm = await startBackfill(scene);
      const hasEnded = async (): Promise<boolean> => (await calm.newest())?.status === "succeeded";
      await eventually(hasEnded, "the undisturbed run", LONGEST_RUN_SECONDS);
      const undisturbed = await servedRows(pool, calm.shopKey);
      const findings: Finding[] = [];
      for (const fault of FAULTS) {
        log(`worker: ${fault.mode} for ${fault.seconds} s`);
        findings.push(await cause(scene, fault, undisturbed));
      }
      return findings;
    } finally {
      worker.child.kill("SIGKILL");
      await worker.outcome;
      await simulator.stop();
      await proxy.close();
      await pool.end();
    }
  });
}

type Backfill = { shopKey: number; newest: () => ReturnType<typeof findRunSince> };

/** Connects a new workspace to the simulated shop; returns once its backfill runs. */
async function startBackfill({ database, simulator }: Scene): Promise<Backfill> {
  const { shopKey } = await connectedShop({ database }, []);
  await putShopifyConnection({ database }, shopKey, {
    url: simulator.url,
    accessToken: simulator.token,
    sealingKey: (await openTestKeys(database)).sealingKey,
  });
  const since = await requestRun(database, {
    shopKey,
    source: "shopify",
    kind: "backfill",
    requestedBy: "operator",
  });
  if (since === null) throw new Error("the shop is not connected");
  const newest = () => findRunSince(database, shopKey, "shopify", "backfill", since);
  await eventually(newest, "the run", LONGEST_RUN_SECONDS);
  return { shopKey, newest };
}

async function cause(
  scene: Scene,
  fault: (typeof FAULTS)[number],
  undisturbed: ServedRows,
): Promise<Finding> {
  const { database, pool, proxy, worker } = scene;
  const name = `worker, database ${fault.mode} ${fault.seconds} s`;
  const { shopKey, newest } = await startBackfill(scene);
  await sleep(1000);
  const before = await newest();
  await proxy.set(fault.mode);
  await sleep(fault.seconds * 1000);
  await proxy.set("forward");
  const backAtMs = performance.now();
  const hasEnded = async (): Promise<boolean> => (await newest())?.status === "succeeded";
  const isDone = await eventually(hasEnded, "the end of the run", LONGEST_RUN_SECONDS).catch(() => false);
  const seconds = (performance.now() - backAtMs) / 1000;
  const runs = (await listRuns(database, { shopKey, source: "shopify", limit: 50 })).toReversed();
  const isOneAtATime = runs.slice(1).every((later, index) => {
    const endedAt = runs[index]?.finished_at ?? null;
    return endedAt !== null && endedAt <= later.started_at;
  });
  const isAlive = worker.child.exitCode === null && worker.child.signalCode === null;
  const problems = [
    ...(before?.status === "running" ? [] : [`its run was ${before?.status} before the fault`]),
    ...(isDone ? [] : [`no end within ${LONGEST_RUN_SECONDS} s`]),
    ...(isAlive ? [] : ["the process ended"]),
    ...(isOneAtATime ? [] : ["two runs at a time"]),
    ...rowProblems(undisturbed, await servedRows(pool, shopKey)),
  ];
  const observed =
    `broken in stage ${before?.stage}, ${isDone ? `its run ended ${seconds.toFixed(1)} s after` : "no end"}; ` +
    `${countRows(undisturbed).toLocaleString("en")} rows compared`;
  return findingOf(name, [observed], problems);
}

const KILLS = 50;
const KILLED_ORDERS = 3000;

/** SIGKILL of a worker at random points of backfills and incremental runs; its rows beside those of a quiet one. */
export function killWorkersAtRandom(log: (line: string) => void): Promise<Finding[]> {
  return withDatabase(log, async (control) => {
    const report = await killWorkers({ control, orders: KILLED_ORDERS, kills: KILLS, log });
    const rows = countRows(report.undisturbed).toLocaleString("en");
    const observed = `${report.killsInRun} of ${KILLS} kills within a run; ${rows} rows compared`;
    const name = `worker killed ${KILLS} times: the same rows, each effect once, one run at a time`;
    return [findingOf(name, [observed], killProblems(report))];
  });
}
