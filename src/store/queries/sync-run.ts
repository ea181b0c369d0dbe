import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";
import type { RequestedBy, SyncKindName } from "./sync-request.ts";

export type RunStatus = "running" | "succeeded" | "failed" | "interrupted";

const START_RUN = defineStatement({
  name: "start_run",
  text: `insert into sync_run (shop_key, run_id, source, kind, requested_by, attempt, started_at)
         values ($1, $2, $3, $4, $5, $6, clock_timestamp())`,
});

/** Opens the history of a run, by the database's clock. */
export async function startRun(
  database: Queryable,
  run: {
    shopKey: number;
    runId: string;
    source: string;
    kind: SyncKindName;
    requestedBy: RequestedBy;
    attempt: number;
  },
): Promise<void> {
  const { shopKey, runId, source, kind, requestedBy, attempt } = run;
  await database.rows(START_RUN, [shopKey, runId, source, kind, requestedBy, attempt]);
}

const UPDATE_PROGRESS = defineStatement({
  name: "update_run_progress",
  text: `update sync_run set stage = $3, done = $4, total = $5
          where shop_key = $1 and run_id = $2 and status = 'running'`,
});

/** `total` null = unknown. */
export async function updateRunProgress(
  database: Queryable,
  shopKey: number,
  runId: string,
  progress: { stage: string; done: number; total: number | null },
): Promise<void> {
  const { stage, done, total } = progress;
  await database.rows(UPDATE_PROGRESS, [shopKey, runId, stage, done, total]);
}

const FINISH_RUN = defineStatement({
  name: "finish_run",
  text: `update sync_run
            set status = $3, counts = $4, notes = $5, error = $6, finished_at = statement_timestamp()
          where shop_key = $1 and run_id = $2 and status = 'running'
          returning 1 as finished`,
});

/** Closes a run that is still open; false when somebody else has closed it. */
export async function finishRun(
  database: Queryable,
  shopKey: number,
  runId: string,
  end: {
    status: Exclude<RunStatus, "running">;
    counts: Record<string, number>;
    notes: readonly string[];
    error: string | null;
  },
): Promise<boolean> {
  const { status, counts, notes, error } = end;
  const rows = await database.rows(FINISH_RUN, [
    shopKey,
    runId,
    status,
    JSON.stringify(counts),
    notes,
    error,
  ]);
  return rows.length > 0;
}

const SETTLE_SOURCE = defineStatement({
  name: "settle_source",
  text: `update data_source s set status = 'ok', last_error = null
          where s.shop_key = $1 and s.source = $2 and s.is_connection and s.status in ('syncing', 'failed')`,
});

/** After a run that succeeded without anything to publish, the source is neither syncing nor failed. */
export async function settleSource(database: Queryable, shopKey: number, source: string): Promise<void> {
  await database.rows(SETTLE_SOURCE, [shopKey, source]);
}

const CLOSE_ABANDONED_RUN = defineStatement({
  name: "close_abandoned_run",
  text: `with closed as (
           update sync_run r
              set status = 'interrupted', finished_at = statement_timestamp(),
                  error = 'The process that ran it ended, or lost its connection to the database.'
            where r.shop_key = $1 and r.source = $2 and r.status = 'running' returning r.kind
         )
         update sync_request q set attempt = q.attempt + 1, run_after = statement_timestamp()
           from closed where q.shop_key = $1 and q.source = $2 and q.kind = closed.kind`,
});

/** Closes the run that a source's former worker left open, and makes it due again, as the next attempt. sync_run_running. */
export async function closeAbandonedRun(database: Queryable, shopKey: number, source: string): Promise<void> {
  await database.rows(CLOSE_ABANDONED_RUN, [shopKey, source]);
}

/** One line of the history. */
export type RunRow = {
  run_id: string;
  shop_domain: string;
  source: string;
  kind: SyncKindName;
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
};

const runColumns = (
  notes: string,
): string => `r.run_id, w.shop_domain, r.source, r.kind, r.requested_by, r.status, r.attempt, r.started_at,
                r.finished_at,
                round(extract(epoch from coalesce(r.finished_at, clock_timestamp()) - r.started_at), 1)::float8
                  as duration_seconds,
                r.stage, r.done, r.total, r.counts, ${notes} as notes, r.error`;

/** A later run says all that is still so: any of a label source, which looks at all its labels, and a store's backfill. */
const NOTES_STILL_TRUE = `case when exists (
                  select from sync_run n join data_source s on s.shop_key = n.shop_key and s.source = n.source
                   where n.shop_key = r.shop_key and n.source = r.source and n.status = 'succeeded'
                     and n.started_at > r.started_at and (n.kind = 'backfill' or s.kind = 'label_cost')
                ) then '{}' else r.notes end`;

const LIST_RUNS = defineStatement({
  name: "list_runs",
  text: `select ${runColumns(NOTES_STILL_TRUE)}
           from sync_run r join workspace w on w.shop_key = r.shop_key
          where ($1::bigint is null or r.shop_key = $1) and ($2::text is null or r.source = $2)
          order by r.started_at desc, r.run_id desc limit $3`,
});

/**
 * The newest runs first; `shopKey` null = of all workspaces, `source` null = of all sources. Notes that a later run
 * has rechecked are left out. sync_run_by_start.
 */
export async function listRuns(
  database: Queryable,
  filter: { shopKey: number | null; source: string | null; limit: number },
): Promise<RunRow[]> {
  return database.rows(LIST_RUNS, [filter.shopKey, filter.source, filter.limit]);
}

const FIND_RUN_SINCE = defineStatement({
  name: "find_run_since",
  text: `select ${runColumns("r.notes")}
           from sync_run r join workspace w on w.shop_key = r.shop_key
          where r.shop_key = $1 and r.source = $2 and r.kind = $3 and r.started_at >= $4
          order by r.started_at desc limit 1`,
});

/** The newest run of a kind that began at or after a moment of the database's clock. sync_run_by_start. */
export async function findRunSince(
  database: Queryable,
  shopKey: number,
  source: string,
  kind: SyncKindName,
  since: Date,
): Promise<RunRow | null> {
  const [row] = await database.rows<RunRow>(FIND_RUN_SINCE, [shopKey, source, kind, since]);
  return row ?? null;
}
