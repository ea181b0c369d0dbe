import type { Connection } from "../database.ts";
import { command, queryColumn, queryValue, requireRow, requireValue } from "../query.ts";
import type { SaleEventRow } from "./report-figures.ts";

/** Stores some sale events; returns those that are new or different. Primary key of sale_event. */
export const putSaleEvents = queryColumn<
  string,
  [shopKey: number, events: readonly SaleEventRow[]],
  Connection
>(
  "put_sale_events",
  `insert into sale_event as e (shop_key, slug, label, starts_on, ends_on, skus)
         select w.shop_key, s.slug, s.label, s.starts_on, s.ends_on, s.skus
           from workspace w
          cross join json_to_recordset($2::json) s (slug text, label text, starts_on date, ends_on date, skus text[])
          where w.shop_key = $1
         on conflict (shop_key, slug) do update
            set label = excluded.label, starts_on = excluded.starts_on, ends_on = excluded.ends_on, skus = excluded.skus
          where (e.label, e.starts_on, e.ends_on, e.skus)
                is distinct from (excluded.label, excluded.starts_on, excluded.ends_on, excluded.skus)
         returning e.slug`,
  (shopKey, events) => [shopKey, JSON.stringify(events)],
);

/** Removes some sale events; returns those that were there. Primary key of sale_event. */
export const removeSaleEvents = queryColumn<string, [shopKey: number, slugs: readonly string[]], Connection>(
  "remove_sale_events",
  "delete from sale_event e where e.shop_key = $1 and e.slug = any($2) returning e.slug",
);

/** Of a workspace: every report lists its sale events, and their page compares each with all others. */
export const MOST_SALE_EVENTS = 1000;
/** Of the SKUs that they name: they are in memory at once. */
export const MOST_SALE_SKU_BYTES = 16 * 1024 ** 2;

/** How many sale events a workspace has, and the bytes of the SKUs that they name. Primary key of sale_event. */
export const measureSaleEvents = requireRow<
  { count: number; sku_bytes: number },
  [shopKey: number],
  Connection
>(
  "measure_sale_events",
  `select count(*) as count, coalesce(sum(octet_length(array_to_string(e.skus, ''))), 0)::float8 as sku_bytes
           from sale_event e where e.shop_key = $1`,
);

/** The UTC day of the workspace's newest order, YYYY-MM-DD; null without orders. Index order_line_by_month. */
export const findNewestOrderDay = queryValue<string, [shopKey: number], Connection>(
  "find_newest_order_day",
  `select max(l.ordered_on) as newest_day from order_line l
          where l.shop_key = $1
            and l.cohort_month = (select max(m.cohort_month) from order_line m where m.shop_key = $1)`,
);

/** How many of some SKUs the workspace has ever had. Primary key of sku. */
export const countKnownSkus = requireValue<number, [shopKey: number, skus: readonly string[]], Connection>(
  "count_known_skus",
  "select count(*) as known from sku k where k.shop_key = $1 and k.sku = any($2)",
);

const IS_DISCONNECTED =
  "s.is_connection and (s.sealed_credentials is null or s.status is not distinct from 'disconnected')";
/** For the row `s` of data_source: a successful run does not reconnect a source that was disconnected meanwhile. */
const PUBLISHED_STATE = `status = case when ${IS_DISCONNECTED} then s.status else 'ok' end,
                last_error = case when ${IS_DISCONNECTED} then s.last_error end`;

/**
 * Records a successful run of a store source; returns whether it is still connected. A source disconnected during the run stays
 * so.
 */
export const putStoreSource = requireValue<
  boolean,
  [shopKey: number, source: string, asOf: Date],
  Connection
>(
  "put_store_source",
  `insert into data_source as s (shop_key, source, kind, status, last_synced_at) values ($1, $2, 'store', 'ok', $3)
         on conflict (shop_key, source) do update
            set kind = 'store', last_synced_at = excluded.last_synced_at, ${PUBLISHED_STATE}
         returning (s.is_connection and s.status = 'ok') is true as is_connected`,
);

/**
 * Records a successful run of a label source (M10): one label in a foreign currency makes it the source's, unless it is voided. A
 * source disconnected during the run stays so.
 */
export const putLabelSource = command<
  [shopKey: number, source: string, asOf: Date, currencyCode: string],
  Connection
>(
  "put_label_source",
  `insert into data_source as s (shop_key, source, kind, status, currency_code, last_synced_at)
         select w.shop_key, $2, 'label_cost', 'ok',
                coalesce((select min(l.currency_code) from return_label l
                           where l.shop_key = $1 and l.source = $2 and l.voided_at is null
                             and l.currency_code <> $4), $4), $3
           from workspace w where w.shop_key = $1
         on conflict (shop_key, source) do update
            set kind = 'label_cost', currency_code = excluded.currency_code,
                last_synced_at = excluded.last_synced_at, ${PUBLISHED_STATE}`,
);

/**
 * M5: sets the as-of and returns the data version, raised when facts or the as-of changed: either changes answers. A
 * workspace that waited for its first data is ready, and so is one that waited for its store, if that `isConnected` or has gone.
 */
export const publishImport = requireValue<
  number,
  [shopKey: number, asOf: Date, isChanged: boolean, isConnected: boolean],
  Connection
>(
  "publish_import",
  `update workspace
            set data_as_of = $2,
                data_version = data_version + case when $3 or data_as_of is distinct from $2 then 1 else 0 end,
                readiness = case when readiness in ('installing', 'backfilling') or $4 and readiness = 'reconnecting'
                                 then 'ready' else readiness end
          where shop_key = $1
          returning data_version`,
);

/** M4: the days of the primary window, effective with the next request. */
export const setPrimaryWindow = command<[shopKey: number, primaryWindowDays: number], Connection>(
  "set_primary_window",
  `update workspace set primary_window_days = $2, data_version = data_version + 1
          where shop_key = $1 and primary_window_days <> $2`,
);

/** The shop's currency; throws when there is no such workspace. */
export const findCurrency = requireValue<string, [shopKey: number], Connection>(
  "find_currency",
  "select currency_code from workspace where shop_key = $1",
);

export type NewAlert = {
  alertId: string;
  eventKey: string;
  category: string;
  severity: "info" | "warning" | "critical";
  title: string;
  body: string | null;
  metadata: Record<string, unknown>;
};

/** An alert as a rule states it: everything but the identity it gets when it is stored. */
export type AlertDraft = Omit<NewAlert, "alertId">;

/** The workspace's data version as it is now. Throws when there is no such workspace. */
export const requireDataVersion = requireValue<number, [shopKey: number]>(
  "find_data_version",
  "select data_version from workspace where shop_key = $1",
);

/** Served data has changed; returns the new data version. Throws if there is no such workspace. */
export const raiseDataVersion = requireValue<number, [shopKey: number]>(
  "raise_data_version",
  "update workspace set data_version = data_version + 1 where shop_key = $1 returning data_version",
);
