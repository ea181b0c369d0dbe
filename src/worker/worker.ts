import { setTimeout as sleep } from "node:timers/promises";
import { evaluateAlerts } from "../alerts/evaluate-alerts.ts";
import { within } from "../lib/within.ts";
import type { Database } from "../store/database.ts";
import { takeDueTask } from "../store/queries/schedule.ts";
import { listDueUploads, updateUploadProgress } from "../store/queries/import-upload.ts";
import { listErasing } from "../store/queries/erasure.ts";
import { WorkspaceErasing } from "../store/queries/import-stage.ts";
import { listDueSources } from "../store/queries/sync-request.ts";
import { closeAbandonedRun, updateRunProgress } from "../store/queries/sync-run.ts";
import { openWorkerSession } from "../store/worker-session.ts";
import type { SourcePlace, WorkerSession } from "../store/worker-session.ts";
import { importUpload } from "../sync/connectors/csv/import-upload.ts";
import { startDueRun } from "../sync/run-record.ts";
import { executeRun } from "../sync/runs.ts";
import type { RunEnvironment } from "../sync/runs.ts";
import type { Deliveries } from "./deliveries.ts";
import { runDueTask } from "./tasks.ts";

export type WorkerOptions = RunEnvironment & {
  /** Of the session, a connection of its own. */
  databaseUrl: string;
  /** For looking what is due: its statements are short, and have to end in time when the database is out of reach. */
  lookDatabase: Database;
  /** Pushes alerts; null = others do. */
  deliveries: Deliveries | null;
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
  /** The sources this process has claimed, by place. */
  runs: Map<string, ActiveRun>;
  /** The task under way. */
  task: Promise<void> | null;
};

type ActiveRun = {
  place: SourcePlace;
  done: Promise<void>;
  /** Writes the progress that is not in the database yet. */
  show: (() => Promise<void>) | null;
  /** Ends this run alone. */
  stopping: AbortController;
};

/** Under this name a worker claims the uploads of a shop, as it claims one of its sources. */
const UPLOADS = "csv";

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
    task: null,
  };
  const looking = lookUntilStopped(state);
  log.info({ concurrency }, "worker started");
  return {
    stop: async () => {
      state.stopping.abort(new WorkerStopping("The worker stops."));
      state.waking.abort();
      const settled = looking.then(() =>
        Promise.all([
          state.task,
          options.deliveries?.stop(),
          ...[...state.runs.values()].map(({ done }) => done),
        ]),
      );
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
        const next = await openWorkerSession(databaseUrl);
        await state.session.close();
        state.session = next;
      }
      await look(state);
      await state.options.deliveries?.look(state.session);
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
  const { lookDatabase, concurrency, hasSchedule, log } = state.options;
  for (const run of state.runs.values()) {
    const { show } = run;
    run.show = null;
    await show?.();
  }
  await stopRunsOfErasing(state);
  if (hasSchedule && state.task === null && (await takeDueTask(lookDatabase)) !== null) {
    state.task = runDueTask(state.options, state.stopping.signal)
      .catch((error: unknown) =>
        log.warn({ err: error }, "a task could not be recorded; it is taken up again"),
      )
      .finally(() => (state.task = null));
  }
  const free = concurrency - state.runs.size;
  if (free <= 0) return;
  // Somebody waits for an upload.
  const uploads = (await listDueUploads(lookDatabase)).map((row) => ({ ...row, source: UPLOADS }));
  const due = [...uploads, ...(await listDueSources(lookDatabase))]
    .map((row) => ({ shopKey: row.shop_key, source: row.source, isOpen: row.is_open }))
    .filter((place) => !state.runs.has(keyOf(place)));
  if (due.length === 0 || state.stopping.signal.aborted) return;
  for (const claimed of await state.session.claim(due, free)) {
    beginRun(
      state,
      claimed,
      due.some((place) => place.isOpen && keyOf(place) === keyOf(claimed)),
    );
  }
}

/** The owner of a workspace has asked for its erasure: what a run has read so far waits with its request. */
async function stopRunsOfErasing({ options, runs }: State): Promise<void> {
  const active = [...runs.values()];
  if (active.length === 0) return;
  const shopKeys = active.map(({ place }) => place.shopKey);
  const erasing = new Set((await listErasing(options.lookDatabase, shopKeys)).map((row) => row.shop_key));
  for (const { place, stopping } of active) {
    if (erasing.has(place.shopKey)) stopping.abort(new WorkspaceErasing());
  }
}

function beginRun(state: State, place: SourcePlace, isOpen: boolean): void {
  const { options, session } = state;
  const stopping = new AbortController();
  const active: ActiveRun = { place, done: Promise.resolve(), show: null, stopping };
  state.runs.set(keyOf(place), active);
  const stop = AbortSignal.any([state.stopping.signal, session.lost, stopping.signal]);
  const end = async (isDone: boolean): Promise<void> => {
    await session.release(place);
    state.runs.delete(keyOf(place));
    // There is room for another one.
    if (isDone) state.waking.abort();
  };
  active.done = runClaimed(options, { place, isOpen, stop, active }).then(
    () => end(true),
    (error: unknown) => {
      const message = "a run could not be recorded; it is taken up again";
      options.log.warn({ source: place.source, err: error }, message);
      return end(false);
    },
  );
}

/** What a claimed source has to do next; first of all it closes the run that a killed worker left open. */
async function runClaimed(
  options: WorkerOptions,
  claim: { place: SourcePlace; isOpen: boolean; stop: AbortSignal; active: ActiveRun },
): Promise<void> {
  const { database, lookDatabase, graceMs, log, now } = options;
  const { place, isOpen, stop, active } = claim;
  const { shopKey, source } = place;
  if (isOpen) {
    await sleep(graceMs, undefined, { signal: stop }).catch(() => {});
    if (stop.aborted) return;
    if (source !== UPLOADS) await closeAbandonedRun(database, shopKey, source);
    log.warn(place, "run was abandoned; the next one continues it");
  }
  if (source === UPLOADS) {
    const isImported = await importUpload(options, shopKey, stop, (uploadId, progress) => {
      active.show = () => updateUploadProgress(lookDatabase, shopKey, uploadId, progress);
    });
    if (!isImported) return;
  } else {
    const run = await startDueRun(database, place);
    if (run === null) return;
    const { status } = await executeRun(options, run, stop, (progress) => {
      active.show = () => updateRunProgress(lookDatabase, shopKey, run.runId, progress);
    });
    if (status !== "succeeded") return;
  }
  await evaluateAlerts({ database, shopKey, now: now() }).catch((error: unknown) =>
    log.error({ source, err: error }, "alerts could not be evaluated"),
  );
}

function keyOf({ shopKey, source }: SourcePlace): string {
  return `${shopKey}/${source}`;
}
