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

/** A run that a later one replaces, and when it began. */
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
 * Counts the earlier runs that, like this one, changed nothing, and removes their rows: only the newest has one. Call it in
 * the transaction that ends the run. sync_run_quiet.
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

const ABANDONED = "The process that ran it ended, or lost its connection to the database";
/** From this many in a row on, the run has failed. */
const MANY_ABANDONED = 3;
const OF_SOURCE = "r.shop_key = $1 and r.source = $2";
const WAS_ABANDONED = `coalesce(r.error, '') like '${ABANDONED}%'`;

/**
 * Closes the run that a source's former worker left open. `failure`: why it has failed, when several in a row were left; null = it was
 * interrupted. `failures`: of its request, null = it has none any more. sync_run_running, sync_run_by_start.
 */
export const closeAbandonedRun = queryRow<
  { kind: SyncKind; failure: string | null; failures: number | null },
  [shopKey: number, source: string],
  Connection
>(
  "close_abandoned_run",
  `with open as (select r.run_id, r.kind from sync_run r where ${OF_SOURCE} and r.status = 'running'),
        ended as (select r.started_at, ${WAS_ABANDONED} as was_abandoned from sync_run r join open o on o.kind = r.kind
                   where ${OF_SOURCE} and r.status <> 'running'),
        before as (select count(*) as runs from ended e
                    where e.started_at > coalesce((select max(l.started_at) from ended l where not l.was_abandoned), '-infinity')),
        closed as (
          update sync_run r
             set status = case when b.runs + 1 < ${MANY_ABANDONED} then 'interrupted' else 'failed' end,
                 error = case when b.runs + 1 < ${MANY_ABANDONED} then '${ABANDONED}.'
                         else '${ABANDONED}, ' || b.runs + 1 || ' times in a row: it may need more memory than there is.' end,
                 finished_at = statement_timestamp()
            from open o, before b where ${OF_SOURCE} and r.run_id = o.run_id and r.status = 'running'
          returning r.kind, r.status, r.error)
         select c.kind, case when c.status = 'failed' then c.error end as failure,
                (select q.failures from sync_request q where q.shop_key = $1 and q.source = $2 and q.kind = c.kind) as failures
           from closed c`,
);
