import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Change } from "../tools/simulators/shopify/changes.ts";
import { startShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { orderName } from "../tools/simulators/shopify/world/ids.ts";
import { replayEarlyWarnings } from "../src/alerts/evaluate-alerts.ts";
import { createRandom } from "../src/demo/random.ts";
import { dayOfInstant } from "../src/lib/month.ts";
import { requestRun, type SyncKind } from "../src/store/queries/sync-request.ts";
import { startWorkerProcess } from "./support/command.ts";
import { openControlDatabase } from "./support/control.ts";
import { rowProblems, servedRows } from "./support/served-rows.ts";
import { use } from "./support/use.ts";
import { connectedToShopify, eventually } from "./support/worker.ts";

/** `npm run chaos` sets RETURNS_TEST_CHAOS. */
const PLAN =
  process.env["RETURNS_TEST_CHAOS"] === "1" ? { orders: 3000, kills: 50 } : { orders: 200, kills: 4 };
/** Decides how long after its start a run is killed; told in the log, and given back the same way. */
const SEED = Number(process.env["RETURNS_TEST_SEED"] ?? randomInt(2 ** 31));
/** Left alone, a run of either kind ends within this time. */
const LONGEST_RUN_SECONDS = 120;
/** A kill that comes after its run's end is repeated, each time sooner. */
const MOST_TRIES = 4;

const control = use(openControlDatabase);
const simulator = use(() =>
  startShopifySimulator({
    orders: PLAN.orders,
    products: 40,
    bulkMillis: 300,
    bucketPoints: 20_000,
    restorePerSecond: 20_000,
  }),
);
const random = createRandom(SEED, "kills");

/**
 * Two workspaces of one shop: of the first one real worker processes are killed at random points of backfills and incremental
 * runs, while the shop changes; the second one is read undisturbed.
 */
test("a worker killed at random points of backfills and incremental runs leaves the same rows, and each effect once", async (context) => {
  context.diagnostic(`kills by seed ${SEED}`);
  const calm = await connectedToShopify(control, simulator);
  const killed = await connectedToShopify(control, simulator);
  const backfillMs = await readUndisturbed(context, calm, ["backfill"]);
  const killsInBackfill = await killWhileRunning(context, killed, {
    kills: Math.ceil(PLAN.kills / 2),
    spanMs: backfillMs,
    next: () => ask(killed, "backfill"),
  });
  let round = 0;
  const killsInIncremental = await killWhileRunning(context, killed, {
    kills: Math.floor(PLAN.kills / 2),
    spanMs: backfillMs / 2,
    next: async () => {
      await simulator.control("change", changesOf(++round));
      await nameDeleted([calm, killed], round);
      await ask(killed, "refresh");
      await ask(killed, "incremental");
    },
  });
  await readUndisturbed(context, calm, ["refresh", "incremental"]);

  assert.deepEqual(await warningProblemsOf(killed), []);
  const asOfDay = dayOfInstant(Date.now());
  for (const shopKey of [calm, killed]) await warnAgain(shopKey, asOfDay);
  const undisturbed = await servedRows(control.pool, calm);
  assert.ok((undisturbed["cohort"]?.length ?? 0) > 100);
  assert.deepEqual(rowProblems(undisturbed, await servedRows(control.pool, killed)), []);
  assert.deepEqual(await alertsOf(killed), await alertsOf(calm));

  const runs = await runsOf(killed);
  for (const [index, { startedAt }] of runs.slice(1).entries()) {
    const endedAt = runs[index]?.finishedAt ?? null;
    assert.ok(endedAt !== null && endedAt <= startedAt, "one run is active at a time");
  }
  const killsInRun = killsInBackfill + killsInIncremental;
  const unfinished = runs.filter(({ status }) => status !== "succeeded");
  assert.equal(unfinished.length, killsInRun);
  // The third run of a kind that is killed in a row has failed, and is retried.
  for (const { status, error } of unfinished)
    assert.match(error ?? "", status === "failed" ? /ended, .* times in a row/u : /ended, .* database\.$/u);
  assert.ok(killsInRun >= 1, `${killsInRun} kills found a run under way`);
});

async function ask(shopKey: number, kind: SyncKind): Promise<void> {
  await requestRun(control.database, { shopKey, source: "shopify", kind, requestedBy: "operator" });
}

/** Only a webhook reports a deleted order: what receiving one leaves behind. */
async function nameDeleted(shopKeys: readonly number[], round: number): Promise<void> {
  await control.pool.query(
    `insert into pending_record (shop_key, source, kind, record_id)
     select shop_key, 'shopify', 'order', order_id from order_document
      where shop_key = any($1) and document ->> 'orderName' = $2`,
    [shopKeys, orderName(deletedIn(round))],
  );
}

/** Resolves to how long the last of its runs took, in milliseconds. */
async function readUndisturbed(
  context: TestContext,
  shopKey: number,
  kinds: readonly SyncKind[],
): Promise<number> {
  for (const kind of kinds) await ask(shopKey, kind);
  await workUntilIdle(context, shopKey);
  const run = (await runsOf(shopKey)).at(-1);
  return Number(run?.finishedAt) - Number(run?.startedAt);
}

async function workUntilIdle(context: TestContext, shopKey: number): Promise<void> {
  const worker = await startWorkerProcess(context, control.url);
  await eventually(() => isIdle(shopKey), "its runs", LONGEST_RUN_SECONDS);
  worker.child.kill("SIGTERM");
  await worker.outcome;
}

/** Returns how many kills found a run under way; afterwards one last worker brings what is left to its end. */
async function killWhileRunning(
  context: TestContext,
  shopKey: number,
  plan: { kills: number; spanMs: number; next: () => Promise<void> },
): Promise<number> {
  let killsInRun = 0;
  for (let kill = 1; kill <= plan.kills; kill++) {
    let isInRun = false;
    for (let attempt = 0; attempt < MOST_TRIES && !isInRun; attempt++) {
      if (await isIdle(shopKey)) await plan.next();
      isInRun = await killNextRun(context, shopKey, random.between(0, plan.spanMs / 2 ** attempt));
      context.diagnostic(`kill ${kill} of ${plan.kills} ${isInRun ? "within a run" : "after its run"}`);
    }
    if (isInRun) killsInRun++;
  }
  await workUntilIdle(context, shopKey);
  return killsInRun;
}

/** Kills a worker some time after it began the shop's next run; returns whether that run was still under way. */
async function killNextRun(context: TestContext, shopKey: number, afterMs: number): Promise<boolean> {
  const before = (await runsOf(shopKey)).length;
  const worker = await startWorkerProcess(context, control.url);
  const isBegun = async () => (await runsOf(shopKey)).length > before;
  await eventually(isBegun, "the next run", LONGEST_RUN_SECONDS);
  await sleep(afterMs);
  worker.child.kill("SIGKILL");
  await worker.outcome;
  return (await runsOf(shopKey)).at(-1)?.status === "running";
}

async function isIdle(shopKey: number): Promise<boolean> {
  const { rows } = await control.pool.query<{ is_idle: boolean }>(
    `select not exists (select from sync_request where shop_key = $1)
        and not exists (select from sync_run where shop_key = $1 and status = 'running') as is_idle`,
    [shopKey],
  );
  return rows[0]?.is_idle === true;
}

/** Oldest first. */
async function runsOf(shopKey: number) {
  type Run = { status: string; error: string | null; startedAt: Date; finishedAt: Date | null };
  const { rows } = await control.pool.query<Run>(
    `select status, error, started_at as "startedAt", finished_at as "finishedAt"
       from sync_run where shop_key = $1 order by started_at`,
    [shopKey],
  );
  return rows;
}

/** Without what names a moment or a version. */
async function alertsOf(shopKey: number): Promise<string[]> {
  const { rows } = await control.pool.query<{ told: string }>(
    `select concat_ws(' | ', category, severity, title, body, metadata) as told
       from alert where shop_key = $1 order by 1`,
    [shopKey],
  );
  return rows.map(({ told }) => told);
}

/** An entity is warned of once, and its shop is evaluated in its last state. */
async function warningProblemsOf(shopKey: number): Promise<string[]> {
  const { rows } = await control.pool.query<{ problem: string }>(
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

/**
 * Announces early warnings of the last state: one keeps what was true when it was announced, and the killed shop was evaluated in
 * states that the other one never had.
 */
async function warnAgain(shopKey: number, asOfDay: number): Promise<void> {
  const { pool, database } = control;
  await pool.query("delete from alert where shop_key = $1 and event_key like 'early_warning:%'", [shopKey]);
  await pool.query("delete from warning_episode where shop_key = $1", [shopKey]);
  await replayEarlyWarnings(database, { shopKey, asOfDay });
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

function deletedIn(round: number): number {
  return 10 + round;
}
