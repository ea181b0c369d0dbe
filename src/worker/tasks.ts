import { evaluateAlerts } from "../alerts/evaluate-alerts.ts";
import type { Database } from "../store/database.ts";
import { listConnections } from "../store/queries/data-source.ts";
import type { ConnectionRow } from "../store/queries/data-source.ts";
import { deleteOldDeliveries, deleteOldRuns } from "../store/queries/worker-upkeep.ts";
import { listWorkspaces } from "../store/queries/workspace-directory.ts";
import type { SyncKind } from "../sync/connector.ts";
import { requestRun } from "../sync/run-request.ts";
import type { RunLog } from "../sync/runs.ts";

/** What the clock starts. */
export type TaskName = "stores" | "open_returns" | "labels" | "alerts" | "upkeep";

export type TaskEnvironment = { database: Database; now: () => Date; log: RunLog };

const DAY_MS = 24 * 3_600_000;
/** Webhooks cause far more runs than the schedule, and each of them matters little. */
const KEEP_RUNS_MS: Readonly<Record<SyncKind, number>> = {
  backfill: 90 * DAY_MS,
  incremental: 90 * DAY_MS,
  open_returns: 90 * DAY_MS,
  refresh: 7 * DAY_MS,
};
/** No source repeats a delivery for that long. */
const KEEP_DELIVERIES_MS = 7 * DAY_MS;

/** When each task is due, in UTC: minute, hour, day, month, weekday. */
export const SCHEDULES: Readonly<Record<TaskName, string>> = {
  stores: "*/15 * * * *",
  open_returns: "20 3 * * *",
  labels: "10 * * * *",
  alerts: "40 * * * *",
  upkeep: "50 * * * *",
};

/** Does a scheduled task for every workspace; one workspace's failure is logged and hurts no other. */
export async function runTask(environment: TaskEnvironment, task: TaskName): Promise<void> {
  switch (task) {
    case "stores":
      return requestRuns(environment, (connection) =>
        connection.kind === "store" ? keepUp(connection) : null,
      );
    case "open_returns":
      // A backfill that is still to come reads the returns anyway.
      return requestRuns(environment, (connection) =>
        connection.kind === "store" && connection.last_synced_at !== null ? "open_returns" : null,
      );
    case "labels":
      return requestRuns(environment, (connection) =>
        connection.kind === "label_cost" ? keepUp(connection) : null,
      );
    case "alerts":
      return evaluateAll(environment);
    case "upkeep":
      return forgetOld(environment);
  }
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
    const isConnected = connection.sealed_credentials !== null && connection.status !== "disconnected";
    const kind = isConnected ? kindOf(connection) : null;
    if (kind === null) continue;
    const { shop_key: shopKey, source } = connection;
    await requestRun(database, { shopKey, source, kind, requestedBy: "schedule" });
  }
}

async function forgetOld({ database, now }: TaskEnvironment): Promise<void> {
  const before = (keepMs: number): Date => new Date(now().getTime() - keepMs);
  for (const [kind, keepMs] of Object.entries(KEEP_RUNS_MS)) {
    await deleteOldRuns(database, kind as SyncKind, before(keepMs));
  }
  await deleteOldDeliveries(database, before(KEEP_DELIVERIES_MS));
}

async function evaluateAll({ database, now, log }: TaskEnvironment): Promise<void> {
  for (const { shop_key: shopKey, shop_domain: shop } of await listWorkspaces(database)) {
    try {
      await evaluateAlerts({ database, shopKey, now: now() });
    } catch (error) {
      log.error({ shop, err: error }, "alerts could not be evaluated");
    }
  }
}
