import { command, requireValue } from "../query.ts";
import type { SyncKind } from "./sync-request.ts";

/** Removes a shop's history of one kind of runs that began before a moment. sync_run_by_kind. */
export const deleteOldRuns = command<[shopKey: number, kind: SyncKind, before: Date]>(
  "delete_old_runs",
  `delete from sync_run r
          where r.shop_key = $1 and r.kind = $2 and r.started_at < $3 and r.status <> 'running'`,
);

/** Forgets webhook deliveries that a shop took in before a moment. webhook_delivery_by_time. */
export const deleteOldDeliveries = command<[shopKey: number, before: Date]>(
  "delete_old_deliveries",
  "delete from webhook_delivery d where d.shop_key = $1 and d.received_at < $2",
);

/** The name of a worker's session, which it always has. */
export const WORKER_APPLICATION = "returns-worker";

/** Whether a worker is connected to this database. */
export const hasWorker = requireValue<boolean>(
  "has_worker",
  `select exists (select from pg_stat_activity a
                         where a.datname = current_database() and a.application_name = $1) as has_worker`,
  () => [WORKER_APPLICATION],
);
