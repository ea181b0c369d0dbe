import { setTimeout as sleep } from "node:timers/promises";
import { evaluateAlerts } from "../alerts/evaluate-alerts.ts";
import { within } from "../lib/within.ts";
import type { Database } from "../store/database.ts";
import { takeDueTask } from "../store/queries/schedule.ts";
import { listDueSources } from "../store/queries/sync-request.ts";
import { listOpenRuns, updateRunProgress } from "../store/queries/sync-run.ts";
import { listEndedWorkers, openWorkerSession } from "../store/worker-session.ts";
import type { WorkerSession } from "../store/worker-session.ts";
import type { SyncProgress } from "../sync/connector.ts";
import { closeAbandonedRun, startDueRun } from "../sync/run-record.ts";
import type { StartedRun } from "../sync/run-record.ts";
import { executeRun } from "../sync/runs.ts";
import type { RunEnvironment } from "../sync/runs.ts";
import { runDueTask } from "./tasks.ts";

export type WorkerOptions = RunEnvironment & {
  /** Of the session, a connection of its own. */
  databaseUrl: string;
  /** For looking what is due: its statements are short, and have to end in time when the database is out of reach. */
  lookDatabase: Database;
  /** Runs at a time in this process. */
  concurrency: number;
  /** false: it does nothing by the clock, and only what others ask for. */
  hasSchedule: boolean;
  /** How often it looks for what is due. */
  lookMs: number;
  /** How long an abandoned run is left alone: a process that only lost its connection has stopped it by then. */
  graceMs: number;
  /** How long a stop waits for runs to reach a safe point. */
  longestStopMs: number;
};

export type Worker = {
  /** Hands active runs on to the next worker, and lets go of the database. */
  stop(): Promise<void>;
};

/** What a run is asked to stop for. */
export class WorkerStopping extends Error {
  override name = "WorkerStopping";
}

type State = {
  options: WorkerOptions;
  session: WorkerSession;
  stopping: AbortController;
  /** Ends the pause between two looks. */
  waking: AbortController;
  /** The runs of this process by source, each with the progress that is not in its history yet. */
  runs: Map<string, { runId: string; shopKey: number; progress: SyncProgress | null }>;
  /** What a stop waits for: runs, and the task that is due. */
  jobs: Set<Promise<void>>;
  isOnTask: boolean;
  /** When an abandoned run was first seen, by its id. */
  abandonedAtMs: Map<string, number>;
};

/**
 * Starts a worker: once a second it looks for requests that are due and for tasks of the schedule. Several on one
 * database share the work. It outlives the database's absence; only its start needs it. Throws when the database does
 * not answer then.
 */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { log, concurrency, longestStopMs } = options;
  const state: State = {
    options,
    session: await openWorkerSession(options.databaseUrl),
    stopping: new AbortController(),
    waking: new AbortController(),
    runs: new Map(),
    jobs: new Set(),
    isOnTask: false,
    abandonedAtMs: new Map(),
  };
  const looking = lookUntilStopped(state);
  log.info({ concurrency }, "worker started");
  return {
    stop: async () => {
      state.stopping.abort(new WorkerStopping("The worker stops."));
      state.waking.abort();
      const settled = looking.then(() => Promise.allSettled(state.jobs));
      // Runs that do not stop in time are found abandoned by the next worker.
      await within(longestStopMs, settled).catch(() => {});
      await state.session.close();
      log.info({}, "worker stopped");
    },
  };
}

/** While the database does not answer it keeps trying, and says so once. */
async function lookUntilStopped(state: State): Promise<void> {
  const { databaseUrl, log, lookMs } = state.options;
  let isAway = false;
  while (!state.stopping.signal.aborted) {
    state.waking = new AbortController();
    try {
      if (state.session.lost.aborted) {
        await state.session.close();
        state.session = await openWorkerSession(databaseUrl);
      }
      await look(state);
      if (isAway) log.info({}, "the database answers again");
      isAway = false;
    } catch (error) {
      if (!isAway) log.warn({ err: error }, "the database does not answer; trying again");
      isAway = true;
    }
    await sleep(lookMs, undefined, { signal: state.waking.signal }).catch(() => {});
  }
}

async function look(state: State): Promise<void> {
  const { lookDatabase, concurrency, hasSchedule } = state.options;
  await closeAbandonedRuns(state);
  await showProgress(state);
  if (hasSchedule && !state.isOnTask && (await takeDueTask(lookDatabase)) !== null) beginTask(state);
  if (state.runs.size >= concurrency) return;
  for (const { shop_key: shopKey, source } of await listDueSources(lookDatabase)) {
    if (state.runs.size >= concurrency || state.stopping.signal.aborted) return;
    if (state.runs.has(keyOf(shopKey, source))) continue;
    const run = await startDueRun(lookDatabase, { shopKey, source, worker: state.session.worker });
    if (run !== null) beginRun(state, run);
  }
}

/** Makes runs due again whose worker has ended, or that this one could not record; not those it is still stopping. */
async function closeAbandonedRuns(state: State): Promise<void> {
  const { lookDatabase, graceMs, log } = state.options;
  const open = (await listOpenRuns(lookDatabase)).filter(
    (run) => !state.runs.has(keyOf(run.shop_key, run.source)),
  );
  const workers = new Set(open.map(({ worker }) => worker));
  const ended = workers.size === 0 ? [] : await listEndedWorkers(lookDatabase, [...workers]);
  const nowMs = performance.now();
  const seenAtMs = new Map<string, number>();
  for (const run of open) {
    if (run.worker !== state.session.worker && !ended.includes(run.worker)) continue;
    const sinceMs = state.abandonedAtMs.get(run.run_id) ?? nowMs;
    if (nowMs - sinceMs < graceMs) seenAtMs.set(run.run_id, sinceMs);
    else if (await closeAbandonedRun(lookDatabase, run)) {
      log.warn({ run_id: run.run_id, source: run.source }, "run was abandoned; the next one continues it");
    }
  }
  state.abandonedAtMs = seenAtMs;
}

async function showProgress({ options, runs }: State): Promise<void> {
  for (const run of runs.values()) {
    const { shopKey, runId, progress } = run;
    run.progress = null;
    if (progress !== null) await updateRunProgress(options.lookDatabase, shopKey, runId, progress);
  }
}

function beginTask(state: State): void {
  state.isOnTask = true;
  const { signal } = state.stopping;
  beginJob(state, runDueTask(state.options, signal), () => (state.isOnTask = false));
}

function beginRun(state: State, run: StartedRun): void {
  const { shop_key: shopKey, source } = run.request;
  const active = { runId: run.runId, shopKey, progress: null as SyncProgress | null };
  state.runs.set(keyOf(shopKey, source), active);
  const work = async (): Promise<void> => {
    const { options, session, stopping } = state;
    const { database, log, now } = options;
    const stop = AbortSignal.any([stopping.signal, session.lost]);
    const { status } = await executeRun(options, run, stop, (progress) => (active.progress = progress));
    if (status !== "succeeded") return;
    await evaluateAlerts({ database, shopKey, now: now() }).catch((error: unknown) =>
      log.error({ source, err: error }, "alerts could not be evaluated"),
    );
  };
  beginJob(state, work(), () => {
    state.runs.delete(keyOf(shopKey, source));
    // There is room for another one.
    state.waking.abort();
  });
}

function beginJob(state: State, work: Promise<void>, end: () => void): void {
  const job = work
    .catch((error: unknown) =>
      state.options.log.warn({ err: error }, "a run or task could not be recorded; it is taken up again"),
    )
    .finally(() => {
      end();
      state.jobs.delete(job);
    });
  state.jobs.add(job);
}

function keyOf(shopKey: number, source: string): string {
  return `${shopKey}/${source}`;
}
