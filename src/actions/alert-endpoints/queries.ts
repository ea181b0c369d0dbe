import type { Connection } from "../../store/database.ts";
import { command, query, queryAny, queryRow, requireValue } from "../../store/query.ts";
import type { EndpointKind, PauseReason, EndpointRow } from "../../store/queries/alert-delivery.ts";
import { SHOWN } from "../../store/queries/alert-delivery.ts";

/** An endpoint with its secrets, locked to the end of the transaction; null = there is none. Primary key. */
export const lockEndpoint = queryRow<
  EndpointRow & { sealed_secrets: Buffer },
  [shopKey: number, endpointId: string],
  Connection
>(
  "lock_alert_endpoint",
  `select ${SHOWN}, e.sealed_secrets from alert_endpoint e
    where e.shop_key = $1 and e.endpoint_id = $2 and e.removed_at is null for update`,
);

/**
 * Locks a workspace's limits of endpoints and e-mails until the transaction ends, before it counts: of two at the same time, the
 * second counts the first.
 */
export const lockLimits = command<[shopKey: number], Connection>(
  "lock_alert_limits",
  "select pg_advisory_xact_lock(hashtextextended('alert limits', $1))",
);

/** How many endpoints a workspace has: a range of the primary key. */
export const countEndpoints = requireValue<number, [shopKey: number]>(
  "count_alert_endpoints",
  "select count(*) as endpoints from alert_endpoint e where e.shop_key = $1 and e.removed_at is null",
);

type NewEndpoint = {
  endpointId: string;
  kind: EndpointKind;
  name: string;
  shownAddress: string;
  sealedSecrets: Buffer;
  severities: readonly string[];
  categories: readonly string[] | null;
  digestHour: number | null;
  createdBy: string;
};

/**
 * Adds an endpoint that receives every alert from now on; false = there is one with this id. Its cursor is the newest
 * alert: alert_feed.
 */
export const insertEndpoint = queryAny<[shopKey: number, endpoint: NewEndpoint], Connection>(
  "insert_alert_endpoint",
  `insert into alert_endpoint (shop_key, endpoint_id, kind, name, shown_address, sealed_secrets, severities, categories,
                               digest_hour, created_by, cursor_at, cursor_id)
   select w.shop_key, $2, $3, $4, $5, $6, $7, $8, $9, $10, coalesce(newest.created_at, '-infinity'),
          coalesce(newest.alert_id, '')
     from workspace w
     left join lateral (
       select a.created_at, a.alert_id from alert a where a.shop_key = $1 and a.recipient is null
        order by a.created_at desc, a.alert_id desc limit 1) newest on true
    where w.shop_key = $1
   on conflict (shop_key, endpoint_id) do nothing returning 1 as added`,
  [
    "endpointId",
    "kind",
    "name",
    "shownAddress",
    "sealedSecrets",
    "severities",
    "categories",
    "digestHour",
    "createdBy",
  ],
);

/** Replaces the secrets; the one before counts until then. Primary key. */
export const setEndpointSecrets = command<
  [shopKey: number, endpointId: string, sealedSecrets: Buffer, previousUntil: Date | null],
  Connection
>(
  "set_alert_endpoint_secrets",
  `update alert_endpoint e set sealed_secrets = $3, previous_until = $4 where e.shop_key = $1 and e.endpoint_id = $2`,
);

/** Records a test message; false: there was another one after `since`. Primary key. */
export const noteTest = queryAny<[shopKey: number, endpointId: string, now: Date, since: Date], Connection>(
  "note_alert_endpoint_test",
  `update alert_endpoint e set tested_at = $3
    where e.shop_key = $1 and e.endpoint_id = $2 and (e.tested_at is null or e.tested_at <= $4) returning 1 as noted`,
);

/**
 * How many e-mails an action has sent within a day to an address, or for an actor, if one is given. `address`: in any case, as the
 * audit has it, or its hash there. audit_event_time.
 */
export const countMails = requireValue<
  number,
  [shopKey: number, mail: { action: string; actor: string | null; address: string }]
>(
  "count_mails",
  `select count(*) as mails from audit_event a
    where a.shop_key = $1 and a.happened_at > statement_timestamp() - interval '1 day'
      and a.action = $2
      and (a.actor = $3 or lower(coalesce(a.detail ->> 'address_hash', a.detail ->> 'address')) = lower($4))`,
  ["action", "actor", "address"],
);

/** Hands a test message to a worker. Primary key. */
export const askTest = command<[shopKey: number, endpointId: string, now: Date], Connection>(
  "ask_alert_endpoint_test",
  `update alert_endpoint e set test_asked_at = $3, test_answer = null, test_delivered = null
    where e.shop_key = $1 and e.endpoint_id = $2`,
);

/** The result of that test message; null = not sent yet. Primary key. */
export const findTestAnswer = queryRow<
  { test_delivered: boolean; test_answer: string },
  [shopKey: number, endpointId: string, askedAt: Date]
>(
  "find_alert_endpoint_test",
  `select e.test_delivered, e.test_answer from alert_endpoint e
    where e.shop_key = $1 and e.endpoint_id = $2 and e.test_asked_at = $3 and e.test_answer is not null`,
);

/** Pauses an endpoint; new alerts wait after its cursor. Primary key. */
export const pauseEndpoint = command<[shopKey: number, endpointId: string, reason: PauseReason, now: Date]>(
  "pause_alert_endpoint",
  `update alert_endpoint e set paused_at = $4, pause_reason = $3
    where e.shop_key = $1 and e.endpoint_id = $2 and e.paused_at is null`,
);

/** Resumes an endpoint; it receives the missed alerts in order. Primary key. */
export const resumeEndpoint = command<[shopKey: number, endpointId: string, now: Date]>(
  "resume_alert_endpoint",
  `update alert_endpoint e
      set paused_at = null, pause_reason = null, failures = 0, failing_since = null, last_problem = null, due_at = $3
    where e.shop_key = $1 and e.endpoint_id = $2`,
);

/** Stops deliveries; its row is kept while the removal can be undone. Primary key. */
export const markEndpointRemoved = command<[shopKey: number, endpointId: string, now: Date]>(
  "remove_alert_endpoint",
  "update alert_endpoint e set removed_at = $3 where e.shop_key = $1 and e.endpoint_id = $2",
);

export type RemovedEndpointRow = { endpoint_id: string; name: string; removed_at: Date };

/** The endpoints that were removed after `since`, the newest first: a range of the primary key. */
export const listRemovedEndpoints = query<RemovedEndpointRow, [shopKey: number, since: Date]>(
  "list_removed_alert_endpoints",
  `select e.endpoint_id, e.name, e.removed_at from alert_endpoint e
    where e.shop_key = $1 and e.removed_at > $2 order by e.removed_at desc, e.endpoint_id`,
);

/** Resumes where it stopped, and sends the missed alerts in order. Primary key. */
export const unmarkEndpoint = command<[shopKey: number, endpointId: string, now: Date]>(
  "restore_alert_endpoint",
  "update alert_endpoint e set removed_at = null, due_at = $3 where e.shop_key = $1 and e.endpoint_id = $2",
);
