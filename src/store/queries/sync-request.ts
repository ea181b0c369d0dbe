import type { Queryable } from "../database.ts";
import { command, queryAny, queryRow, queryValue } from "../query.ts";
import { IS_CONNECTED } from "./data-source.ts";
import type { SourceKind } from "./data-source.ts";
import { wakeSource } from "./run-queue.ts";
import { IS_STOPPED } from "./workspace-directory.ts";

/**
 * Everything there is (backfill), what changed since the last run (incremental), orders whose returns are still under
 * way (open_returns), or the records that webhooks named (refresh). A label source treats all of them alike.
 */
export type SyncKind = "backfill" | "incremental" | "open_returns" | "refresh";
export type RequestedBy = "connect" | "schedule" | "webhook" | "operator";

/** A request whose turn it is. */
export type SyncRequestRow = {
  shop_key: number;
  source: string;
  kind: SyncKind;
  requested_by: RequestedBy;
  asked: number;
  attempt: number;
  failures: number;
};

/** What webhooks ask for waits a moment, so that a burst of them becomes one run. */
const delayOf = (requestedBy: string): string =>
  `case when ${requestedBy} = 'webhook' then interval '15 seconds' else interval '0' end`;

type RunRequest = { shopKey: number; source: string; kind: SyncKind; requestedBy: RequestedBy };

/** Stores a request, for the worker that polls the source next. */
export const askForRun = queryRow<{ requested_at: Date; run_after: Date }, [request: RunRequest]>(
  "ask_for_run",
  `insert into sync_request as r (shop_key, source, kind, requested_by, run_after)
         select s.shop_key, s.source, $3, $4::text, clock_timestamp() + ${delayOf("$4::text")}
           from data_source s where s.shop_key = $1 and s.source = $2 and s.is_connection
         on conflict (shop_key, source, kind) do update
            set asked = r.asked + 1, requested_at = excluded.requested_at, requested_by = excluded.requested_by,
                run_after = case when excluded.requested_by in ('connect', 'operator')
                                 then excluded.run_after else r.run_after end
         returning r.requested_at, r.run_after`,
  ({ shopKey, source, kind, requestedBy }) => [shopKey, source, kind, requestedBy],
);

/**
 * Asks for a run of a connection; a worker takes it up within about a second. Any process may ask, on a pool or inside
 * a transaction of its own. A burst collapses: beside the active run at most one of each kind waits, and what is asked
 * while a run is active gets another run after it. A person's request ends the wait after a failure. Returns the moment
 * it was asked, by the database's clock, null when there is no such connection.
 */
export async function requestRun(database: Queryable, request: RunRequest): Promise<Date | null> {
  const asked = await askForRun(database, request);
  if (asked === null) return null;
  await wakeSource(database, request.shopKey, request.source, asked.run_after);
  return asked.requested_at;
}

/**
 * A backfill runs first, and other kinds wait for it. After three failures in a row, the others run until its next
 * attempt, if the source was read before.
 */
const FIRST_OF_SOURCE = `(r.kind = 'backfill'
                   and not (r.failures >= 3 and r.run_after > clock_timestamp() and s.last_synced_at is not null)) desc,
                   r.run_after, r.kind`;
const WITH_SOURCE = "join data_source s on s.shop_key = r.shop_key and s.source = r.source";

/** A connection as a worker finds it when it looks. */
export type SourceStateRow = {
  kind: SourceKind;
  /** It has credentials, which were not refused. */
  is_connected: boolean;
  /** It was read before. */
  is_read: boolean;
  /** Its workspace is going to be erased, or moves: no run begins. */
  is_stopped: boolean;
  /** By the clock. */
  is_poll_due: boolean;
  is_reread_due: boolean;
  /** Kinds of runs that were requested. */
  waiting: SyncKind[];
  /** A run of it is active, or was abandoned. */
  is_open: boolean;
};

/** One connection; null = there is none. Primary keys, and sync_run_running. */
export const findSourceState = queryRow<SourceStateRow, [shopKey: number, source: string]>(
  "find_source_state",
  `select s.kind, ${IS_CONNECTED} as is_connected, s.last_synced_at is not null as is_read, ${IS_STOPPED} as is_stopped,
                s.poll_at is null or s.poll_at <= statement_timestamp() as is_poll_due,
                s.kind = 'store' and (s.reread_at is null or s.reread_at <= statement_timestamp()) as is_reread_due,
                array(select r.kind from sync_request r where r.shop_key = $1 and r.source = $2) as waiting,
                exists (select from sync_run n
                         where n.shop_key = $1 and n.source = $2 and n.status = 'running') as is_open
           from data_source s join workspace w on w.shop_key = s.shop_key
          where s.shop_key = $1 and s.source = $2 and s.is_connection`,
);

/** When a connection is due next, or was, by its requests and `byClock`; null = it is not. Primary keys. */
export const findNextPoll = queryValue<Date, [shopKey: number, source: string, byClock: boolean]>(
  "find_next_poll",
  `select least(case when $3 and ${IS_CONNECTED} then least(s.poll_at, s.reread_at) end,
                      (select r.run_after from sync_request r where r.shop_key = $1 and r.source = $2
                        order by ${FIRST_OF_SOURCE} limit 1)) as next_at
           from data_source s where s.shop_key = $1 and s.source = $2`,
);

/** What one connection has to do now; null when nothing is due, or a run of it is open. Primary key. */
export const findDueRequest = queryRow<SyncRequestRow, [shopKey: number, source: string]>(
  "find_due_request",
  `select first.shop_key, first.source, first.kind, first.requested_by, first.asked, first.attempt,
                first.failures
           from (select r.* from sync_request r ${WITH_SOURCE}
                  where r.shop_key = $1 and r.source = $2
                  order by ${FIRST_OF_SOURCE} limit 1) first
          where first.run_after <= clock_timestamp()
            and not exists (select from sync_run n
                             where n.shop_key = $1 and n.source = $2 and n.status = 'running')`,
);

/** A request that waits or runs; `error` is that of its source. */
type OpenRequestRow = {
  requested_at: Date;
  /** Of the next run. */
  attempt: number;
  failures: number;
  run_after: Date;
  is_due: boolean;
  error: string | null;
};

/** The request for one kind of run of a source; null when there is none. Primary keys. */
export const findRequest = queryRow<OpenRequestRow, [shopKey: number, source: string, kind: SyncKind]>(
  "find_request",
  `select r.requested_at, r.attempt, r.failures, r.run_after, r.run_after <= clock_timestamp() as is_due,
                s.last_error as error
           from sync_request r join data_source s on s.shop_key = r.shop_key and s.source = r.source
          where r.shop_key = $1 and r.source = $2 and r.kind = $3`,
);

/** The request has its run. What was asked since that run began stays, as a request of its own. */
export const answerRequest = command<
  [request: Pick<SyncRequestRow, "shop_key" | "source" | "kind" | "asked">]
>(
  "answer_request",
  `with answered as (
           delete from sync_request r
            where r.shop_key = $1 and r.source = $2 and r.kind = $3 and r.asked = $4
         )
         update sync_request r set attempt = 1, failures = 0,
                run_after = statement_timestamp() + ${delayOf("r.requested_by")}
          where r.shop_key = $1 and r.source = $2 and r.kind = $3 and r.asked <> $4`,
  (request) => [request.shop_key, request.source, request.kind, request.asked],
);

/** The run did not do it: the next one is due after `delayMs`. */
export const postponeRequest = command<
  [
    request: Pick<SyncRequestRow, "shop_key" | "source" | "kind">,
    next: { delayMs: number; isFailure: boolean },
  ]
>(
  "postpone_request",
  `update sync_request r
            set attempt = r.attempt + 1, failures = case when $5 then r.failures + 1 else r.failures end,
                run_after = statement_timestamp() + $4 * interval '1 millisecond'
          where r.shop_key = $1 and r.source = $2 and r.kind = $3`,
  (request, next) => [request.shop_key, request.source, request.kind, next.delayMs, next.isFailure],
);

/** Cancels the requests for a source, of one kind or all (null); returns whether there was any. */
export const dropRequests = queryAny<[shopKey: number, source: string, kind: SyncKind | null]>(
  "drop_requests",
  `delete from sync_request r
          where r.shop_key = $1 and r.source = $2 and ($3::text is null or r.kind = $3)
         returning 1 as dropped`,
);
