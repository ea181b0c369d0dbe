import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";
import type { SyncKindName } from "./sync-request.ts";

const DELETE_OLD_RUNS = defineStatement({
  name: "delete_old_runs",
  text: "delete from sync_run r where r.kind = $1 and r.started_at < $2 and r.status <> 'running'",
});

/** Removes the history of one kind of runs that began before a moment, of all shops. sync_run_by_kind. */
export async function deleteOldRuns(database: Queryable, kind: SyncKindName, before: Date): Promise<void> {
  await database.rows(DELETE_OLD_RUNS, [kind, before]);
}

const DELETE_OLD_DELIVERIES = defineStatement({
  name: "delete_old_deliveries",
  text: "delete from webhook_delivery d where d.received_at < $1",
});

/** Forgets webhook deliveries that were taken in before a moment, of all shops. webhook_delivery_by_time. */
export async function deleteOldDeliveries(database: Queryable, before: Date): Promise<void> {
  await database.rows(DELETE_OLD_DELIVERIES, [before]);
}

/** The name of a worker's session, which it always has. */
export const WORKER_APPLICATION = "returns-worker";

const HAS_WORKER = defineStatement({
  name: "has_worker",
  text: `select exists (select from pg_stat_activity a
                         where a.datname = current_database() and a.application_name = $1) as has_worker`,
});

/** Whether a worker is connected to this database. */
export async function hasWorker(database: Queryable): Promise<boolean> {
  const [row] = await database.rows<{ has_worker: boolean }>(HAS_WORKER, [WORKER_APPLICATION]);
  return row?.has_worker === true;
}
