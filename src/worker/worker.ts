import { setTimeout as sleep } from "node:timers/promises";
import { within } from "../lib/within.ts";
import { findStop, WorkspaceStopped } from "../store/queries/import-stage.ts";
import { listQueued, listQueuedWorkspaces, postponePoll, takeDueTask } from "../store/queries/run-queue.ts";
import { openWorkerSession, type SourceKey, type WorkerSession } from "../store/worker-session.ts";
import { TurnOver } from "../sync/connector.ts";
import { removeUploadFolders } from "../sync/connectors/csv/import-upload.ts";
import { retryDelayMs } from "../sync/runs.ts";
import type { Deliveries } from "./deliveries.ts";
import { pollPlace, type PollEnvironment } from "./poll.ts";
import { runDueTask } from "./upkeep.ts";

export type WorkerOptions = PollEnvironment & {
  /** Of the session's separate connection. */
  databaseUrl: string;
  /** Push alerts and send digests, in this order. */
  deliveries: readonly Deliveries[];
  /** Runs at a time in this process. */
  concurrency: number;
  /** Interval of polls for due work. */
  pollMs: number;
  /** How long a stop waits for runs to reach a safe point. */
  longestStopMs: number;
  /** How long a run may continue while others wait. */
  turnMs: number;
};

export type Worker = {
  /** Releases active runs to the next worker, and closes its database connection. */
  stop(): Promise<void>;
};

/** The reason for stopping a run. */
class WorkerStopping extends Error {
  override name = "WorkerStopping";
}

type State = {
  options: WorkerOptions;
  session: WorkerSession;
  stopping: AbortController;
  /** Ends the pause between two polls. */
  waking: AbortController;
  /** This process's claims, by place. */
  polls: Map<string, ActivePoll>;
  /** How often in a row a poll has failed, by place. */
  failures: Map<string, number>;
  /** The task under way. */
  task: Promise<void> | null;
  /** Workspaces that this process has claimed and has not checked yet. */
  claimed: SourceKey[];
  /** Its checks of workspaces under way, by place. */
  checks: Map<string, Promise<void>>;
};

type ActivePoll = {
  shopKey: number;
  done: Promise<void>;
  /** Writes the progress that is not in the database yet. */
  show: (() => Promise<void>) | null;
  /** Stops only this run. */
  stopping: AbortController;
  begunMs: number;
  /** Makes it yield to others. */
  turn: AbortController;
};

/** More than all workers have active at once: their rows stay due, and the next ones come after them. */
const MOST_QUEUED = 500;
/** Concurrent workspace checks, in addition to runs, so that long runs do not delay alerts and upkeep. */
export const WORKSPACE_CHECKS = 2;
/** Workspaces that are claimed at once: a check takes a fraction of the time between two polls. */
const MOST_CLAIMED = 16;

/**
 * Starts a worker: every `pollMs` it reads the queue's due rows, and the scheduled tasks. Several workers on one database share
 * the work. It survives an unavailable database, except at its start, when it throws.
 */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { log, concurrency, longestStopMs } = options;
  const state: State = {
    options,
    session: await openWorkerSession(options.databaseUrl),
    stopping: new AbortController(),
    waking: new AbortController(),
    polls: new Map(),
    failures: new Map(),
    task: null,
    claimed: [],
    checks: new Map(),
  };
  await removeUploadFolders();
  const polling = pollUntilStopped(state);
  log.info({ concurrency }, "worker started");
  return {
    stop: async () => {
      state.stopping.abort(new WorkerStopping("The worker stops."));
      state.waking.abort();
      const settled = polling.then(() =>
        Promise.all([
          state.task,
          ...options.deliveries.map((each) => each.stop()),
          ...state.checks.values(),
          ...[...state.polls.values()].map(({ done }) => done),
        ]),
      );
      // Runs that do not stop in time are found abandoned by the next worker.
      await within(longestStopMs, settled).catch(() => {});
      await state.session.close();
      log.info({}, "worker stopped");
    },
  };
}

/** While the database does not answer it retries, and logs once. */
async function pollUntilStopped(state: State): Promise<void> {
  const { databaseUrl, log, pollMs } = state.options;
  let isAway = false;
  let nextMs = 0;
  while (!state.stopping.signal.aborted) {
    state.waking = new AbortController();
    // Woken before its time, it only fills a place that became free.
    const isWoken = performance.now() < nextMs;
    try {
      if (state.session.lost.aborted) {
        const next = await openWorkerSession(databaseUrl);
        await state.session.close();
        state.session = next;
        state.claimed.splice(0);
      }
      if (!isWoken) await pollTimed(state);
      await poll(state);
      if (isAway) log.info({}, "the database answers again");
      isAway = false;
    } catch (error) {
      if (!isAway) log.warn({ err: error }, "the database does not answer; trying again");
      isAway = true;
    }
    if (!isWoken) nextMs = performance.now() + pollMs;
    await sleep(Math.max(0, nextMs - performance.now()), undefined, { signal: state.waking.signal }).catch(
      () => {},
    );
  }
}

/** Progress, tasks and deliveries, which no end of a run makes due. */
async function pollTimed(state: State): Promise<void> {
  const { queueDatabase, hasSchedule, log, deliveries } = state.options;
  await watchRuns(state);
  if (hasSchedule && state.task === null && (await takeDueTask(queueDatabase)) !== null) {
    state.task = runDueTask(state.options, state.stopping.signal)
      .catch((error: unknown) =>
        log.warn({ err: error }, "a task could not be recorded; it is retried later"),
      )
      .finally(() => (state.task = null));
  }
  for (const each of deliveries) await each.poll(state.session);
}

async function poll(state: State): Promise<void> {
  const { queueDatabase, concurrency, hasSchedule } = state.options;
  if (hasSchedule) await claimWorkspaces(state);
  const free = concurrency - state.polls.size;
  const longest = free > 0 ? null : findLongest(state);
  if (free <= 0 && longest === null) return;
  const due = (await listQueued(queueDatabase, MOST_QUEUED))
    .map((row) => ({ shopKey: row.shop_key, source: row.source }))
    .filter((place) => !state.polls.has(keyOf(place)));
  if (due.length === 0 || state.stopping.signal.aborted) return;
  if (longest !== null) longest.turn.abort(new TurnOver());
  else for (const claimed of await state.session.claim(due, free)) beginPoll(state, claimed);
}

/** The run that has had its slot for longest, and for longer than a turn; null = none. */
function findLongest({ options, polls }: State): ActivePoll | null {
  const over = [...polls.values()].filter(
    ({ begunMs, turn }) => !turn.signal.aborted && performance.now() - begunMs > options.turnMs,
  );
  return over.toSorted((one, other) => one.begunMs - other.begunMs)[0] ?? null;
}

async function claimWorkspaces(state: State): Promise<void> {
  const { options, session, checks } = state;
  if (state.claimed.length === 0) {
    const due = (await listQueuedWorkspaces(options.queueDatabase, MOST_QUEUED))
      .map((row) => ({ shopKey: row.shop_key, source: row.source }))
      .filter((place) => !checks.has(keyOf(place)));
    if (due.length > 0) state.claimed.push(...(await session.claim(due, MOST_CLAIMED)));
  }
  beginChecks(state);
}

function beginChecks(state: State): void {
  const { options, session, claimed, checks, stopping } = state;
  while (checks.size < WORKSPACE_CHECKS && claimed.length > 0) {
    if (stopping.signal.aborted || session.lost.aborted) return;
    const place = claimed.shift() as SourceKey;
    const key = keyOf(place);
    const check = pollPlace(options, { place, stop: stopping.signal, show: () => {} }).then(
      () => void state.failures.delete(key),
      (error: unknown) => backOff(state, place, error),
    );
    const end = check
      .then(() => session.release(place))
      .finally(() => {
        checks.delete(key);
        if (claimed.length === 0) state.waking.abort();
        beginChecks(state);
      });
    checks.set(key, end);
  }
}

/**
 * Writes the progress of active runs, and stops those of a workspace that is being erased or moved: the run's fetched data waits
 * with its request. A workspace whose node does not answer does not affect the others.
 */
async function watchRuns({ options, polls }: State): Promise<void> {
  for (const active of polls.values()) {
    const { show, shopKey } = active;
    active.show = null;
    try {
      await show?.();
      const stop = await findStop(options.queueDatabase, shopKey);
      if (stop !== null) active.stopping.abort(new WorkspaceStopped(stop));
    } catch {
      // The run itself detects and reports that the database does not answer.
    }
  }
}

function beginPoll(state: State, place: SourceKey): void {
  const { options, session } = state;
  const key = keyOf(place);
  const [stopping, turn] = [new AbortController(), new AbortController()];
  const active: ActivePoll = {
    shopKey: place.shopKey,
    done: Promise.resolve(),
    show: null,
    stopping,
    begunMs: performance.now(),
    turn,
  };
  state.polls.set(key, active);
  const stop = AbortSignal.any([state.stopping.signal, session.lost, stopping.signal]);
  const end = async (isDone: boolean): Promise<void> => {
    await session.release(place);
    state.polls.delete(key);
    // A slot is free.
    if (isDone) state.waking.abort();
  };
  const show = (write: () => Promise<void>) => (active.show = write);
  active.done = pollPlace(options, { place, stop, turn: turn.signal, show }).then(
    () => {
      if (state.failures.delete(key)) options.log.info(place, "the workspace's data can be reached again");
      return end(true);
    },
    async (error: unknown) => {
      await backOff(state, place, error);
      return end(false);
    },
  );
}

/** A failed poll is retried with growing delays, and logged once: the workspace's node may be unavailable for long. */
async function backOff({ options, failures }: State, place: SourceKey, error: unknown): Promise<void> {
  const { log, queueDatabase, firstRetryMs } = options;
  const failed = failures.get(keyOf(place)) ?? 0;
  failures.set(keyOf(place), failed + 1);
  if (failed === 0)
    log.warn({ ...place, err: error }, "a source or workspace could not be polled; it is retried later");
  // Without an answer it stays due.
  const delayMs = retryDelayMs(firstRetryMs, failed);
  await postponePoll(queueDatabase, place.shopKey, place.source, delayMs).catch(() => {});
}

function keyOf({ shopKey, source }: SourceKey): string {
  return `${shopKey}/${source}`;
}
