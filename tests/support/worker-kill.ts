import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Change } from "../../tools/simulators/shopify/changes.ts";
import { startShopifySimulator, type ShopifySimulator } from "../../tools/simulators/shopify/start.ts";
import { orderName } from "../../tools/simulators/shopify/world/ids.ts";
import { replayEarlyWarnings } from "../../src/alerts/evaluate-alerts.ts";
import { createRandom, type Random } from "../../src/demo/random.ts";
import { dayOfInstant } from "../../src/lib/month.ts";
import { requestRun, type SyncKind } from "../../src/store/queries/sync-request.ts";
import { startCommand, type RunningCommand } from "./command.ts";
import type { ControlDatabase } from "./control.ts";
import { rowProblems, servedRows, type ServedRows } from "./served-rows.ts";
import { openTestKeys } from "./secret.ts";
import { openTestPool, serviceEnvironment } from "./service.ts";
import { connectedShop, eventually, putShopifyConnection } from "./worker.ts";

/** Decides how long after its start a run is killed; told in the log, and given back the same way. */
const SEED = Number(process.env["RETURNS_TEST_SEED"] ?? randomInt(2 ** 31));

export type KillPlan = {
  /** Migrated, and nobody else's. */
  control: Pick<ControlDatabase, "database" | "url">;
  orders: number;
  kills: number;
  log: (line: string) => void;
};

/** Of each shop what must be equal, and how the killed one came to it. */
export type KillReport = {
  kills: number;
  /** Kills that found a run under way. */
  killsInRun: number;
  disturbed: ServedRows;
  undisturbed: ServedRows;
  /**
   * Alerts, without what names a moment or a version. An early warning keeps what was true when it was announced, and the
   * killed shop was evaluated in states that the other one never had; so both are announced again, of the same last state.
   */
  disturbedAlerts: string[];
  undisturbedAlerts: string[];
  /** What is wrong with the early warnings that the killed shop was given, one sentence each. */
  warningProblems: string[];
  /** Of the killed shop, oldest first. */
  runs: { kind: string; status: string; startedAt: Date; finishedAt: Date | null }[];
};

type Shop = { shopKey: number; domain: string };
type Scene = {
  control: KillPlan["control"];
  pool: pg.Pool;
  simulator: ShopifySimulator;
  random: Random;
  log: (line: string) => void;
};

/** Left alone, a run of either kind ends within this time. */
const LONGEST_RUN_SECONDS = 120;
/** A kill that comes after its run's end is repeated, each time sooner. */
const MOST_TRIES = 4;

/**
 * Two workspaces of one simulated shop: of the first one real worker processes are killed at random points of backfills
 * and incremental runs, while the shop changes; the second one is read undisturbed.
 */
export async function killWorkers(plan: KillPlan): Promise<KillReport> {
  const { control, log } = plan;
  log(`kills by seed ${SEED}`);
  const pool = openTestPool(control.url);
  const simulator = await startShopifySimulator({
    orders: plan.orders,
    products: 40,
    bulkMillis: 300,
    bucketPoints: 20_000,
    restorePerSecond: 20_000,
  });
  try {
    return await play({ control, pool, simulator, random: createRandom(SEED, "kills"), log }, plan.kills);
  } finally {
    await simulator.stop();
    await pool.end();
  }
}

/** What the kills changed that they must not change, one sentence each. */
export function killProblems(report: KillReport): string[] {
  const problems = rowProblems(report.undisturbed, report.disturbed);
  if (report.disturbedAlerts.join("\n") !== report.undisturbedAlerts.join("\n")) {
    problems.push(
      `alerts: ${report.disturbedAlerts.join("; ")} instead of ${report.undisturbedAlerts.join("; ")}`,
    );
  }
  problems.push(...report.warningProblems);
  report.runs.slice(1).forEach((run, index) => {
    const endedAt = report.runs[index]?.finishedAt ?? null;
    if (endedAt === null || endedAt > run.startedAt) problems.push("two runs were active at a time");
  });
  const interrupted = report.runs.filter((run) => run.status === "interrupted").length;
  if (interrupted !== report.killsInRun) problems.push(`${interrupted} runs are marked as cut off`);
  const failed = report.runs.filter((run) => run.status === "failed").length;
  return failed === 0 ? problems : [...problems, `${failed} runs failed`];
}

async function play(scene: Scene, kills: number): Promise<KillReport> {
  const calm = await connectedTo(scene);
  const killed = await connectedTo(scene);
  const backfillMs = await undisturbed(scene, calm, ["backfill"]);
  const ofBackfill = await killWhileRunning(scene, killed, {
    kills: Math.ceil(kills / 2),
    spanMs: backfillMs,
    next: () => ask(scene, killed, "backfill"),
  });
  let round = 0;
  const ofIncremental = await killWhileRunning(scene, killed, {
    kills: Math.floor(kills / 2),
    spanMs: backfillMs / 2,
    next: async () => {
      await scene.simulator.control("change", changesOf(++round));
      await nameDeleted(scene, [calm, killed], round);
      await ask(scene, killed, "refresh");
      await ask(scene, killed, "incremental");
    },
  });
  await undisturbed(scene, calm, ["refresh", "incremental"]);
  const warningProblems = await warningProblemsOf(scene, killed);
  const asOfDay = dayOfInstant(Date.now());
  for (const shop of [calm, killed]) await warnAgain(scene, shop, asOfDay);
  return {
    kills,
    killsInRun: ofBackfill + ofIncremental,
    disturbed: await servedRows(scene.pool, killed.shopKey),
    undisturbed: await servedRows(scene.pool, calm.shopKey),
    disturbedAlerts: await alertsOf(scene, killed),
    undisturbedAlerts: await alertsOf(scene, calm),
    warningProblems,
    runs: await runsOf(scene, killed),
  };
}

async function connectedTo({ control, simulator }: Scene): Promise<Shop> {
  const shop = await connectedShop(control, []);
  await putShopifyConnection(control, shop.shopKey, {
    url: simulator.url,
    accessToken: simulator.token,
    sealingKey: (await openTestKeys(control.database)).sealingKey,
  });
  return shop;
}

async function ask({ control }: Scene, { shopKey }: Shop, kind: SyncKind): Promise<void> {
  await requestRun(control.database, { shopKey, source: "shopify", kind, requestedBy: "operator" });
}

/** Only a webhook reports a deleted order: what receiving one leaves behind. */
async function nameDeleted({ pool }: Scene, shops: readonly Shop[], round: number): Promise<void> {
  await pool.query(
    `insert into pending_record (shop_key, source, kind, record_id)
     select shop_key, 'shopify', 'order', order_id from order_document
      where shop_key = any($1) and document ->> 'orderName' = $2`,
    [shops.map(({ shopKey }) => shopKey), orderName(deletedIn(round))],
  );
}

/** Resolves to how long the last of its runs took, in milliseconds. */
async function undisturbed(scene: Scene, shop: Shop, kinds: readonly SyncKind[]): Promise<number> {
  for (const kind of kinds) await ask(scene, shop, kind);
  const worker = await startedWorker(scene);
  await eventually(() => isIdle(scene, shop), `the undisturbed ${kinds.join()}`, LONGEST_RUN_SECONDS);
  worker.child.kill("SIGTERM");
  await worker.outcome;
  const run = (await runsOf(scene, shop)).at(-1);
  return Number(run?.finishedAt) - Number(run?.startedAt);
}

/** Returns how many kills found a run under way; afterwards one last worker brings what is left to its end. */
async function killWhileRunning(
  scene: Scene,
  shop: Shop,
  plan: { kills: number; spanMs: number; next: () => Promise<void> },
): Promise<number> {
  let killsInRun = 0;
  for (let kill = 1; kill <= plan.kills; kill++) {
    let isInRun = false;
    for (let attempt = 0; attempt < MOST_TRIES && !isInRun; attempt++) {
      if (await isIdle(scene, shop)) await plan.next();
      isInRun = await killNextRun(scene, shop, scene.random.between(0, plan.spanMs / 2 ** attempt));
      scene.log(`kill ${kill} of ${plan.kills} ${isInRun ? "within a run" : "after its run"}`);
    }
    if (isInRun) killsInRun++;
  }
  const last = await startedWorker(scene);
  await eventually(() => isIdle(scene, shop), "the last worker's runs", LONGEST_RUN_SECONDS);
  last.child.kill("SIGTERM");
  await last.outcome;
  return killsInRun;
}

/** Kills a worker some time after it began the shop's next run; returns whether that run was still under way. */
async function killNextRun(scene: Scene, shop: Shop, afterMs: number): Promise<boolean> {
  const before = (await runsOf(scene, shop)).length;
  const worker = await startedWorker(scene);
  await eventually(
    async () => (await runsOf(scene, shop)).length > before,
    "the next run",
    LONGEST_RUN_SECONDS,
  );
  await sleep(afterMs);
  worker.child.kill("SIGKILL");
  await worker.outcome;
  return (await runsOf(scene, shop)).at(-1)?.status === "running";
}

async function startedWorker({ control }: Scene): Promise<RunningCommand> {
  const worker = startCommand(["worker"], { ...serviceEnvironment(control.url), LOG_LEVEL: "warn" });
  await worker.printed(/keeps connected sources/u);
  return worker;
}

async function isIdle({ pool }: Scene, { shopKey }: Shop): Promise<boolean> {
  const { rows } = await pool.query<{ is_idle: boolean }>(
    `select not exists (select from sync_request where shop_key = $1)
        and not exists (select from sync_run where shop_key = $1 and status = 'running') as is_idle`,
    [shopKey],
  );
  return rows[0]?.is_idle === true;
}

async function runsOf({ pool }: Scene, { shopKey }: Shop): Promise<KillReport["runs"]> {
  const { rows } = await pool.query<KillReport["runs"][number]>(
    `select kind, status, started_at as "startedAt", finished_at as "finishedAt"
       from sync_run where shop_key = $1 order by started_at`,
    [shopKey],
  );
  return rows;
}

async function alertsOf({ pool }: Scene, { shopKey }: Shop): Promise<string[]> {
  const { rows } = await pool.query<{ told: string }>(
    `select concat_ws(' | ', category, severity, title, body, metadata) as told
       from alert where shop_key = $1 order by 1`,
    [shopKey],
  );
  return rows.map(({ told }) => told);
}

/** An entity is warned of once, and its shop is evaluated in its last state. */
async function warningProblemsOf({ pool }: Scene, { shopKey }: Shop): Promise<string[]> {
  const { rows } = await pool.query<{ problem: string }>(
    `select 'more than one ' || left(event_key, -length(':YYYY-MM-DD')) as problem from alert
      where shop_key = $1 and event_key like 'early_warning:%'
      group by left(event_key, -length(':YYYY-MM-DD')) having count(*) > 1
     union all
     select 'early warnings were not looked for in the last state' from workspace
      where shop_key = $1 and warned_version is distinct from data_version`,
    [shopKey],
  );
  return rows.map(({ problem }) => problem);
}

async function warnAgain({ pool, control }: Scene, { shopKey }: Shop, asOfDay: number): Promise<void> {
  await pool.query("delete from alert where shop_key = $1 and event_key like 'early_warning:%'", [shopKey]);
  await pool.query("delete from warning_episode where shop_key = $1", [shopKey]);
  await replayEarlyWarnings(control.database, { shopKey, asOfDay });
}

/** Something in each round: new orders, a deleted one, a product of another type, and changed orders that stay. */
function changesOf(round: number): Change[] {
  return [
    { do: "placeOrder", lines: [{ product: (round % 20) + 1, units: round }] },
    { do: "placeOrder", lines: [{ product: 3, units: 2 }], processedAt: "2026-01-15T10:00:00Z" },
    {
      do: "changeProduct",
      product: (round % 20) + 1,
      set: { productType: `Type ${round}`, category: "Home > Lamps" },
    },
    { do: "deleteOrder", order: deletedIn(round) },
    { do: "touchOrders", count: 60, seed: round },
  ];
}

const deletedIn = (round: number): number => 10 + round;
