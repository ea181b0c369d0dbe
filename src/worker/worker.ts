import { PgBoss } from "pg-boss";
import type { Job } from "pg-boss";
import { evaluateAlerts } from "../alerts/evaluate-alerts.ts";
import type { Database } from "../store/database.ts";
import { WORKER_APPLICATION } from "../store/queries/worker-upkeep.ts";
import { watchAbandonedRuns } from "../sync/abandoned-runs.ts";
import { runNext } from "../sync/runs.ts";
import type { RunEnvironment } from "../sync/runs.ts";
import { startDispatcher } from "./dispatch.ts";
import { SCHEDULES, runTask } from "./tasks.ts";
import type { TaskName } from "./tasks.ts";

export type WorkerOptions = RunEnvironment & {
  /** For looking what is due: its statements are short, and have to end in time when the database is out of reach. */
  lookDatabase: Database;
  /** Runs at a time in this process. */
  concurrency: number;
  /** false: it asks for nothing by the clock, and only does what others ask for. */
  hasSchedule: boolean;
  /** How often it looks for what is due. */
  lookMs: number;
  /** How long an abandoned run is left alone. */
  graceMs: number;
  /** How long a stop waits for runs to reach a safe point. */
  longestStopMs: number;
};

export type Worker = {
  /** Hands active runs on to the next worker, and lets go of the database. */
  stop(): Promise<void>;
};

/** What a queue job says of a run: requests are rows, so a lost or repeated job does no harm. */
type RunJob = { shopKey: number; source: string };
type TaskJob = { task: TaskName };

const RUN_QUEUE = "sync-run";
const TASK_QUEUE = "sync-task";
const QUEUE_CONNECTIONS = 3;
const POLLING_SECONDS = 1;
const LONGEST_STATEMENT_MS = 30_000;
/** The longest that the queue allows. A job without its worker ends earlier, by its heartbeat. */
const LONGEST_RUN_SECONDS = 24 * 3600 - 60;
const HEARTBEAT_SECONDS = 60;

/** What it is waiting for when a run is asked to stop. */
export class WorkerStopping extends Error {
  override name = "WorkerStopping";
}

/**
 * Starts a worker: it takes up requested runs, and asks for runs itself by the clock. Several on one database share the
 * work. It outlives the database's absence; only its start needs it. Throws when the database does not answer then.
 */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { lookDatabase, log, concurrency, hasSchedule, lookMs, graceMs, longestStopMs } = options;
  const stopping = new AbortController();
  const active = new Map<string, Promise<void>>();
  const boss = openQueue(options.databaseUrl, hasSchedule);
  // Without a listener, the first connection that breaks would end the process.
  boss.on("error", (error) => log.warn({ err: error }, "the job queue met an error"));
  try {
    await boss.start();
    await prepareQueues(boss);
  } catch (error) {
    await boss.stop({ graceful: false }).catch(() => {});
    throw error;
  }
  const work = async ([job]: Job<RunJob>[]): Promise<void> => {
    if (job === undefined || active.has(keyOf(job.data))) return;
    const running = runAllOf(options, job.data, stopping.signal);
    active.set(keyOf(job.data), running);
    await running.finally(() => active.delete(keyOf(job.data)));
  };
  const polling = { pollingIntervalSeconds: POLLING_SECONDS, batchSize: 1 };
  const workId = await boss.work<RunJob>(RUN_QUEUE, { ...polling, localConcurrency: concurrency }, work);
  if (hasSchedule) await boss.work<TaskJob>(TASK_QUEUE, polling, ([job]) => runTaskJob(options, job));
  const dispatcher = startDispatcher({
    database: lookDatabase,
    log,
    intervalMs: lookMs,
    abandoned: watchAbandonedRuns(lookDatabase, {
      graceMs,
      isOwn: (shopKey, source) => active.has(keyOf({ shopKey, source })),
    }),
    enqueue: async (place) => {
      if (active.has(keyOf(place))) return;
      const jobId = await boss.send(RUN_QUEUE, place, { singletonKey: keyOf(place) });
      if (jobId !== null) boss.notifyWorker(workId);
    },
  });
  log.info({ concurrency }, "worker started");
  return {
    stop: async () => {
      stopping.abort(new WorkerStopping("The worker stops."));
      await dispatcher.stop();
      await settledWithin(longestStopMs, [...active.values()]);
      await boss.stop({ graceful: true, timeout: 1000 });
      log.info({}, "worker stopped");
    },
  };
}

function openQueue(databaseUrl: string, hasSchedule: boolean): PgBoss {
  const pool = {
    connectionString: databaseUrl,
    application_name: WORKER_APPLICATION,
    max: QUEUE_CONNECTIONS,
    // Handed on to the driver: an answer that never comes must not hold the queue up.
    query_timeout: LONGEST_STATEMENT_MS,
    keepAlive: true,
  };
  return new PgBoss({ ...pool, schema: "pgboss", schedule: hasSchedule });
}

/**
 * A connection waits in the queue at most once. The queue itself repeats nothing: a request that has not been answered
 * is queued again when it is due.
 */
async function prepareQueues(boss: PgBoss): Promise<void> {
  const common = { retryLimit: 0, deleteAfterSeconds: 3600, heartbeatSeconds: HEARTBEAT_SECONDS };
  await boss.createQueue(RUN_QUEUE, { ...common, policy: "short", expireInSeconds: LONGEST_RUN_SECONDS });
  await boss.createQueue(TASK_QUEUE, { ...common, policy: "short", expireInSeconds: 3600 });
  for (const [task, cron] of Object.entries(SCHEDULES)) {
    // After a time without any worker the newest missed occurrence is made up for.
    await boss.schedule(TASK_QUEUE, cron, { task }, { key: task, singletonKey: task, missed: "once" });
  }
}

/** Everything a connection has to do now, one run after another; each that succeeds may have raised alerts. */
async function runAllOf(options: WorkerOptions, place: RunJob, stop: AbortSignal): Promise<void> {
  const { database, log, now } = options;
  try {
    while (!stop.aborted) {
      const result = await runNext(options, place, stop);
      if (result === null) return;
      if (result.status !== "succeeded") continue;
      await evaluateAlerts({ database, shopKey: place.shopKey, now: now() }).catch((error: unknown) =>
        log.error({ source: place.source, err: error }, "alerts could not be evaluated"),
      );
    }
  } catch (error) {
    log.warn({ source: place.source, err: error }, "a run could not be recorded; it is taken up again");
  }
}

async function runTaskJob(options: WorkerOptions, job: Job<TaskJob> | undefined): Promise<void> {
  if (job === undefined) return;
  const { task } = job.data;
  try {
    await runTask(options, task);
  } catch (error) {
    options.log.error({ task, err: error }, "a scheduled task failed; the next one makes up for it");
  }
}

/** Runs that do not stop in time are found abandoned by the next worker. */
async function settledWithin(longestMs: number, running: readonly Promise<void>[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((done) => (timer = setTimeout(done, longestMs)));
  await Promise.race([Promise.allSettled(running), late]);
  clearTimeout(timer);
}

function keyOf({ shopKey, source }: RunJob): string {
  return `${shopKey}/${source}`;
}
