import { monthToDate } from "../../lib/month.ts";
import type { Queryable } from "../database.ts";
import { query, queryRow } from "../query.ts";
import { columnsInside, monthsBetween, placeInside } from "./return-curve.ts";
import type { WatchedKind } from "./watchlist.ts";

/** What alerts are judged by, apart from figures. */
export type AlertSettingsRow = {
  primary_window_days: number;
  min_sold_units: number;
  currency_code: string;
  data_as_of: Date | null;
  data_version: number;
  /** The as-of day and data version that early warnings were last looked for at; null = never. */
  warned_on: string | null;
  warned_version: number | null;
  /** YYYY-MM: the newest month that a report_ready alert was written for. */
  newest_report_month: string | null;
  sources: {
    source: string;
    kind: "store" | "label_cost";
    is_connection: boolean;
    status: string;
    currency_code: string | null;
    last_synced_at: string | null;
    created_at: string;
  }[];
};

const findAlertSettings = queryRow<AlertSettingsRow, [shopKey: number]>(
  "load_alert_settings",
  `select w.primary_window_days, w.min_sold_units, w.currency_code, w.data_as_of, w.data_version, w.warned_on,
                w.warned_version,
                (select right(max(a.event_key), 7) from alert a
                  where a.shop_key = $1
                    and a.event_key >= 'report_ready:' and a.event_key < 'report_ready;') as newest_report_month,
                (select coalesce(json_agg(json_build_object(
                          'source', s.source, 'kind', s.kind, 'is_connection', s.is_connection,
                          'status', s.status, 'currency_code', s.currency_code,
                          'last_synced_at', s.last_synced_at, 'created_at', s.created_at) order by s.source), '[]')
                   from data_source s where s.shop_key = $1) as sources
           from workspace w where w.shop_key = $1`,
);

/** One row, by primary keys and the unique index of event_key; throws when there is no such workspace. */
export async function loadAlertSettings(database: Queryable, shopKey: number): Promise<AlertSettingsRow> {
  const row = await findAlertSettings(database, shopKey);
  if (row === null) throw new Error("the workspace does not exist");
  return row;
}

/** Units of one cohort month (its first day) in the primary window. */
export type MonthUnitsRow = { cohort_month: string; sold_units: number; returned_units: number };

const UNITS = ["sold_units", "returned_units"];
const PRIMARY_DAYS = "(select p.primary_window_days from workspace p where p.shop_key = $1)";

/** One row per month in which the workspace sold something, oldest first: a range of cohort's primary key. */
export const loadSoldMonths = query<MonthUnitsRow, [shopKey: number]>(
  "load_sold_months",
  `select c.cohort_month, ${columnsInside("c", UNITS)}
           from cohort c cross join lateral ${placeInside("c", PRIMARY_DAYS)}
          where c.shop_key = $1 and c.entity_kind = 'workspace' and c.entity_key = ''
          order by c.cohort_month`,
);

/** A watched entity with its months that sold something; `product_title` of products only. */
export type WatchedEntityRow = {
  entity_kind: WatchedKind;
  entity_key: string;
  product_title: string | null;
  /** YYYY-MM-DD: the first day of its newest episode of early warnings. */
  warned_on: string | null;
  months: MonthUnitsRow[];
};

/** Both ends are included. */
export type WatchedRange = {
  firstMonth: number;
  lastMonth: number;
  /** The months from here to `lastMonth` decide which SKUs are watched unasked. */
  firstRankedMonth: number;
  rankedSkus: number;
};

/**
 * One row per entity of the watchlist and per SKU among those with the most returned units: a range and
 * then look-ups of cohort's primary key.
 */
export const loadWatchedEntities = query<WatchedEntityRow, [shopKey: number, range: WatchedRange]>(
  "load_watched_entities",
  `with ranked as (
           select m.entity_key
             from (select c.entity_key, ${columnsInside("c", UNITS)}
                     from cohort c cross join lateral ${placeInside("c", PRIMARY_DAYS)}
                    where c.shop_key = $1 and c.entity_kind = 'sku' and c.entity_key <> ''
                      and c.cohort_month between $4 and $3) m
            group by m.entity_key having sum(m.returned_units) > 0
            order by sum(m.returned_units) desc, m.entity_key limit $5
         ), watched as (
           select w.entity_kind, w.entity_key from watchlist_entry w where w.shop_key = $1
           union select 'sku', r.entity_key from ranked r
         )
         select w.entity_kind, w.entity_key, p.title as product_title, e.started_on as warned_on,
                (select coalesce(json_agg(m order by m.cohort_month), '[]')
                   from (select u.cohort_month, sum(u.sold_units) as sold_units, sum(u.returned_units) as returned_units
                           from (select c.cohort_month, ${columnsInside("c", UNITS)}
                                   from cohort c cross join lateral ${placeInside("c", PRIMARY_DAYS)}
                                  where c.shop_key = $1 and c.entity_kind = w.entity_kind
                                    and c.entity_key = w.entity_key and c.cohort_month = ${monthsBetween("$2", "$3")}) u
                          group by u.cohort_month) m) as months
           from watched w
           left join product p
             on w.entity_kind = 'product' and p.shop_key = $1 and p.product_gid = w.entity_key
           left join warning_episode e
             on e.shop_key = $1 and e.entity_kind = w.entity_kind and e.entity_key = w.entity_key
          order by w.entity_kind collate "C", w.entity_key`,
  (shopKey, range) => [
    shopKey,
    monthToDate(range.firstMonth),
    monthToDate(range.lastMonth),
    monthToDate(range.firstRankedMonth),
    range.rankedSkus,
  ],
);
