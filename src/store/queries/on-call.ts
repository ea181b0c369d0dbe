import { query, queryValue, requireValue } from "../query.ts";
import { IS_CONNECTED, type SourceKind } from "./data-source.ts";
import { OF_SOURCES } from "./run-queue.ts";
import { IS_STOPPED } from "./workspace-directory.ts";
import { claimKey } from "./worker-health.ts";

/** Whether the database answers at all, whatever its schema is. */
export const answers = requireValue<boolean>("database_answers", "select true as answers");

/** Due rows of the queue that no worker has claimed. */
type DueRunsRow = {
  kind: SourceKind | "upload";
  due_runs: number;
  /** How long the oldest of them has been due; null = its moment is not known, as of uploads. */
  age_seconds: number | null;
};

/**
 * One row per kind with due work: run_queue_sources. A row stays due while a worker reads its source, so rows with a claim, a
 * lock of a worker's session, are excluded; only the server that workers connect to knows these locks.
 */
export const listDueRuns = query<DueRunsRow>(
  "list_due_runs",
  `select q.kind, count(*) as due_runs,
                extract(epoch from statement_timestamp() - min(q.due_at) filter (where isfinite(q.due_at)))::float8 as age_seconds
           from run_queue q
          where q.due_at <= statement_timestamp() and ${OF_SOURCES}
            and ${claimKey("q.shop_key", "q.source")} not in (
                select (l.classid::bigint << 32) | l.objid::bigint from pg_locks l
                 where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
                   and l.database = (select d.oid from pg_database d where d.datname = current_database()))
          group by q.kind`,
);

/** The upkeep of the installation, or of the most overdue workspace, and how long it has been overdue; 0 = it is not. */
type TaskDelayRow = { task: "upkeep" | "shops"; late_seconds: number };

/** One row for each that there is. Primary key of schedule, run_queue_shops. */
export const listTaskDelays = query<TaskDelayRow>(
  "list_task_delays",
  `select s.task, greatest(0, extract(epoch from statement_timestamp() - s.done_until - s.period))::float8 as late_seconds
           from schedule s where s.task = 'upkeep' and isfinite(s.done_until)
         union all
         select 'shops', greatest(0, extract(epoch from statement_timestamp() - q.due_at))::float8
           from (select min(q.due_at) as due_at from run_queue q where q.kind = 'shop' and q.due_at > '-infinity') q
          where isfinite(q.due_at)
          order by task`,
);

/** How long ago the newest backup that ended was begun, in seconds; null = none was ever made. */
export const findBackupAge = queryValue<number>(
  "find_backup_age",
  "select extract(epoch from statement_timestamp() - i.backed_up_at)::float8 as age_seconds from installation i",
);

/** "new": a run of it has never ended. */
export const CONNECTION_STATUSES = ["new", "ok", "syncing", "failed", "disconnected"] as const;
type ConnectionStatus = (typeof CONNECTION_STATUSES)[number];

/** The connections of one kind in one state. */
export type SyncMetricsRow = {
  kind: SourceKind;
  status: ConnectionStatus;
  connections: number;
  /** How long ago the newest sync of any of them was; null = there was none. */
  sync_age_seconds: number | null;
  /** How long the oldest of them has been connected. */
  connected_seconds: number;
  /** How long the poll that is due for longest has been due; null = none is known. */
  overdue_seconds: number | null;
};

/** One row per kind and state, of all workspaces that are served: a scan of all connections. */
export const syncMetrics = query<SyncMetricsRow>(
  "sync_metrics",
  `select s.kind, coalesce(s.status, 'new') as status, count(*) as connections,
                extract(epoch from clock_timestamp() - max(s.last_synced_at))::float8 as sync_age_seconds,
                extract(epoch from clock_timestamp() - min(s.created_at))::float8 as connected_seconds,
                extract(epoch from clock_timestamp() - min(coalesce(s.poll_at, s.created_at))
                          filter (where ${IS_CONNECTED}))::float8
                  as overdue_seconds
           from data_source s
           join workspace w on w.shop_key = s.shop_key
          where s.is_connection and not ${IS_STOPPED}
          group by s.kind, coalesce(s.status, 'new')`,
);

/** Runs of the last 24 hours of the connections of one kind. */
type RunMetricsRow = {
  kind: SourceKind;
  failed_runs: number;
  /** Lines whose units do not fit their sales ledger, as often as runs have read them. */
  unbalanced_lines: number;
};

const OF_A_DAY = "r.started_at > statement_timestamp() - interval '24 hours'";

/** One row per kind that had such runs, of all workspaces that are not to be erased: sync_run_troubled, sync_run_unbalanced. */
export const runMetrics = query<RunMetricsRow>(
  "run_metrics",
  `select s.kind, sum(r.failed) as failed_runs, sum(r.lines) as unbalanced_lines
           from (select r.shop_key, r.source, 1 as failed, 0::bigint as lines from sync_run r
                  where r.status in ('failed', 'interrupted') and r.status = 'failed' and ${OF_A_DAY}
                  union all
                 select r.shop_key, r.source, 0, (r.counts ->> 'unbalanced_lines')::bigint from sync_run r
                  where r.counts ? 'unbalanced_lines' and ${OF_A_DAY}) r
           join data_source s on s.shop_key = r.shop_key and s.source = r.source
           join workspace w on w.shop_key = r.shop_key
          where s.is_connection and not ${IS_STOPPED}
          group by s.kind`,
);

/** How long the poll of a source of the kind that is due for longest has been due, in seconds; 0 = none is due. */
export function overdueSeconds(rows: readonly SyncMetricsRow[], kind: SourceKind): number {
  const own = rows.filter((row) => row.kind === kind);
  return Math.max(0, ...own.map((row) => row.overdue_seconds ?? 0));
}

/**
 * How long ago a source of the kind was synced, in seconds: the newest sync, or where none ever succeeded the time since the
 * first was connected. Those that refused our credentials wait for a person and do not count; null = there are no others.
 */
export function syncAgeSeconds(rows: readonly SyncMetricsRow[], kind: SourceKind): number | null {
  const own = rows.filter((row) => row.kind === kind && row.status !== "disconnected");
  if (own.length === 0) return null;
  const ages = own.flatMap(({ sync_age_seconds: age }) => (age === null ? [] : [age]));
  return ages.length > 0 ? Math.min(...ages) : Math.max(...own.map((row) => row.connected_seconds));
}
