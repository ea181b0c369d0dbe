import type { Queryable } from "../../store/database.ts";
import { query, queryRow } from "../../store/query.ts";
import type { RequestedBy, SyncKind } from "../../store/queries/sync-request.ts";
import type { RunStatus } from "../../store/queries/sync-run.ts";
import { type SourceKind, type ConnectionRow, COLUMNS } from "../../store/queries/data-source.ts";

/** Domain and source of the last row of the page before. */
type ConnectionCursor = readonly [shopDomain: string, source: string];

/** A page of connections by domain, or those of one workspace: workspace_by_domain, primary keys. */
export const listConnections = query<
  ConnectionRow,
  [page: { shopKey: number | null; after: ConnectionCursor | null; limit: number }]
>(
  "list_connections",
  `select ${COLUMNS}
           from workspace w join data_source s on s.shop_key = w.shop_key
          where s.is_connection and ($1::bigint is null or w.shop_key = $1)
            and w.shop_domain >= $2 and (w.shop_domain, s.source) > ($2, $3)
          order by w.shop_domain, s.source limit $4`,
  ({ shopKey, after, limit }) => [shopKey, ...(after ?? ["", ""]), limit],
);

/** All connections of one workspace, which are few. */
export function listWorkspaceConnections(database: Queryable, shopKey: number): Promise<ConnectionRow[]> {
  return listConnections(database, { shopKey, after: null, limit: 100 });
}

/** A source of a workspace as its members see it: no secret is read. */
export type WorkspaceSourceRow = {
  source: string;
  kind: SourceKind;
  /** false = it is imported by hand. */
  is_connection: boolean;
  has_credentials: boolean;
  status: "ok" | "syncing" | "failed" | "disconnected" | null;
  currency_code: string | null;
  last_synced_at: Date | null;
  last_error: string | null;
  settings: Record<string, unknown>;
  last_run: {
    kind: SyncKind;
    status: RunStatus;
    attempt: number;
    started_at: string;
    finished_at: string | null;
    stage: string | null;
    done: number;
    total: number | null;
    counts: Record<string, number>;
    notes: string[];
    error: string | null;
  } | null;
  /** Requests that have not succeeded yet, the next first. */
  waiting: {
    kind: SyncKind;
    requested_by: RequestedBy;
    failures: number;
    run_after: string;
    is_due: boolean;
  }[];
};

/** One row per source of a workspace, with its last run and what waits: primary keys, and sync_run_by_start. */
export const listWorkspaceSources = query<WorkspaceSourceRow, [shopKey: number]>(
  "list_workspace_sources",
  `select s.source, s.kind, s.is_connection, s.sealed_credentials is not null as has_credentials, s.status,
                s.currency_code, s.last_synced_at, s.last_error, s.settings,
                (select json_build_object('kind', r.kind, 'status', r.status, 'attempt', r.attempt,
                          'started_at', r.started_at, 'finished_at', r.finished_at, 'stage', r.stage, 'done', r.done,
                          'total', r.total, 'counts', r.counts, 'notes', r.notes, 'error', r.error)
                   from sync_run r where r.shop_key = $1 and r.source = s.source
                  order by r.started_at desc limit 1) as last_run,
                (select coalesce(json_agg(json_build_object('kind', q.kind, 'requested_by', q.requested_by,
                          'failures', q.failures, 'run_after', q.run_after,
                          'is_due', q.run_after <= clock_timestamp()) order by q.run_after, q.kind), '[]')
                   from sync_request q where q.shop_key = $1 and q.source = s.source) as waiting
           from data_source s where s.shop_key = $1
          order by s.source`,
);

/** Runs of a source and kind on one day that changed nothing, but for the newest one, which is a run of the history. */
export type QuietDayRow = {
  day: string;
  source: string;
  kind: SyncKind;
  runs: number;
  first_at: Date;
  last_at: Date;
};

/** The newest days of a workspace first; `source` null = of all sources. Primary key. */
export const listQuietRuns = query<
  QuietDayRow,
  [filter: { shopKey: number; source: string | null; limit: number }]
>(
  "list_quiet_runs",
  `select q.day::text as day, q.source, q.kind, q.runs, q.first_at, q.last_at from quiet_runs q
          where q.shop_key = $1 and ($2::text is null or q.source = $2)
          order by q.day desc, q.source, q.kind limit $3`,
  ["shopKey", "source", "limit"],
);

/** One line of the history. */
export type RunRow = {
  run_id: string;
  shop_domain: string;
  source: string;
  kind: SyncKind;
  requested_by: RequestedBy;
  status: RunStatus;
  attempt: number;
  started_at: Date;
  finished_at: Date | null;
  /** To its end, or to now. */
  duration_seconds: number;
  stage: string | null;
  done: number;
  total: number | null;
  counts: Record<string, number>;
  notes: string[];
  error: string | null;
  /** The cursor of the next page. */
  cursor: string;
};

const runColumns = (
  notes: string,
): string => `r.run_id, w.shop_domain, r.source, r.kind, r.requested_by, r.status, r.attempt, r.started_at,
                r.finished_at,
                round(extract(epoch from coalesce(r.finished_at, clock_timestamp()) - r.started_at), 1)::float8
                  as duration_seconds,
                r.stage, r.done, r.total, r.counts, ${notes} as notes, r.error,
                to_char(r.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '~' || r.run_id as cursor`;

/** A later run repeats all notes that still apply: for label sources every run, which reads all labels; for stores a backfill. */
const notesStillTrue = (shopKey: string): string => `case when exists (
                  select from sync_run n join data_source s on s.shop_key = n.shop_key and s.source = n.source
                   where n.shop_key = ${shopKey} and n.source = r.source and n.status = 'succeeded'
                     and n.started_at > r.started_at and (n.kind = 'backfill' or s.kind = 'label_cost')
                ) then '{}' else r.notes end`;

const GREATEST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

type RunFilter = {
  /** null = of all workspaces. */
  shopKey: number | null;
  /** null = of all sources. */
  source: string | null;
  /** null = any. */
  status?: RunStatus | null;
  /** The cursor of the row that the page follows on; null = the first page. */
  after?: string | null;
  limit: number;
};

/**
 * A page of runs, the newest first. Notes that a later run has rechecked are left out. sync_run_by_start, of all
 * workspaces sync_run_by_time.
 */
export const listRuns = query<RunRow, [filter: RunFilter]>(
  "list_runs",
  `select ${runColumns(notesStillTrue("r.shop_key"))}
           from sync_run r join workspace w on w.shop_key = r.shop_key
          where ($1::bigint is null or r.shop_key = $1) and ($2::text is null or r.source = $2)
            and ($3::text is null or r.status = $3) and (r.started_at, r.run_id) < ($4::timestamptz, $5::uuid)
          order by r.started_at desc, r.run_id desc limit $6`,
  ({ shopKey, source, status = null, after = null, limit }) => {
    const [at = "infinity", id = GREATEST_ID] = after?.split("~") ?? [];
    return [shopKey, source, status, at, id, limit];
  },
);

/**
 * A page of a source's history, newest runs first; `before`: the id of the previous run, null: the first page. Notes that a later
 * run has rechecked are omitted. sync_run_by_start.
 */
export const listSourceRuns = query<
  RunRow,
  [filter: { shopKey: number; source: string; before: string | null; limit: number }]
>(
  "list_source_runs",
  `select ${runColumns(notesStillTrue("$1"))}
           from sync_run r join workspace w on w.shop_key = r.shop_key
          where r.shop_key = $1 and r.source = $2
            and ($3::uuid is null or (r.started_at, r.run_id) < (select b.started_at, b.run_id from sync_run b
                                                                  where b.shop_key = $1 and b.run_id = $3::uuid))
          order by r.started_at desc, r.run_id desc limit $4`,
  ["shopKey", "source", "before", "limit"],
);

/** The newest run of a kind that began at or after a moment of the database's clock. sync_run_by_start. */
export const findRunSince = queryRow<RunRow, [shopKey: number, source: string, kind: SyncKind, since: Date]>(
  "find_run_since",
  `select ${runColumns("r.notes")}
           from sync_run r join workspace w on w.shop_key = r.shop_key
          where r.shop_key = $1 and r.source = $2 and r.kind = $3 and r.started_at >= $4
          order by r.started_at desc limit 1`,
);
