import { command, query, queryRow } from "../query.ts";
import type { AlertRow } from "./alerts.ts";
import { SERVED_READINESS } from "./workspace-directory.ts";

const ENDPOINT_KINDS = ["webhook", "slack", "email"] as const;
export type EndpointKind = (typeof ENDPOINT_KINDS)[number];

/** "failing": no attempt succeeded for a day. "gone": it accepts no more messages. "refused": the recipient or the message was. */
export type PauseReason = "person" | "failing" | "gone" | "refused";

/** One endpoint without its secrets. */
export type EndpointRow = {
  endpoint_id: string;
  kind: EndpointKind;
  name: string;
  shown_address: string;
  previous_until: Date | null;
  severities: string[];
  /** null = every category. */
  categories: string[] | null;
  /** In UTC; null = at once. */
  digest_hour: number | null;
  created_at: Date;
  created_by: string;
  due_at: Date | null;
  failures: number;
  last_tried_at: Date | null;
  last_delivered_at: Date | null;
  last_problem: string | null;
  paused_at: Date | null;
  pause_reason: PauseReason | null;
};

export const SHOWN = `e.endpoint_id, e.kind, e.name, e.shown_address, e.previous_until, e.severities, e.categories, e.digest_hour,
                e.created_at, e.created_by, e.due_at, e.failures, e.last_tried_at, e.last_delivered_at,
                e.last_problem, e.paused_at, e.pause_reason`;

/** The endpoints of a workspace, oldest first: a range of the primary key. */
export const listEndpoints = query<EndpointRow, [shopKey: number]>(
  "list_alert_endpoints",
  `select ${SHOWN} from alert_endpoint e where e.shop_key = $1 and e.removed_at is null order by e.created_at, e.endpoint_id`,
);

export type EndpointPlace = { shopKey: number; endpointId: string };

/** created_at and alert_id of the last alert that is delivered. */
export type DeliveryCursor = readonly [at: string, id: string];

/** An endpoint that something may have to be delivered to, and what decides whether its workspace's alerts are given. */
export type DeliveryRow = {
  kind: EndpointKind;
  name: string;
  sealed_secrets: Buffer;
  previous_until: Date | null;
  severities: string[];
  categories: string[] | null;
  digest_hour: number | null;
  cursor_at: string;
  cursor_id: string;
  due_at: Date | null;
  wakes: number;
  digest_until: Date | null;
  failures: number;
  failing_since: Date | null;
  paused_at: Date | null;
  /** Of a test message that is not sent yet. */
  test_asked_at: Date | null;
  shop_domain: string;
  is_billing_active: boolean;
  readiness: string;
  entitlements: string[];
};

/** When an endpoint is due next, null: with the next alert or when resumed; no row: it is gone. Primary key. */
export const findNextDelivery = queryRow<{ due_at: Date | null }, [place: EndpointPlace]>(
  "find_next_delivery",
  `select case when e.paused_at is null then e.due_at end as due_at from alert_endpoint e
    where e.shop_key = $1 and e.endpoint_id = $2 and e.removed_at is null`,
  ({ shopKey, endpointId }) => [shopKey, endpointId],
);

/** One endpoint with its workspace and plan, by their primary keys; null: it is gone. */
export const loadDelivery = queryRow<DeliveryRow, [place: EndpointPlace]>(
  "load_alert_delivery",
  `select e.kind, e.name, e.sealed_secrets, e.previous_until, e.severities, e.categories, e.digest_hour,
          e.cursor_at::text as cursor_at, e.cursor_id, e.due_at, e.wakes, e.digest_until, e.failures, e.failing_since,
          e.paused_at, case when e.test_answer is null then e.test_asked_at end as test_asked_at, w.shop_domain, w.billing_status = 'active' as is_billing_active,
          ${SERVED_READINESS} as readiness, coalesce(p.entitlements, '{}') as entitlements
     from alert_endpoint e
     join workspace w on w.shop_key = $1
     left join plan p on p.plan_key = w.plan_key
    where e.shop_key = $1 and e.endpoint_id = $2 and e.removed_at is null`,
  ({ shopKey, endpointId }) => [shopKey, endpointId],
);

/** Records the result of the test message requested at `askedAt`. Primary key. */
export const recordTest = command<
  [place: EndpointPlace, askedAt: Date, isDelivered: boolean, answer: string]
>(
  "record_alert_endpoint_test",
  `update alert_endpoint e set test_delivered = $4, test_answer = $5
    where e.shop_key = $1 and e.endpoint_id = $2 and e.test_asked_at = $3`,
  ({ shopKey, endpointId }, ...answer) => [shopKey, endpointId, ...answer],
);

/** An endpoint's filter of the feed. */
type DeliveryFilter = Pick<DeliveryRow, "severities" | "categories"> & {
  /** Alerts before this moment; null = all. */
  until: Date | null;
};

/** Up to `limit` broadcasts after the cursor, oldest first: a range scan of alert_feed, backwards. */
export const listAlertsAfter = query<
  AlertRow,
  [shopKey: number, cursor: DeliveryCursor, filter: DeliveryFilter, limit: number]
>(
  "list_alerts_after",
  `select alert_id, category, severity, title, body, link_url, link_label, metadata, created_at,
          created_at::text as position
     from alert
    where shop_key = $1 and recipient is null and (created_at, alert_id) > ($2::timestamptz, $3)
      and severity = any ($4) and ($5::text[] is null or category = any ($5))
      and ($6::timestamptz is null or created_at < $6)
    order by created_at, alert_id limit $7`,
  (shopKey, [at, id], { severities, categories, until }, limit) => [
    shopKey,
    at,
    id,
    severities,
    categories,
    until,
    limit,
  ],
);

/** Identifies an attempt: nothing is recorded if another worker moved the cursor meanwhile. */
export type Try = { place: EndpointPlace; cursor: DeliveryCursor; now: Date };

/** Moves the cursor past the delivered alerts. Primary key. */
export const recordDelivered = command<[tried: Try, last: DeliveryCursor]>(
  "record_alert_delivered",
  `update alert_endpoint e
      set cursor_at = $6::timestamptz, cursor_id = $7, last_tried_at = $5, last_delivered_at = $5, digest_until = null,
          failures = 0, failing_since = null, last_problem = null
    where e.shop_key = $1 and e.endpoint_id = $2 and e.cursor_at = $3::timestamptz and e.cursor_id = $4`,
  (tried, last) => [...valuesOf(tried), ...last],
);

type FailedTry = {
  problem: string;
  digestUntil: Date | null;
  /** When it is tried again; null = it is paused. */
  nextTryAt: Date | null;
  pauseReason: PauseReason | null;
};

/** Records a failed attempt. Primary key. */
export const recordFailed = command<[tried: Try, failed: FailedTry]>(
  "record_alert_failed",
  `update alert_endpoint e
      set failures = e.failures + 1, failing_since = coalesce(e.failing_since, $5), last_tried_at = $5,
          last_problem = $6, digest_until = $7, due_at = coalesce($8, e.due_at),
          paused_at = case when $9::text is null then e.paused_at else coalesce(e.paused_at, $5) end,
          pause_reason = coalesce(e.pause_reason, $9::text)
    where e.shop_key = $1 and e.endpoint_id = $2 and e.cursor_at = $3::timestamptz and e.cursor_id = $4`,
  (tried, { problem, digestUntil, nextTryAt, pauseReason }) => [
    ...valuesOf(tried),
    problem,
    digestUntil,
    nextTryAt,
    pauseReason,
  ],
);

/** Defers an endpoint; `problem` is the reason, null = it is not yet its hour. Primary key. */
export const postponeEndpoint = command<[place: EndpointPlace, dueAt: Date, problem: string | null]>(
  "postpone_alert_endpoint",
  "update alert_endpoint e set due_at = $3, last_problem = $4 where e.shop_key = $1 and e.endpoint_id = $2",
  ({ shopKey, endpointId }, dueAt, problem) => [shopKey, endpointId, dueAt, problem],
);

/** Marks an endpoint as idle, unless an alert came since `wakes` was read. Primary key. */
export const settleEndpoint = command<[place: EndpointPlace, wakes: number]>(
  "settle_alert_endpoint",
  `update alert_endpoint e set due_at = null, last_problem = null
    where e.shop_key = $1 and e.endpoint_id = $2 and e.wakes = $3`,
  ({ shopKey, endpointId }, wakes) => [shopKey, endpointId, wakes],
);

/**
 * Wakes the endpoints of a workspace after alerts were written. Call it in the transaction that writes them: its lock on
 * the rows is what `settleEndpoint` waits for.
 */
export const wakeEndpoints = command<[shopKey: number, at: Date]>(
  "wake_alert_endpoints",
  `update alert_endpoint e set wakes = e.wakes + 1, due_at = coalesce(e.due_at, $2) where e.shop_key = $1`,
);

/** The endpoints of one kind that are not paused. */
type DeliveryMetricsRow = {
  kind: EndpointKind;
  /** Alerts that wait although their hour has come. */
  pending: number;
  /** How long the oldest of them has waited; null = none does. */
  age_seconds: number | null;
  /** Endpoints of the kind that are paused because their deliveries failed. */
  paused: number;
};

/** One row per kind of endpoint: a scan of all endpoints, and of those with something to deliver alert_feed. */
export const deliveryMetrics = query<DeliveryMetricsRow>(
  "alert_delivery_metrics",
  `select e.kind, coalesce(sum(waiting.alerts), 0) as pending,
          extract(epoch from clock_timestamp() - min(waiting.since))::float8 as age_seconds,
          count(*) filter (where e.pause_reason <> 'person' and e.removed_at is null) as paused
     from alert_endpoint e
     left join lateral (
       select count(*) as alerts,
              case when e.digest_hour is null then min(a.created_at) else coalesce(e.failing_since, e.due_at) end as since
         from alert a
        where a.shop_key = e.shop_key and a.recipient is null
          and (a.created_at, a.alert_id) > (e.cursor_at, e.cursor_id)
          and a.severity = any (e.severities) and (e.categories is null or a.category = any (e.categories))
          and (e.digest_hour is null or e.failures > 0 or e.due_at <= statement_timestamp())
       having count(*) > 0) waiting
       on e.due_at is not null and e.paused_at is null and e.removed_at is null and (e.failures > 0 or e.last_problem is null)
    group by e.kind`,
);

function valuesOf({ place, cursor, now }: Try): unknown[] {
  return [place.shopKey, place.endpointId, ...cursor, now];
}
