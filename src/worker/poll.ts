import { setTimeout as sleep } from "node:timers/promises";
import { evaluateAlerts } from "../alerts/evaluate-alerts.ts";
import { dayOfInstant, dayToText } from "../lib/month.ts";
import { note, traced } from "../lib/trace.ts";
import type { Database } from "../store/database.ts";
import { findDueUpload, updateUploadProgress } from "../store/queries/import-upload.ts";
import { WorkspaceGone } from "../store/queries/import-stage.ts";
import { setNextPolls } from "../store/queries/data-source.ts";
import {
  findQueued,
  finishPoll,
  leaveQueue,
  CHECK_MS,
  WORKSPACE,
  UPLOADS,
} from "../store/queries/run-queue.ts";
import type { QueuedRow } from "../store/queries/run-queue.ts";
import { askForRun, findActivity, findSourceState } from "../store/queries/sync-request.ts";
import type { SourceStateRow, SyncKind, SyncRequestRow } from "../store/queries/sync-request.ts";
import { updateRunProgress } from "../store/queries/sync-run.ts";
import type { SourceKey } from "../store/worker-session.ts";
import { isLostDatabase } from "../lib/log-failure.ts";
import { importUpload } from "../sync/connectors/csv/import-upload.ts";
import { applyRules } from "../sync/apply.ts";
import { pollIntervalMs, type SyncProgress } from "../sync/connector.ts";
import { endAbandonedRun, startDueRun } from "../sync/run-record.ts";
import { executeRun, retryDelayMs, type RunEnvironment } from "../sync/runs.ts";
import { checkWorkspace, type UpkeepEnvironment } from "./upkeep.ts";

/** The resources of a poll. */
export type PollEnvironment = RunEnvironment &
  UpkeepEnvironment & {
    /** For the queue and for progress: its statements are short, and have to end in time. */
    queueDatabase: Database;
    /** Grace period of an abandoned run: a process that only lost its connection has stopped it by then. */
    graceMs: number;
    /** false: it does no scheduled work, only requested runs. */
    hasSchedule: boolean;
  };

/** A poll claimed by the caller. */
export type Poll = {
  place: SourceKey;
  stop: AbortSignal;
  /** Asks the run to yield to others. */
  turn?: AbortSignal;
  /** Receives the function that writes progress which is not in the database yet. */
  show: (write: () => Promise<void>) => void;
};

/** How often a store's orders with open returns are read again. */
const REREAD_MS = 24 * 3_600_000;

/**
 * Polls a source or uploads of a workspace, or checks the workspace itself: requests scheduled runs, does due work, and sets the
 * next poll. The queue only says when to read its rows: an interrupted poll leaves its row of the queue unchanged, and the next poll
 * finds the remaining work. Throws if the database, or the workspace's node, does not answer.
 */
export async function pollPlace(environment: PollEnvironment, poll: Poll): Promise<void> {
  const { shopKey, source } = poll.place;
  const queued = await findQueued(environment.queueDatabase, shopKey, source);
  if (queued === null) return;
  const pollIt = source === UPLOADS ? pollUploads : source === WORKSPACE ? pollWorkspace : pollSource;
  await pollIt(environment, queued, poll);
}

async function pollWorkspace(environment: PollEnvironment, queued: QueuedRow): Promise<void> {
  const { queueDatabase, now } = environment;
  const isThere = await checkWorkspace(environment, queued.shop_key);
  if (isThere) await finishPoll(queueDatabase, queued, within(CHECK_MS, now()));
  else await leaveQueue(queueDatabase, queued);
}

/** A time shortly before the end of an interval that began `now`: workspaces that were due together spread out. */
function within(intervalMs: number, now: Date): Date {
  return new Date(now.getTime() + intervalMs * (0.85 + 0.1 * Math.random()));
}

async function pollSource(
  environment: PollEnvironment,
  queued: QueuedRow,
  { stop, turn, show }: Poll,
): Promise<void> {
  const { database, queueDatabase, hasSchedule, now } = environment;
  const { shop_key: shopKey, source } = queued;
  const state = await findSourceState(database, shopKey, source);
  if (state === null) return leaveQueue(queueDatabase, queued);
  if (state.is_open) {
    await waitForGrace(environment, queued, stop);
    if (stop.aborted) return;
    const { firstRetryMs } = environment;
    await endAbandonedRun(database, { shopKey, source }, (failures) => retryDelayMs(firstRetryMs, failures));
  }
  if (hasSchedule) await requestScheduled(environment, queued, state);
  const begunAt = now();
  const run = await startDueRun(database, { shopKey, source });
  if (run !== null) {
    const showProgress = (progress: SyncProgress) =>
      show(() => updateRunProgress(queueDatabase, shopKey, run.runId, progress));
    const { status, isQuiet } = await executeRun(environment, run, stop, showProgress, turn);
    if (status === "succeeded") {
      await scheduleNext(environment, run.request, state, { begunAt, isQuiet });
      await evaluate(environment, queued);
    }
  }
  // The next poll continues the run.
  if (stop.aborted) return;
  // Work that waits for the end of an erasure or a move is polled when that is canceled.
  const after = state.is_stopped ? null : await findSourceState(database, shopKey, source);
  const times = [after?.request_at, ...(hasSchedule ? [after?.poll_at, after?.reread_at] : [])];
  const known = times.flatMap((time) => (time === null || time === undefined ? [] : [time.getTime()]));
  await finishPoll(queueDatabase, queued, known.length === 0 ? null : new Date(Math.min(...known)));
}

/** Requests the runs that are due. They stay due until one has succeeded; until then each poll repeats the request. */
async function requestScheduled(
  { database }: PollEnvironment,
  { shop_key: shopKey, source }: QueuedRow,
  { poll_at: pollAt, reread_at: rereadAt, last_synced_at: syncedAt, now }: SourceStateRow,
): Promise<void> {
  const ask = (kind: SyncKind) => askForRun(database, { shopKey, source, kind, requestedBy: "schedule" });
  // A source without a successful read gets a full one.
  if (pollAt !== null && pollAt <= now) await ask(syncedAt === null ? "backfill" : "incremental");
  if (rereadAt !== null && rereadAt <= now) await ask("open_returns");
}

/** After a run that began at `begunAt` and succeeded. A backfill reads the orders with open returns, too. */
async function scheduleNext(
  { database }: PollEnvironment,
  { shop_key: shopKey, source, kind }: SyncRequestRow,
  state: SourceStateRow,
  { begunAt, isQuiet }: { begunAt: Date; isQuiet: boolean },
): Promise<void> {
  if (kind === "refresh") return;
  const week = dayToText(dayOfInstant(begunAt.getTime()) - 7);
  const { orders, has_delivery: hasDelivery } = await findActivity(
    database,
    shopKey,
    source,
    week,
    state.last_synced_at,
  );
  const intervalMs = pollIntervalMs(state.kind, {
    weekOrders: orders,
    isToldByWebhooks: hasDelivery && isQuiet,
  });
  await setNextPolls(database, shopKey, source, {
    pollAt: kind === "open_returns" ? null : within(intervalMs, begunAt),
    rereadAt: state.kind === "store" && kind !== "incremental" ? within(REREAD_MS, begunAt) : null,
  });
}

const IMPORT = {
  name: "run csv",
  isRoot: true,
  attributes: { "returns.source": "csv", "returns.source_kind": "store", "returns.run_kind": "upload" },
};

async function pollUploads(
  environment: PollEnvironment,
  queued: QueuedRow,
  { stop, show }: Poll,
): Promise<void> {
  const { database, queueDatabase } = environment;
  const { shop_key: shopKey } = queued;
  if (await followRules(environment, queued, stop)) await evaluate(environment, queued);
  const due = await findDueUpload(database, shopKey);
  if (due === null) return leaveQueue(queueDatabase, queued);
  if (due.is_stopped) return finishPoll(queueDatabase, queued, null);
  if (due.is_open) {
    await waitForGrace(environment, queued, stop);
    if (stop.aborted) return;
  }
  const isImported = await traced(IMPORT, async () => {
    const succeeded = await importUpload(environment, shopKey, stop, (uploadId, progress) =>
      show(() => updateUploadProgress(queueDatabase, shopKey, uploadId, progress)),
    );
    note({ "returns.run_status": succeeded ? "succeeded" : "not_imported" });
    return succeeded;
  });
  if (isImported) await evaluate(environment, queued);
}

/** Rules that a workspace has saved wait in its row, as its uploads do. Returns whether its figures may have changed. */
async function followRules({ database, log }: PollEnvironment, queued: QueuedRow, stop: AbortSignal) {
  const { shop_key: shopKey } = queued;
  return applyRules(database, shopKey, stop).catch((error: unknown) => {
    if (stop.aborted || isLostDatabase(error)) throw error;
    // Work left to the next upkeep does not delay uploads.
    if (!(error instanceof WorkspaceGone))
      log.error({ shopKey, err: error }, "the rules of a workspace could not be applied");
    return false;
  });
}

/** Before a run that another process left open is continued. */
async function waitForGrace({ graceMs, log }: PollEnvironment, queued: QueuedRow, stop: AbortSignal) {
  await sleep(graceMs, undefined, { signal: stop }).catch(() => {});
  if (stop.aborted) return;
  const { shop_key: shopKey, source } = queued;
  log.warn({ shopKey, source }, "run was abandoned; the next one continues it");
}

async function evaluate({ database, now, log }: PollEnvironment, { shop_key: shopKey, source }: QueuedRow) {
  await evaluateAlerts({ database, shopKey, now: now() }).catch((error: unknown) =>
    log.error({ source, err: error }, "alerts could not be evaluated"),
  );
}
