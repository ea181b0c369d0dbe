import { evaluateAlerts } from "../alerts/evaluate-alerts.ts";
import { writeTokenNotices } from "../alerts/token-notices.ts";
import type { Database } from "../store/database.ts";
import { finishTask, takeDueTask } from "../store/queries/schedule.ts";
import type { TaskName } from "../store/queries/schedule.ts";
import { requestRun } from "../store/queries/sync-request.ts";
import { listConnections } from "../store/queries/data-source.ts";
import type { ConnectionRow } from "../store/queries/data-source.ts";
import { deleteExpiredChallenges } from "../store/queries/console-challenge.ts";
import { deleteExpiredLinks } from "../store/queries/console-link.ts";
import { deleteEndedSessions } from "../store/queries/console-session.ts";
import { listShopsWithParts } from "../store/queries/import-part.ts";
import { deleteOldUploads, expireUploads } from "../store/queries/import-upload.ts";
import { deleteOldDeliveries, deleteOldRuns } from "../store/queries/worker-upkeep.ts";
import { deleteOldUsage } from "../store/queries/usage-write.ts";
import { listWorkspaces } from "../store/queries/workspace-directory.ts";
import type { SyncKind } from "../store/queries/sync-request.ts";
import { removeEndedParts } from "../sync/connectors/csv/import-upload.ts";
import type { RunLog } from "../sync/runs.ts";
import { eraseDue } from "./erasures.ts";

export type TaskEnvironment = { database: Database; now: () => Date; log: RunLog };

const DAY_MS = 24 * 3_600_000;
/** Webhooks cause far more runs than the schedule, and each of them matters little. */
const KEEP_RUNS_MS: Readonly<Record<SyncKind, number>> = {
  backfill: 90 * DAY_MS,
  incremental: 90 * DAY_MS,
  open_returns: 90 * DAY_MS,
  refresh: 7 * DAY_MS,
};
/** Their results stay to be read. */
const KEEP_UPLOADS_MS = 30 * DAY_MS;
/** No source repeats a delivery for that long. */
const KEEP_DELIVERIES_MS = 7 * DAY_MS;
const KEEP_USAGE_MS = 400 * DAY_MS;

/** Each does its task for every workspace. When they are due is in the table `schedule`. */
const TASKS: Readonly<Record<TaskName, (environment: TaskEnvironment) => Promise<void>>> = {
  stores: (environment) => requestRuns(environment, (row) => (row.kind === "store" ? keepUp(row) : null)),
  // A backfill that is still to come reads the returns anyway.
  open_returns: (environment) =>
    requestRuns(environment, (row) =>
      row.kind === "store" && row.last_synced_at !== null ? "open_returns" : null,
    ),
  labels: (environment) =>
    requestRuns(environment, (row) => (row.kind === "label_cost" ? keepUp(row) : null)),
  alerts: evaluateAll,
  upkeep: keepInOrder,
};

/**
 * Does the task that has been due for longest; nothing when none is due, or other workers do those that are. A task that
 * fails is done again when it is next due. One whose process is killed is due at once: its row stays locked meanwhile.
 */
export async function runDueTask(environment: TaskEnvironment, stop: AbortSignal): Promise<void> {
  await environment.database.transaction(async (connection) => {
    const due = await takeDueTask(connection);
    if (due === null) return;
    try {
      await runTask(environment, due.task);
    } catch (error) {
      if (stop.aborted) throw error;
      environment.log.error(
        { task: due.task, err: error },
        "a scheduled task failed; the next one makes up for it",
      );
    }
    await finishTask(connection, due);
  });
}

export async function runTask(environment: TaskEnvironment, task: TaskName): Promise<void> {
  await TASKS[task](environment);
}

/** What was never read is read from its beginning. */
function keepUp(connection: ConnectionRow): SyncKind {
  return connection.last_synced_at === null ? "backfill" : "incremental";
}

/** A source that has refused us waits for a person, who connects it again. */
async function requestRuns(
  { database }: TaskEnvironment,
  kindOf: (connection: ConnectionRow) => SyncKind | null,
): Promise<void> {
  for (const connection of await listConnections(database)) {
    if (connection.is_erasing) continue;
    const isConnected = connection.sealed_credentials !== null && connection.status !== "disconnected";
    const kind = isConnected ? kindOf(connection) : null;
    if (kind === null) continue;
    const { shop_key: shopKey, source } = connection;
    await requestRun(database, { shopKey, source, kind, requestedBy: "schedule" });
  }
}

/** What fails of one part keeps none of the others from being done. */
async function keepInOrder(environment: TaskEnvironment): Promise<void> {
  const { database, now, log } = environment;
  await writeTokenNotices(database, now()).catch((error: unknown) =>
    log.error({ err: error }, "notices of tokens that expire could not be written"),
  );
  await forgetOld(environment);
}

async function forgetOld({ database, now, log }: TaskEnvironment): Promise<void> {
  const before = (keepMs: number): Date => new Date(now().getTime() - keepMs);
  for (const [kind, keepMs] of Object.entries(KEEP_RUNS_MS)) {
    await deleteOldRuns(database, kind as SyncKind, before(keepMs));
  }
  await deleteOldDeliveries(database, before(KEEP_DELIVERIES_MS));
  await deleteOldUsage(database, before(KEEP_USAGE_MS).toISOString().slice(0, 10));
  await deleteExpiredLinks(database, now());
  await deleteExpiredChallenges(database, now());
  await deleteEndedSessions(database, now());
  await expireUploads(database, now());
  for (const { shop_key: shopKey } of await listShopsWithParts(database)) {
    await removeEndedParts(database, shopKey, now());
  }
  await deleteOldUploads(database, before(KEEP_UPLOADS_MS));
  await eraseDue(database, now(), log);
}

async function evaluateAll({ database, now, log }: TaskEnvironment): Promise<void> {
  for (const { shop_key: shopKey, shop_domain: shop, erase_after } of await listWorkspaces(database)) {
    if (erase_after !== null) continue;
    try {
      await evaluateAlerts({ database, shopKey, now: now() });
    } catch (error) {
      log.error({ shop, err: error }, "alerts could not be evaluated");
    }
  }
}
