import { requireValue } from "../query.ts";

/** The name of a worker's session, which it always has. */
export const WORKER_APPLICATION = "returns-worker";

/** Whether a worker is connected to this database. */
export const hasWorker = requireValue<boolean>(
  "has_worker",
  `select exists (select from pg_stat_activity a
                         where a.datname = current_database() and a.application_name = $1) as has_worker`,
  () => [WORKER_APPLICATION],
);
