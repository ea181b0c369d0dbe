import { requireValue } from "../query.ts";

/** The name of a worker's session, which it always has. */
export const WORKER_APPLICATION = "returns-worker";

/** The key of the lock by which a worker's session claims a source, as SQL; both arguments are SQL, too. */
export const claimKey = (shopKey: string, source: string): string =>
  `hashtextextended('run of ' || ${source}, ${shopKey})`;

const SESSIONS = "from pg_stat_activity a where a.datname = current_database() and a.application_name = $1";

/** Whether a worker is connected to this database. */
export const hasWorker = requireValue<boolean>(
  "has_worker",
  `select exists (select ${SESSIONS}) as has_worker`,
  () => [WORKER_APPLICATION],
);

/** How many workers are connected to this server for this database. */
export const countWorkers = requireValue<number>(
  "count_workers",
  `select count(*) as workers ${SESSIONS}`,
  () => [WORKER_APPLICATION],
);
