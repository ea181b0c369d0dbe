import type { Queryable } from "../database.ts";
import { command, queryAny, queryRow, requireRow } from "../query.ts";
import { IS_CONNECTED, type SourceKind } from "./data-source.ts";
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

/** Webhook requests wait a moment, so that a burst becomes one run. */
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
 * Requests a run of a connection; a worker starts it within about a second of its due time. At most one request of each kind waits,
 * and one during a run causes another run afterwards. A person's request ends the wait after a failure. Returns the time of the
 * request by the database's clock; null if there is no such connection.
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

/** A connection as a worker finds it when it polls. */
export type SourceStateRow = {
  kind: SourceKind;
  /** null = it was never read. */
  last_synced_at: Date | null;
  /** Its workspace is going to be erased, or moves: no run begins. */
  is_stopped: boolean;
  /** A run of it is active, or was abandoned. */
  is_open: boolean;
  /** When the next of its requests is due, or was; null = none waits. */
  request_at: Date | null;
  /** When its scheduled poll, or reading orders with open returns again, is due; null = requested already, or it waits for a person. */
  poll_at: Date | null;
  reread_at: Date | null;
  now: Date;
};

/** When a scheduled poll of the connection `s` of `w` is due: a condition, the kind of run and the column, as SQL. */
const byClock = (isOwn: string, kind: string, column: string): string =>
  `case when ${IS_CONNECTED} and not ${IS_STOPPED} and ${isOwn}
                       and not exists (select from sync_request r where r.shop_key = $1 and r.source = $2 and r.kind = ${kind})
                     then coalesce(s.${column}, statement_timestamp()) end as ${column}`;

/** One connection; null = there is none. Primary keys, and sync_run_running. */
export const findSourceState = queryRow<SourceStateRow, [shopKey: number, source: string]>(
  "find_source_state",
  `select s.kind, s.last_synced_at, ${IS_STOPPED} as is_stopped, statement_timestamp() as now,
                exists (select from sync_run n
                         where n.shop_key = $1 and n.source = $2 and n.status = 'running') as is_open,
                (select r.run_after from sync_request r where r.shop_key = $1 and r.source = $2
                  order by ${FIRST_OF_SOURCE} limit 1) as request_at,
                ${byClock("true", "case when s.last_synced_at is null then 'backfill' else 'incremental' end", "poll_at")},
                ${byClock("s.kind = 'store' and s.last_synced_at is not null", "'open_returns'", "reread_at")}
           from data_source s join workspace w on w.shop_key = s.shop_key
          where s.shop_key = $1 and s.source = $2 and s.is_connection`,
);

/**
 * A store's activity, which determines the polling interval: its orders since a day, and whether a webhook arrived since a time.
 */
export type ActivityRow = { orders: number; has_delivery: boolean };

/** One row; `since` null = no moment. Primary key of group_day, webhook_delivery_by_time. */
export const findActivity = requireRow<
  ActivityRow,
  [shopKey: number, source: string, fromDay: string, since: Date | null]
>(
  "find_activity",
  `select coalesce((select sum(d.orders) from group_day d
                           where d.shop_key = $1 and d.sold_on >= $3 and d.entity_kind = 'workspace' and d.entity_key = ''), 0)
                  as orders,
                exists (select from webhook_delivery v
                         where v.shop_key = $1 and v.source = $2 and v.received_at > $4::timestamptz) as has_delivery
           from workspace w where w.shop_key = $1`,
);

/** A connection's next due request; null: none is due, or a run of it is open. Primary key. */
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

/** A waiting or active request; `error` is that of its source. */
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

/** Ends a request after its run. Requests made since that run began remain, as a separate request. */
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

/** Keeps a request that its run did not fulfil: the next run is due after `delayMs`. */
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

/** Cancels the requests for a source, of one kind or all (null); returns whether there were any. */
export const dropRequests = queryAny<[shopKey: number, source: string, kind: SyncKind | null]>(
  "drop_requests",
  `delete from sync_request r
          where r.shop_key = $1 and r.source = $2 and ($3::text is null or r.kind = $3)
         returning 1 as dropped`,
);
