import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";

export type SyncKindName = "backfill" | "incremental" | "open_returns" | "refresh";
export type RequestedBy = "connect" | "schedule" | "webhook" | "operator";

/** A request whose turn it is. */
export type SyncRequestRow = {
  shop_key: number;
  source: string;
  kind: SyncKindName;
  requested_by: RequestedBy;
  asked: number;
  attempt: number;
  failures: number;
};

/** What webhooks ask for waits a moment, so that a burst of them becomes one run. */
const delayOf = (requestedBy: string): string =>
  `case when ${requestedBy} = 'webhook' then interval '15 seconds' else interval '0' end`;

const ASK_FOR_RUN = defineStatement({
  name: "ask_for_run",
  text: `insert into sync_request as r (shop_key, source, kind, requested_by, run_after)
         select s.shop_key, s.source, $3, $4::text, clock_timestamp() + ${delayOf("$4::text")}
           from data_source s where s.shop_key = $1 and s.source = $2 and s.is_connection
         on conflict (shop_key, source, kind) do update
            set asked = r.asked + 1, requested_at = excluded.requested_at, requested_by = excluded.requested_by,
                run_after = case when excluded.requested_by in ('connect', 'operator')
                                 then excluded.run_after else r.run_after end
         returning r.requested_at`,
});

/**
 * Asks for a run; several requests for one kind are one. The moment it was asked, by the database's clock, or null when
 * the workspace has no such connection. A person's request ends the wait after a failure.
 */
export async function askForRun(
  database: Queryable,
  shopKey: number,
  source: string,
  kind: SyncKindName,
  requestedBy: RequestedBy,
): Promise<Date | null> {
  const [row] = await database.rows<{ requested_at: Date }>(ASK_FOR_RUN, [
    shopKey,
    source,
    kind,
    requestedBy,
  ]);
  return row?.requested_at ?? null;
}

/**
 * A backfill runs first, and other kinds wait for it. After three failures in a row, the others run until its next
 * attempt, if the source was read before.
 */
const FIRST_OF_SOURCE = `(r.kind = 'backfill'
                   and not (r.failures >= 3 and r.run_after > clock_timestamp() and s.last_synced_at is not null)) desc,
                   r.run_after, r.kind`;
const WITH_SOURCE = "left join data_source s on s.shop_key = r.shop_key and s.source = r.source";

const LIST_DUE_SOURCES = defineStatement({
  name: "list_due_sources",
  text: `select first.shop_key, first.source
           from (select distinct on (r.shop_key, r.source) r.shop_key, r.source, r.run_after
                   from sync_request r ${WITH_SOURCE}
                  order by r.shop_key, r.source, ${FIRST_OF_SOURCE}) first
          where first.run_after <= clock_timestamp()
            and not exists (select from sync_run n
                             where n.shop_key = first.shop_key and n.source = first.source
                               and n.status = 'running')
          order by first.run_after`,
});

/** Connections that have something to do now and of which nothing runs: a scan of the open requests of all shops. */
export async function listDueSources(database: Queryable): Promise<{ shop_key: number; source: string }[]> {
  return database.rows(LIST_DUE_SOURCES, []);
}

const FIND_DUE_REQUEST = defineStatement({
  name: "find_due_request",
  text: `select first.shop_key, first.source, first.kind, first.requested_by, first.asked, first.attempt,
                first.failures
           from (select r.* from sync_request r ${WITH_SOURCE}
                  where r.shop_key = $1 and r.source = $2
                  order by ${FIRST_OF_SOURCE} limit 1) first
          where first.run_after <= clock_timestamp()`,
});

/** What one connection has to do now; null when nothing is due. Primary key. */
export async function findDueRequest(
  database: Queryable,
  shopKey: number,
  source: string,
): Promise<SyncRequestRow | null> {
  const [row] = await database.rows<SyncRequestRow>(FIND_DUE_REQUEST, [shopKey, source]);
  return row ?? null;
}

const FIND_OPEN_BACKFILL = defineStatement({
  name: "find_open_backfill",
  text: `select r.requested_at from sync_request r
          where r.shop_key = $1 and r.source = $2 and r.kind = 'backfill' and r.failures = 0`,
});

/** When a backfill was asked for that waits or runs, and has not failed; null = there is none. Primary key. */
export async function findOpenBackfill(
  database: Queryable,
  shopKey: number,
  source: string,
): Promise<Date | null> {
  const [row] = await database.rows<{ requested_at: Date }>(FIND_OPEN_BACKFILL, [shopKey, source]);
  return row?.requested_at ?? null;
}

/** A request that waits for its next try; `try` is the one that failed. */
export type RetryRow = { try: number; run_after: Date; error: string | null };

const FIND_RETRY = defineStatement({
  name: "find_retry",
  text: `select r.attempt - 1 as try, r.run_after, s.last_error as error
           from sync_request r join data_source s on s.shop_key = r.shop_key and s.source = r.source
          where r.shop_key = $1 and r.source = $2 and r.kind = $3
            and r.failures > 0 and r.run_after > clock_timestamp()`,
});

/** The next try of a request whose last one failed; null when none waits. Primary keys. */
export async function findRetry(
  database: Queryable,
  shopKey: number,
  source: string,
  kind: SyncKindName,
): Promise<RetryRow | null> {
  const [row] = await database.rows<RetryRow>(FIND_RETRY, [shopKey, source, kind]);
  return row ?? null;
}

const ANSWER_REQUEST = defineStatement({
  name: "answer_request",
  text: `with answered as (
           delete from sync_request r
            where r.shop_key = $1 and r.source = $2 and r.kind = $3 and r.asked = $4
         )
         update sync_request r set attempt = 1, failures = 0,
                run_after = statement_timestamp() + ${delayOf("r.requested_by")}
          where r.shop_key = $1 and r.source = $2 and r.kind = $3 and r.asked <> $4`,
});

/** The request has its run. What was asked since that run began stays, as a request of its own. */
export async function answerRequest(
  database: Queryable,
  request: Pick<SyncRequestRow, "shop_key" | "source" | "kind" | "asked">,
): Promise<void> {
  await database.rows(ANSWER_REQUEST, [request.shop_key, request.source, request.kind, request.asked]);
}

const POSTPONE_REQUEST = defineStatement({
  name: "postpone_request",
  text: `update sync_request r
            set attempt = r.attempt + 1, failures = case when $5 then r.failures + 1 else r.failures end,
                run_after = statement_timestamp() + $4 * interval '1 millisecond'
          where r.shop_key = $1 and r.source = $2 and r.kind = $3`,
});

/** The run did not do it: the next one is due after `delayMs`. */
export async function postponeRequest(
  database: Queryable,
  request: Pick<SyncRequestRow, "shop_key" | "source" | "kind">,
  next: { delayMs: number; isFailure: boolean },
): Promise<void> {
  await database.rows(POSTPONE_REQUEST, [
    request.shop_key,
    request.source,
    request.kind,
    next.delayMs,
    next.isFailure,
  ]);
}

const DROP_REQUEST = defineStatement({
  name: "drop_request",
  text: `delete from sync_request r where r.shop_key = $1 and r.source = $2 and r.kind = $3
         returning 1 as dropped`,
});

/** Takes back what was asked for; whether anything was. */
export async function dropRequest(
  database: Queryable,
  shopKey: number,
  source: string,
  kind: SyncKindName,
): Promise<boolean> {
  return (await database.rows(DROP_REQUEST, [shopKey, source, kind])).length > 0;
}

const DROP_REQUESTS = defineStatement({
  name: "drop_requests",
  text: "delete from sync_request r where r.shop_key = $1 and r.source = $2",
});

/** Nothing more is to be done for a connection. */
export async function dropRequests(database: Queryable, shopKey: number, source: string): Promise<void> {
  await database.rows(DROP_REQUESTS, [shopKey, source]);
}
