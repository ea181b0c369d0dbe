import { query } from "../query.ts";
import type { SourceKind } from "./data-source.ts";

/** One row per kind of connection that was ever synced: how long ago the newest sync was. A scan of all connections. */
export const syncAgeByKind = query<{ kind: SourceKind; age_seconds: number }>(
  "sync_age_by_kind",
  `select s.kind, extract(epoch from clock_timestamp() - max(s.last_synced_at))::float8 as age_seconds
           from data_source s where s.is_connection and s.last_synced_at is not null
          group by s.kind`,
);

/** One row per kind of connection: requests whose time has come. A scan of all connections. */
export const dueRunsByKind = query<{ kind: SourceKind; runs: number }>(
  "due_runs_by_kind",
  `select s.kind, count(q.kind) filter (where q.run_after <= clock_timestamp()) as runs
           from data_source s
           left join sync_request q on q.shop_key = s.shop_key and q.source = s.source
          where s.is_connection
          group by s.kind`,
);

/** One row per kind of connection: runs that failed within 24 hours. sync_run_by_start. */
export const failedRunsByKind = query<{ kind: SourceKind; runs: number }>(
  "failed_runs_by_kind",
  `select s.kind, count(r.run_id) as runs
           from data_source s
           left join sync_run r on r.shop_key = s.shop_key and r.source = s.source
            and r.status = 'failed' and r.started_at > statement_timestamp() - interval '24 hours'
          where s.is_connection
          group by s.kind`,
);
