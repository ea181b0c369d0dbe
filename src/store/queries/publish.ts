import { defineStatement } from "../database.ts";
import type { Connection, Queryable } from "../database.ts";

const PUT_SALE_EVENTS = defineStatement({
  name: "put_sale_events",
  text: `with put as (
           insert into sale_event as e (shop_key, slug, label, starts_on, ends_on, skus)
           select $1, slug, label, starts_on, ends_on, skus from staged_sale_event where not deleted
           on conflict (shop_key, slug) do update
              set label = excluded.label, starts_on = excluded.starts_on, ends_on = excluded.ends_on,
                  skus = excluded.skus
            where (e.label, e.starts_on, e.ends_on, e.skus)
                  is distinct from (excluded.label, excluded.starts_on, excluded.ends_on, excluded.skus)
           returning 1
         ) select count(*) as changed from put`,
});

/** Stores the staged sale events that are new or different; returns how many. */
export async function putSaleEvents(connection: Connection, shopKey: number): Promise<number> {
  const [row] = await connection.rows<{ changed: number }>(PUT_SALE_EVENTS, [shopKey]);
  return row?.changed ?? 0;
}

const REMOVE_SALE_EVENTS = defineStatement({
  name: "remove_sale_events",
  text: `with gone as (
           delete from sale_event e using (select s.slug from staged_sale_event s where s.deleted) said
            where e.shop_key = $1 and e.slug = said.slug
           returning 1
         ) select count(*) as removed from gone`,
});

/** Removes the sale events that staged rows say are gone; returns how many. Primary key of sale_event. */
export async function removeSaleEvents(connection: Connection, shopKey: number): Promise<number> {
  const [row] = await connection.rows<{ removed: number }>(REMOVE_SALE_EVENTS, [shopKey]);
  return row?.removed ?? 0;
}

const FIND_NEWEST_ORDER_DAY = defineStatement({
  name: "find_newest_order_day",
  text: `select max(l.ordered_on) as newest_day from order_line l
          where l.shop_key = $1
            and l.cohort_month = (select max(m.cohort_month) from order_line m where m.shop_key = $1)`,
});

/** The UTC day of the shop's newest order, YYYY-MM-DD; null without orders. Index order_line_by_month. */
export async function findNewestOrderDay(connection: Connection, shopKey: number): Promise<string | null> {
  const [row] = await connection.rows<{ newest_day: string | null }>(FIND_NEWEST_ORDER_DAY, [shopKey]);
  return row?.newest_day ?? null;
}

const COUNT_UNKNOWN_SALE_SKUS = defineStatement({
  name: "count_unknown_sale_skus",
  text: `with said as materialized (select distinct s.sku from staged_sale_event e, unnest(e.skus) s (sku))
         select count(*) as unknown
           from said s where not exists (select from sku k where k.shop_key = $1 and k.sku = s.sku)`,
});

/** How many SKUs the staged sale events name that the workspace has never had. Primary key of sku. */
export async function countUnknownSaleSkus(connection: Connection, shopKey: number): Promise<number> {
  const [row] = await connection.rows<{ unknown: number }>(COUNT_UNKNOWN_SALE_SKUS, [shopKey]);
  return row?.unknown ?? 0;
}

const IS_DISCONNECTED =
  "s.is_connection and (s.sealed_credentials is null or s.status is not distinct from 'disconnected')";
/** For the row `s` of data_source: a run that has succeeded does not connect what was disconnected meanwhile. */
const PUBLISHED_STATE = `status = case when ${IS_DISCONNECTED} then s.status else 'ok' end,
                last_error = case when ${IS_DISCONNECTED} then s.last_error end`;

const PUT_STORE_SOURCE = defineStatement({
  name: "put_store_source",
  text: `insert into data_source as s (shop_key, source, kind, status, last_synced_at) values ($1, $2, 'store', 'ok', $3)
         on conflict (shop_key, source) do update
            set kind = 'store', last_synced_at = excluded.last_synced_at, ${PUBLISHED_STATE}
         returning s.status, s.is_connection`,
});

/**
 * Records a successful run of a store source; whether it is a connection that still holds. What was disconnected while
 * it was read stays so.
 */
export async function putStoreSource(
  connection: Connection,
  shopKey: number,
  source: string,
  asOf: Date,
): Promise<boolean> {
  const [row] = await connection.rows<{ status: string; is_connection: boolean }>(PUT_STORE_SOURCE, [
    shopKey,
    source,
    asOf,
  ]);
  return row?.is_connection === true && row.status === "ok";
}

const PUT_LABEL_SOURCE = defineStatement({
  name: "put_label_source",
  text: `insert into data_source as s (shop_key, source, kind, status, currency_code, last_synced_at)
         select w.shop_key, $2, 'label_cost', 'ok',
                coalesce((select min(l.currency_code) from return_label l
                           where l.shop_key = $1 and l.source = $2 and l.voided_at is null
                             and l.currency_code <> $4), $4), $3
           from workspace w where w.shop_key = $1
         on conflict (shop_key, source) do update
            set kind = 'label_cost', currency_code = excluded.currency_code,
                last_synced_at = excluded.last_synced_at, ${PUBLISHED_STATE}`,
});

/**
 * Records a successful run of a label source (M10): one label in a foreign currency makes it the source's, unless it
 * is voided. What was disconnected while it was read stays so.
 */
export async function putLabelSource(
  connection: Connection,
  shopKey: number,
  source: string,
  asOf: Date,
  currencyCode: string,
): Promise<void> {
  await connection.rows(PUT_LABEL_SOURCE, [shopKey, source, asOf, currencyCode]);
}

const PUBLISH_IMPORT = defineStatement({
  name: "publish_import",
  text: `update workspace
            set data_as_of = $2,
                data_version = data_version + case when $3 or data_as_of is distinct from $2 then 1 else 0 end,
                readiness = case when readiness in ('installing', 'backfilling') then 'ready' else readiness end
          where shop_key = $1
          returning data_version`,
});

/**
 * M5: sets the as-of and returns the data version, raised when facts or the as-of changed: either changes answers. A
 * workspace that waited for its first data is ready.
 */
export async function publishImport(
  connection: Connection,
  shopKey: number,
  asOf: Date,
  isChanged: boolean,
): Promise<number> {
  const [row] = await connection.rows<{ data_version: number }>(PUBLISH_IMPORT, [shopKey, asOf, isChanged]);
  if (row === undefined) throw new Error("the workspace does not exist");
  return row.data_version;
}

const SET_PRIMARY_WINDOW = defineStatement({
  name: "set_primary_window",
  text: `update workspace set primary_window_days = $2, data_version = data_version + 1
          where shop_key = $1 and primary_window_days <> $2`,
});

/** M4: the days of the primary window, effective with the next request. */
export async function setPrimaryWindow(
  connection: Connection,
  shopKey: number,
  primaryWindowDays: number,
): Promise<void> {
  await connection.rows(SET_PRIMARY_WINDOW, [shopKey, primaryWindowDays]);
}

const FIND_CURRENCY = defineStatement({
  name: "find_currency",
  text: "select currency_code from workspace where shop_key = $1",
});

/** The shop's currency; throws when there is no such workspace. */
export async function findCurrency(connection: Connection, shopKey: number): Promise<string> {
  const [row] = await connection.rows<{ currency_code: string }>(FIND_CURRENCY, [shopKey]);
  if (row === undefined) throw new Error("the workspace does not exist");
  return row.currency_code;
}

export type NewAlert = {
  alertId: string;
  eventKey: string;
  category: string;
  severity: "info" | "warning" | "critical";
  title: string;
  body: string | null;
  metadata: Record<string, unknown>;
};

const INSERT_ALERT = defineStatement({
  name: "insert_broadcast_alert",
  text: `insert into alert (shop_key, alert_id, event_key, category, severity, title, body, metadata, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp()) on conflict (shop_key, event_key) do nothing`,
});

/**
 * An alert to the whole workspace; the same event is stored once. Dated by the clock: the start of a long transaction
 * could be before the `since` of a client's last poll.
 */
export async function insertBroadcastAlert(
  connection: Connection,
  shopKey: number,
  alert: NewAlert,
): Promise<void> {
  await connection.rows(INSERT_ALERT, [
    shopKey,
    alert.alertId,
    alert.eventKey,
    alert.category,
    alert.severity,
    alert.title,
    alert.body,
    JSON.stringify(alert.metadata),
  ]);
}

const ANALYZE_DATA = defineStatement({
  name: "analyze_data",
  text: `analyze product, variant, sku, entity, order_document, return_label, order_line, return_event, return_request,
                 label_share, cohort, listing, sku_quarter, group_day, unmatched_label`,
});

/**
 * Gives the planner the new sizes now; autovacuum would do it later. Call it outside a transaction: within one, its locks
 * would block other shops' runs until the end.
 */
export async function analyzeData(database: Queryable): Promise<void> {
  await database.rows(ANALYZE_DATA, []);
}
