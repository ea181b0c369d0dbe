import { monthToDate } from "../../lib/month.ts";
import type { Queryable, Connection } from "../database.ts";
import { query, queryRow, requireRow, queryValue, command } from "../query.ts";
import type { Workspace } from "../workspace.ts";
import { wakeEndpoints } from "./alert-delivery.ts";
import { CONNECTED_AT, IS_WANTED } from "./data-source.ts";
import type { NewAlert } from "./publish.ts";
import { columnsInside, monthsBetween, placeInside } from "./return-curve.ts";
import { wakePushes } from "./run-queue.ts";

/** An alert of an open episode; days are YYYY-MM-DD, `cohort_month` (YYYY-MM) is that of a spike. */
export type OpenEpisodeRow = {
  episode_id: string;
  kind: string;
  title: string;
  started_on: string;
  cohort_month: string | null;
  /** Parameters of every endpoint that takes a selector. */
  selector: Record<string, string>;
};

/** Whether an alert `a` belongs to an episode that has not ended: it has the state, and no alert ends it. Unique event_key. */
const IS_OPEN = `a.metadata ->> 'state' = 'open'
    and not exists (select 1 from alert e where e.shop_key = $1 and e.event_key = 'ended:' || (a.metadata ->> 'episode_id'))`;

/** One row per alert, the first of an episode first: a range of alert_feed. */
export const listOpenEpisodes = query<OpenEpisodeRow, [shopKey: number]>(
  "list_open_episodes",
  `select a.metadata ->> 'episode_id' as episode_id, a.metadata ->> 'kind' as kind, a.title,
          a.metadata ->> 'started_on' as started_on, a.metadata ->> 'cohort_month' as cohort_month,
          jsonb_strip_nulls(jsonb_build_object(
            'sku', a.metadata -> 'sku', 'product_gid', a.metadata -> 'product_gid',
            'product_group_type', a.metadata -> 'product_group_type',
            'product_group_key', a.metadata -> 'product_group_key')) as selector
     from alert a
    where a.shop_key = $1 and a.recipient is null and ${IS_OPEN}
    order by a.created_at, a.alert_id`,
);

/** One broadcast to the workspace; position is created_at at full precision, for the cursor. */
export type AlertRow = {
  alert_id: string;
  category: string;
  severity: string;
  title: string;
  body: string | null;
  link_url: string | null;
  link_label: string | null;
  metadata: Record<string, unknown> | null;
  created_at: Date;
  position: string;
};

/** `state`: open: of open episodes; ended: an end of one. */
type AlertFilter = { since: string | null; category: string | null; state: "open" | "ended" | null };

/** created_at and alert_id of the last row of the page before. */
export type AlertPosition = readonly [string, string];

/** Up to `limit` alerts before `position`, newest first: a range scan of alert_feed. */
export const listAlerts = query<
  AlertRow,
  [workspace: Workspace, filter: AlertFilter, position: AlertPosition | null, limit: number]
>(
  "list_alerts",
  `select a.alert_id, a.category, a.severity, a.title, a.body, a.link_url, a.link_label, a.metadata, a.created_at,
                a.created_at::text as position
           from alert a
          where a.shop_key = $1 and a.recipient is null
            and ($2::timestamptz is null or a.created_at >= $2) and ($3::text is null or a.category = $3)
            and ($4::timestamptz is null or (a.created_at, a.alert_id) < ($4, $5))
            and ($7::text is null or a.metadata ->> 'state' = $7 and ($7 <> 'open' or ${IS_OPEN}))
          order by a.created_at desc, a.alert_id desc
          limit $6`,
  (workspace, filter, position, limit) => [
    workspace.shopKey,
    filter.since,
    filter.category,
    position?.[0] ?? null,
    position?.[1] ?? null,
    limit,
    filter.state,
  ],
);

export type WatchedKind = "sku" | "product" | "family" | "analytics_category";

/**
 * Lines of one SKU and product in one condition; days are counted from 1970-01-01. For the base period their number, and the
 * number of first returns by lag; for the recent days those with sales, each with its lines, and the day and order of every line
 * returned by the as-of day.
 */
export type ListingLinesRow = {
  /** '' = lines without one, as of product_gid. */
  sku: string;
  product_gid: string;
  used: boolean;
  family: string | null;
  analytics_category: string | null;
  base_lines: number;
  lag_days: number[];
  lag_lines: number[];
  recent_days: number[];
  recent_lines: number[];
  returned_days: number[];
  returned_orders: string[];
  /** Days of the base period on which the store sold anything; the same in every row. */
  base_sold_days: number;
};

/** Days counted from 1970-01-01. The base period ends before `baseBeforeDay`; recent days are after `recentAfterDay`. */
type EvidenceRange = {
  baseFromDay: number;
  baseBeforeDay: number;
  recentAfterDay: number;
  asOfDay: number;
};

/**
 * One row per SKU, product and condition with lines in the base period or on the recent days (M17). Ranges of
 * order_line_by_month and return_event_by_month; primary keys of product
 * and group_day.
 */
export const loadListingLines = query<ListingLinesRow, [shopKey: number, range: EvidenceRange]>(
  "load_listing_lines",
  `with span as (
    select date '1970-01-01' + $2::integer as base_from, date '1970-01-01' + $3::integer as base_before,
           date '1970-01-01' + $4::integer as recent_after, date '1970-01-01' + $5::integer as as_of
  ), first_return as (
    select e.order_id, e.line_id, min(e.lag_days) as lag_days
      from span s
      join return_event e on e.shop_key = $1 and e.returned_units > 0 and e.occurred_on <= s.as_of
       and e.cohort_month between date_trunc('month', s.base_from)::date and s.as_of
     group by e.order_id, e.line_id
  ), line as materialized (
    select coalesce(l.sku, '') as sku, coalesce(l.product_gid, '') as product_gid, l.used, l.order_id, r.lag_days,
           case when l.ordered_on >= s.base_before then l.ordered_on - date '1970-01-01' end as recent_day
      from span s
      join order_line l on l.shop_key = $1 and l.sold_units > 0
       and l.cohort_month between date_trunc('month', s.base_from)::date and s.as_of
       and (l.ordered_on >= s.base_from and l.ordered_on < s.base_before
            or l.ordered_on > s.recent_after and l.ordered_on <= s.as_of)
      left join first_return r on r.order_id = l.order_id and r.line_id = l.line_id
  ), count as (
    select l.sku, l.product_gid, l.used, l.recent_day, case when l.recent_day is null then l.lag_days end as lag_days,
           count(*)::integer as lines
      from line l group by 1, 2, 3, 4, 5
  ), returned as (
    select l.sku, l.product_gid, l.used, array_agg(l.recent_day) as days, array_agg(l.order_id) as orders
      from line l where l.recent_day is not null and l.lag_days is not null group by 1, 2, 3
  ), listed as (
    select c.sku, c.product_gid, c.used,
           coalesce(sum(c.lines) filter (where c.recent_day is null), 0) as base_lines,
           coalesce(array_agg(c.lag_days) filter (where c.lag_days is not null), '{}') as lag_days,
           coalesce(array_agg(c.lines) filter (where c.lag_days is not null), '{}') as lag_lines,
           coalesce(array_agg(c.recent_day) filter (where c.recent_day is not null), '{}') as recent_days,
           coalesce(array_agg(c.lines) filter (where c.recent_day is not null), '{}') as recent_lines
      from count c group by 1, 2, 3
  )
  select g.*, p.family, p.analytics_category, coalesce(r.days, '{}') as returned_days,
         coalesce(r.orders, '{}') as returned_orders, d.base_sold_days
    from listed g
   cross join (select count(*) as base_sold_days
                 from span s
                 join group_day d on d.shop_key = $1 and d.entity_kind = 'workspace' and d.entity_key = ''
                  and d.sold_on >= s.base_from and d.sold_on < s.base_before) d
    left join product p on p.shop_key = $1 and p.product_gid = g.product_gid
    left join returned r on r.sku = g.sku and r.product_gid = g.product_gid and r.used = g.used`,
  (shopKey, range) => [shopKey, range.baseFromDay, range.baseBeforeDay, range.recentAfterDay, range.asOfDay],
);

/** A warning's details for its order days (YYYY-MM-DD, both included) up to the as-of day; money in minor units. */
export type WarningDetailsRow = {
  /** Title of a product, or of a SKU's product; null for other kinds. */
  product_title: string | null;
  /** Titles of the products among the parts, by product_gid. */
  part_titles: Readonly<Record<string, string>>;
  ordered_from: string;
  ordered_to: string;
  sold_units: number;
  returned_units: number;
  /** Lines with at least one returned unit; the warning counts lines of one order once. */
  returned_lines: number;
  /** Of these lines: money may be refunded for others too. */
  refund_minor: number;
  label_minor: number;
  /** Returned units by stated reason or by a key of src/metrics/returned-units.ts, most first. */
  reasons: { reason: string; returned_units: number }[];
};

type WarnedRange = {
  kind: string;
  key: string;
  orderedAfterDay: number;
  asOfDay: number;
  /** The product_gids whose titles are wanted. */
  partProducts: readonly string[];
};

/** One row; throws when nothing was sold. A range of order_line_by_month; primary keys of return_event and label_share. */
export const loadWarningDetails = requireRow<WarningDetailsRow, [shopKey: number, range: WarnedRange]>(
  "load_warning_details",
  `with span as (
    select date '1970-01-01' + $4::integer as ordered_after, date '1970-01-01' + $5::integer as as_of
  ), line as materialized (
    select l.order_id, l.line_id, l.ordered_on, l.sold_units, s.as_of
      from span s
      join order_line l on l.shop_key = $1 and l.sold_units > 0
       and l.cohort_month between date_trunc('month', s.ordered_after)::date and s.as_of
       and l.ordered_on > s.ordered_after and l.ordered_on <= s.as_of
      left join product p on p.shop_key = $1 and p.product_gid = l.product_gid
     where case $2 when 'sku' then l.sku = $3
                   when 'product' then l.product_gid = $3 and not l.used
                   when 'family' then p.family = $3
                   else p.analytics_category = $3 end
  ), event as materialized (
    select e.order_id, e.line_id, e.reason, e.returned_units, e.refund_minor
      from line l
      join return_event e on e.shop_key = $1 and e.order_id = l.order_id and e.line_id = l.line_id
       and e.occurred_on <= l.as_of
  ), returned as materialized (
    select l.order_id, l.line_id, l.ordered_on, l.as_of
      from line l
     where exists (select 1 from event e where e.order_id = l.order_id and e.line_id = l.line_id and e.returned_units > 0)
  )
  select case $2 when 'sku' then (select s.product_title from sku s where s.shop_key = $1 and s.sku = $3)
                 when 'product' then (select p.title from product p where p.shop_key = $1 and p.product_gid = $3)
         end as product_title,
         coalesce((select json_object_agg(p.product_gid, p.title)
                     from product p where p.shop_key = $1 and p.product_gid = any($6)), '{}') as part_titles,
         min(l.ordered_on) as ordered_from, max(l.ordered_on) as ordered_to, sum(l.sold_units) as sold_units,
         coalesce((select sum(e.returned_units) from event e), 0) as returned_units,
         (select count(*) from returned) as returned_lines,
         coalesce((select sum(e.refund_minor)
                     from returned k join event e on e.order_id = k.order_id and e.line_id = k.line_id), 0) as refund_minor,
         coalesce((select sum(s.label_minor)
                     from returned k
                     join label_share s on s.shop_key = $1 and s.order_id = k.order_id and s.line_id = k.line_id
                      and k.ordered_on + s.lag_days <= k.as_of), 0) as label_minor,
         coalesce((select json_agg(r order by r.returned_units desc, r.reason)
                     from (select e.reason, sum(e.returned_units) as returned_units from event e
                            where e.returned_units > 0 group by e.reason) r), '[]') as reasons
    from line l
  having count(*) > 0`,
  (shopKey, range) => [
    shopKey,
    range.kind,
    range.key,
    range.orderedAfterDay,
    range.asOfDay,
    range.partProducts,
  ],
);

/** The settings for evaluating alerts, besides figures. */
export type AlertSettingsRow = {
  primary_window_days: number;
  min_sold_units: number;
  currency_code: string;
  data_as_of: Date | null;
  data_version: number;
  /** The as-of day and data version of the last evaluation of early warnings; null: never. */
  warned_on: string | null;
  warned_version: number | null;
  /** YYYY-MM: the newest month that a report_ready alert was written for. */
  newest_report_month: string | null;
  sources: {
    source: string;
    kind: "store" | "label_cost";
    /** false: imported by hand, or disconnected by a person. */
    is_connected: boolean;
    status: string;
    currency_code: string | null;
    last_synced_at: string | null;
    /** The last time. */
    connected_at: string;
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
                          'source', s.source, 'kind', s.kind, 'is_connected', s.is_connection and ${IS_WANTED},
                          'status', s.status, 'currency_code', s.currency_code,
                          'last_synced_at', s.last_synced_at, 'connected_at', ${CONNECTED_AT}) order by s.source), '[]')
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
export type WatchedMonthsRow = {
  entity_kind: WatchedKind;
  entity_key: string;
  product_title: string | null;
  /** YYYY-MM-DD: the first day of its newest episode of early warnings. */
  warned_on: string | null;
  episode_id: string | null;
  months: MonthUnitsRow[];
};

/** Both ends are included. */
type WatchedRange = {
  firstMonth: number;
  lastMonth: number;
  /** The months from here to `lastMonth` decide which SKUs are watched automatically. */
  firstRankedMonth: number;
  rankedSkus: number;
};

/**
 * One row per entity of the watchlist and per SKU among those with the most returned units: a range and
 * then look-ups of cohort's primary key.
 */
export const loadWatchedEntities = query<WatchedMonthsRow, [shopKey: number, range: WatchedRange]>(
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
         select w.entity_kind, w.entity_key, p.title as product_title, e.started_on as warned_on, e.episode_id,
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

/** The moment after the newest broadcast, at full precision; null = there is none. alert_feed. */
const findNextMoment = queryValue<string, [shopKey: number], Connection>(
  "find_next_alert_moment",
  `select (a.created_at + interval '1 microsecond')::text as next_moment from alert a
          where a.shop_key = $1 and a.recipient is null order by a.created_at desc limit 1`,
);

const insertRows = query<
  { created_at: Date },
  [shopKey: number, alerts: string, nextMoment: string | null],
  Connection
>(
  "insert_alerts",
  // The wall clock, not the start of the transaction, and never before an existing alert: clocks of servers differ.
  `insert into alert (shop_key, alert_id, event_key, category, severity, title, body, metadata, created_at)
         select $1, a.alert_id, a.event_key, a.category, a.severity, a.title, a.body, a.metadata,
                greatest(clock_timestamp(), $3::timestamptz)
           from jsonb_to_recordset($2::jsonb) a (alert_id text, event_key text, category text, severity text,
                                                 title text, body text, metadata jsonb)
         on conflict (shop_key, event_key) do nothing returning created_at`,
);

/**
 * Writes the alerts with new event keys, for the whole workspace, and wakes its endpoints; returns their number. Needs
 * `lockWorkspace` earlier in the transaction: alerts are committed in the order of their dates, which cursors rely on.
 */
export async function insertAlerts(
  connection: Connection,
  shopKey: number,
  alerts: readonly NewAlert[],
): Promise<number> {
  if (alerts.length === 0) return 0;
  const rows = alerts.map(({ alertId, eventKey, ...alert }) => ({
    alert_id: alertId,
    event_key: eventKey,
    ...alert,
  }));
  const nextMoment = await findNextMoment(connection, shopKey);
  const written = await insertRows(connection, shopKey, JSON.stringify(rows), nextMoment);
  const newest = written.at(-1);
  if (newest !== undefined) {
    await wakeEndpoints(connection, shopKey, newest.created_at);
    await wakePushes(connection, shopKey, newest.created_at);
  }
  return written.length;
}

/** The newest episode of early warnings of an entity; days are YYYY-MM-DD. */
export type WarningEpisodeRow = {
  entity_kind: string;
  entity_key: string;
  started_on: string;
  latest_on: string;
  /** false = another entity's alert named it, or a narrower entity explains it. */
  is_announced: boolean;
  /** For an unannounced one: whether it warned itself. */
  has_warned: boolean;
  /** null = stored before there were ids. */
  episode_id: string | null;
};

/** One row per entity that ever warned or was named as a part: a range of the primary key. */
export const listWarningEpisodes = query<WarningEpisodeRow, [shopKey: number]>(
  "list_warning_episodes",
  `select e.entity_kind, e.entity_key, e.started_on, e.latest_on, e.is_announced, e.has_warned, e.episode_id
           from warning_episode e where e.shop_key = $1`,
);

/** Keeps each entity's newest episode. */
export const putWarningEpisodes = command<[shopKey: number, episodes: readonly WarningEpisodeRow[]]>(
  "put_warning_episodes",
  `insert into warning_episode (shop_key, entity_kind, entity_key, started_on, latest_on, is_announced, has_warned,
                                      episode_id)
         select w.shop_key, e.entity_kind, e.entity_key, e.started_on, e.latest_on, e.is_announced, e.has_warned, e.episode_id
           from workspace w
          cross join jsonb_to_recordset($2::jsonb) e (entity_kind text, entity_key text, started_on date,
                                                      latest_on date, is_announced boolean, has_warned boolean,
                                                      episode_id text)
          where w.shop_key = $1
         on conflict (shop_key, entity_kind, entity_key) do update
            set started_on = excluded.started_on, latest_on = excluded.latest_on, is_announced = excluded.is_announced,
                has_warned = excluded.has_warned, episode_id = excluded.episode_id`,
  (shopKey, episodes) => [shopKey, JSON.stringify(episodes)],
);

/** Records that early warnings were evaluated as of a day (YYYY-MM-DD) at the current data version. */
export const markWarned = command<[shopKey: number, asOfDay: string]>(
  "mark_warned",
  `update workspace set warned_on = $2, warned_version = data_version where shop_key = $1`,
);
