import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";
import type { SourceKind } from "./data-source.ts";

const SYNC_AGE_BY_KIND = defineStatement({
  name: "sync_age_by_kind",
  text: `select s.kind, extract(epoch from clock_timestamp() - max(s.last_synced_at))::float8 as age_seconds
           from data_source s where s.is_connection and s.last_synced_at is not null
          group by s.kind`,
});

/** One row per kind of connection that was ever synced: how long ago the newest sync was. A scan of all connections. */
export async function syncAgeByKind(
  database: Queryable,
): Promise<{ kind: SourceKind; age_seconds: number }[]> {
  return database.rows(SYNC_AGE_BY_KIND, []);
}

const DUE_RUNS_BY_KIND = defineStatement({
  name: "due_runs_by_kind",
  text: `select s.kind, count(q.kind) filter (where q.run_after <= clock_timestamp()) as runs
           from data_source s
           left join sync_request q on q.shop_key = s.shop_key and q.source = s.source
          where s.is_connection
          group by s.kind`,
});

/** One row per kind of connection: requests whose time has come. A scan of all connections. */
export async function dueRunsByKind(database: Queryable): Promise<{ kind: SourceKind; runs: number }[]> {
  return database.rows(DUE_RUNS_BY_KIND, []);
}

const FAILED_RUNS_BY_KIND = defineStatement({
  name: "failed_runs_by_kind",
  text: `select s.kind, count(r.run_id) as runs
           from data_source s
           left join sync_run r on r.shop_key = s.shop_key and r.source = s.source
            and r.status = 'failed' and r.started_at > statement_timestamp() - interval '24 hours'
          where s.is_connection
          group by s.kind`,
});

/** One row per kind of connection: runs that failed within 24 hours. sync_run_by_start. */
export async function failedRunsByKind(database: Queryable): Promise<{ kind: SourceKind; runs: number }[]> {
  return database.rows(FAILED_RUNS_BY_KIND, []);
}
