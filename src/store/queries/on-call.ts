import { query, queryValue, requireValue } from "../query.ts";
import type { SourceKind } from "./data-source.ts";
import type { TaskName } from "./schedule.ts";
import { claimKey } from "./worker-health.ts";

/** Whether the database answers at all, whatever its schema is. */
export const answers = requireValue<boolean>("database_answers", "select true as answers");

/** What is due in the queue and that no worker has claimed. */
export type DueRunsRow = {
  kind: SourceKind | "upload";
  due_runs: number;
  /** How long the oldest of them has been due; null = its moment is not known, as of uploads. */
  age_seconds: number | null;
};

/**
 * One row per kind that has something due: run_queue_by_time. A row stays due while a worker reads its source, so that those
 * with a claim, a lock of a worker's session, are left out; only the server that workers connect to knows these locks.
 */
export const listDueRuns = query<DueRunsRow>(
  "list_due_runs",
  `select q.kind, count(*) as due_runs,
                extract(epoch from statement_timestamp() - min(q.due_at) filter (where isfinite(q.due_at)))::float8 as age_seconds
           from run_queue q
          where q.due_at <= statement_timestamp() and q.kind <> 'push'
            and ${claimKey("q.shop_key", "q.source")} not in (
                select (l.classid::bigint << 32) | l.objid::bigint from pg_locks l
                 where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
                   and l.database = (select d.oid from pg_database d where d.datname = current_database()))
          group by q.kind`,
);

/** A task of the schedule, and how long ago it should have been done; 0 = it is not late. */
export type TaskDelayRow = { task: TaskName; late_seconds: number };

/** One row per task; `schedule` is a handful of rows. */
export const listTaskDelays = query<TaskDelayRow>(
  "list_task_delays",
  `select s.task, greatest(0, extract(epoch from statement_timestamp() - s.done_until - s.period))::float8 as late_seconds
           from schedule s where isfinite(s.done_until) order by s.task`,
);

/** How long ago the newest backup that ended was begun, in seconds; null = none was ever made. */
export const findBackupAge = queryValue<number>(
  "find_backup_age",
  "select extract(epoch from statement_timestamp() - i.backed_up_at)::float8 as age_seconds from installation i",
);
