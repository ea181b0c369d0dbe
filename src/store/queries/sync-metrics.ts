import { query } from "../query.ts";
import type { SourceKind } from "./data-source.ts";

/** The connections of one kind. `age_seconds`: how long ago the newest sync was, null = there was none. */
export type SyncMetricsRow = {
  kind: SourceKind;
  age_seconds: number | null;
  /** Requests whose time has come. */
  due_runs: number;
  /** Within 24 hours. */
  failed_runs: number;
};

/** One row per kind of connection: a scan of all connections; sync_run_by_start. */
export const syncMetrics = query<SyncMetricsRow>(
  "sync_metrics",
  `select s.kind, extract(epoch from clock_timestamp() - max(s.last_synced_at))::float8 as age_seconds,
                sum(due.runs) as due_runs, sum(failed.runs) as failed_runs
           from data_source s
          cross join lateral (
            select count(*) as runs from sync_request q
             where q.shop_key = s.shop_key and q.source = s.source and q.run_after <= clock_timestamp()) due
          cross join lateral (
            select count(*) as runs from sync_run r
             where r.shop_key = s.shop_key and r.source = s.source and r.status = 'failed'
               and r.started_at > statement_timestamp() - interval '24 hours') failed
          where s.is_connection
          group by s.kind`,
);
