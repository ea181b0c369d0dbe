import type { Connection } from "../database.ts";
import { command, query, queryAny, queryRow } from "../query.ts";
import type { RequestedBy, SyncKind } from "./sync-request.ts";

export type RunStatus = "running" | "succeeded" | "failed" | "interrupted";

/** Opens the history of a run, by the database's clock. */
export const startRun = command<
  [
    run: {
      shopKey: number;
      runId: string;
      source: string;
      kind: SyncKind;
      requestedBy: RequestedBy;
      attempt: number;
    },
  ]
>(
  "start_run",
  `insert into sync_run (shop_key, run_id, source, kind, requested_by, attempt, started_at)
         values ($1, $2, $3, $4, $5, $6, clock_timestamp())`,
  ({ shopKey, runId, source, kind, requestedBy, attempt }) => [
    shopKey,
    runId,
    source,
    kind,
    requestedBy,
    attempt,
  ],
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
  ({ shopKey, source, limit }) => [shopKey, source, limit],
);

/** `total` null = unknown. */
export const updateRunProgress = command<
  [shopKey: number, runId: string, progress: { stage: string; done: number; total: number | null }]
>(
  "update_run_progress",
  `update sync_run set stage = $3, done = $4, total = $5
          where shop_key = $1 and run_id = $2 and status = 'running'`,
  (shopKey, runId, { stage, done, total }) => [shopKey, runId, stage, done, total],
);

/** Closes a run that is still open; false when somebody else has closed it. */
export const finishRun = queryAny<
  [
    shopKey: number,
    runId: string,
    end: {
      status: Exclude<RunStatus, "running">;
      counts: Record<string, number>;
      notes: readonly string[];
      error: string | null;
      isQuiet: boolean;
    },
  ]
>(
  "finish_run",
  `update sync_run
            set status = $3, counts = $4, notes = $5, error = $6, is_quiet = $7, finished_at = statement_timestamp()
          where shop_key = $1 and run_id = $2 and status = 'running'
          returning 1 as finished`,
  (shopKey, runId, { status, counts, notes, error, isQuiet }) => [
    shopKey,
    runId,
    status,
    JSON.stringify(counts),
    notes,
    error,
    isQuiet,
  ],
);

/** When a run began that a later one took the place of. */
type QuietRunRow = { source: string; kind: SyncKind; started_at: Date };

const removeEarlierQuietRuns = query<QuietRunRow, [shopKey: number, runId: string]>(
  "remove_earlier_quiet_runs",
  `delete from sync_run r using sync_run n
          where r.shop_key = $1 and n.shop_key = $1 and n.run_id = $2 and r.source = n.source and r.kind = n.kind
            and r.is_quiet and r.run_id <> n.run_id and r.started_at <= n.started_at and r.notes = n.notes
         returning r.source, r.kind, r.started_at`,
);

const countQuietRun = command<[shopKey: number, run: QuietRunRow]>(
  "count_quiet_run",
  `insert into quiet_runs as q (shop_key, source, kind, day, runs, first_at, last_at)
         values ($1, $2, $3, ($4::timestamptz at time zone 'UTC')::date, 1, $4, $4)
         on conflict (shop_key, source, kind, day) do update
            set runs = q.runs + 1, first_at = least(q.first_at, excluded.first_at), last_at = greatest(q.last_at, excluded.last_at)`,
  (shopKey, { source, kind, started_at: startedAt }) => [shopKey, source, kind, startedAt],
);

/**
 * Counts the runs that said the same as this one, which changed nothing, and removes their rows: the newest has one. Belongs
 * into the transaction that ends the run. sync_run_quiet.
 */
export async function countQuietRuns(connection: Connection, shopKey: number, runId: string): Promise<void> {
  for (const run of await removeEarlierQuietRuns(connection, shopKey, runId)) {
    await countQuietRun(connection, shopKey, run);
  }
}

/** After a run that succeeded without anything to publish, the source is neither syncing nor failed. */
export const settleSource = command<[shopKey: number, source: string]>(
  "settle_source",
  `update data_source s set status = 'ok', last_error = null
          where s.shop_key = $1 and s.source = $2 and s.is_connection and s.status in ('syncing', 'failed')`,
);

/** Closes the run that a source's former worker left open, and makes it due again, as the next attempt. sync_run_running. */
export const closeAbandonedRun = command<[shopKey: number, source: string]>(
  "close_abandoned_run",
  `with closed as (
           update sync_run r
              set status = 'interrupted', finished_at = statement_timestamp(),
                  error = 'The process that ran it ended, or lost its connection to the database.'
            where r.shop_key = $1 and r.source = $2 and r.status = 'running' returning r.kind
         )
         update sync_request q set attempt = q.attempt + 1, run_after = statement_timestamp()
           from closed where q.shop_key = $1 and q.source = $2 and q.kind = closed.kind`,
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
  /** What the page after this row follows on. */
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

/** A later run says all that is still so: any of a label source, which looks at all its labels, and a store's backfill. */
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
 * A page of the history of one source, the newest runs first; `before` = the id of the run that the page follows on, null =
 * the first page. Notes that a later run has rechecked are left out. sync_run_by_start.
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
  (filter) => [filter.shopKey, filter.source, filter.before, filter.limit],
);

/** The newest run of a kind that began at or after a moment of the database's clock. sync_run_by_start. */
export const findRunSince = queryRow<RunRow, [shopKey: number, source: string, kind: SyncKind, since: Date]>(
  "find_run_since",
  `select ${runColumns("r.notes")}
           from sync_run r join workspace w on w.shop_key = r.shop_key
          where r.shop_key = $1 and r.source = $2 and r.kind = $3 and r.started_at >= $4
          order by r.started_at desc limit 1`,
);
