import type { Connection } from "../database.ts";
import { command, inOrder, query, queryColumn } from "../query.ts";
import { IS_LISTING, LINE_VENDOR, NO_LISTING } from "./listing.ts";

/** Every entity that rows `c` of cells are part of, once each; `by`: further columns to group by, with a comma first. */
const entities = (
  by: string,
): string => `grouping sets ((c.cell_no${by}), (c.product_no${by}), (c.family${by}),
       (c.analytics_category${by}), (c.vendor${by}), (${by.slice(2)}))`;

/** The key of a group or of the workspace; null = of none. */
const GROUP_KEY = `case when grouping(c.family, c.analytics_category, c.vendor) < 7
             then coalesce(c.family, c.analytics_category, c.vendor) else '' end`;

/** The entity of a row of `entities`: a number for each SKU and product, which is compared faster than their texts, and for each kind of group. */
const ENTITY = `coalesce(c.cell_no, c.product_no, -grouping(c.family, c.analytics_category, c.vendor)) as entity_no,
           ${GROUP_KEY} as group_key`;

/** Whose part of an order a row is: a category's (key null = of none), or the workspace's. */
const ORDERS_OF = `case when grouping(c.analytics_category) = 0 then 'analytics_category' else 'workspace' end as kind,
           case when grouping(c.analytics_category) = 0 then c.analytics_category else '' end as key`;

/** The group of a row of `groups`: its kind, and its key (null = of none). */
const GROUP = `grouping(family, analytics_category, vendor) as level,
           case when grouping(family, analytics_category, vendor) < 7 then coalesce(family, analytics_category, vendor) else '' end as key`;

/** Families, categories, vendors and the workspace, each by further columns. */
const groups = (by: string): string =>
  `grouping sets ((family, ${by}), (analytics_category, ${by}), (vendor, ${by}), (${by}))`;

/** What a month holds in a table: `parts` end with `computed`, which has a row of key and values for each row to hold. */
type Month = { table: string; key: string; values: string; held: string; parts: string };

/** Inserts the rows of a month that holds none yet. */
function insertRows({ table, key, values, parts }: Month): string {
  return `insert into ${table} (shop_key, ${key}, ${values})
  with ${parts}
  select w.shop_key, ${listed(`${key}, ${values}`, (column) => `n.${column}`)}
    from workspace w cross join computed n
   where w.shop_key = $1
   order by ${listed(key, (column) => `n.${column}`)}`;
}

/**
 * Inserts or updates the rows that differ from those held: most runs change few, and writing all takes half of the time. A held
 * row that is not computed gets no sold units, by which it is deleted afterwards: Citus deletes nothing within an insert.
 */
function putChangedRows({ table, key, values, held, parts }: Month): string {
  const value = (column: string): string =>
    column === "sold_units"
      ? "coalesce(n.sold_units, 0)"
      : `case when n.sold_units is null then o.${column} else n.${column} end`;
  return `insert into ${table} (shop_key, ${key}, ${values})
  with ${parts}, held as (
    select ${key}, ${values} from ${table} where shop_key = $1 and ${held}
  )
  select w.shop_key, ${listed(key, (column) => `coalesce(n.${column}, o.${column})`)}, ${listed(values, value)}
    from workspace w
    cross join (computed n full join held o on ${listed(key, (column) => `o.${column} = n.${column}`, " and ")})
   where w.shop_key = $1
     and (${listed(values, (column) => `n.${column}`)}) is distinct from (${listed(values, (column) => `o.${column}`)})
  on conflict (shop_key, ${key}) do update set ${listed(values, (column) => `${column} = excluded.${column}`)}`;
}

function listed(columns: string, write: (column: string) => string, separator = ", "): string {
  return columns.split(/,\s+/u).map(write).join(separator);
}

const KINDS = "('sku', 'product', 'product_used', 'family', 'analytics_category', 'vendor', 'workspace')";

/**
 * The cohort rows of a month, computed from the facts (M1–M4, M7–M11, M13). The month's listings and days must exist. Indexes
 * order_line_by_month, return_event_by_month, label_share_by_month, return_request_by_month; primary keys of cohort, listing
 * and product.
 */
const COHORTS: Month = {
  table: "cohort",
  key: "cohort_month, entity_kind, entity_key, listing_id",
  values: `sold_units, entity_sold_units, sold_minor, valued_sold_units, costed_sold_units,
    requested_units, open_units, closed_units, declined_units, canceled_units, lag_days, returned_units, refunded_units,
    restocked_units, restocked_cost_minor, costed_returned_units, refund_minor, label_minor, returned_not_refunded_units,
    labeled_returned_units, return_reasons, return_lag_days, return_units, orders, squared_sold_units, order_lag_days,
    returned_orders, sold_returned_units, squared_returned_units, has_day_money`,
  held: `cohort_month = $2 and entity_kind in ${KINDS}`,
  // `line`: lines of cohort month $2 with sales. `cell`: those by listing, with their entities. `step`: what one event or label adds
  // to each measure of its line (M2, M4, M10); a window of n days is the sum of the steps of at most n. Units returned beyond those
  // refunded, and returned units of lines with a label, do not add up: their steps are differences between values after each event.
  parts: `line as materialized (
    select l.ctid as line_at, l.order_id, l.line_id, l.ordered_on, k.ctid as listing_at, l.sold_units, l.sold_minor, l.unit_cost_minor
      from order_line l
      left join listing k on ${IS_LISTING}
     where l.shop_key = $1 and l.cohort_month = $2 and l.sold_units > 0
  ), cell as materialized (
    select s.*, sum(s.sold_units) over (partition by k.sku) as sku_sold_units, k.sku, k.listing_id, nullif(k.product_gid, '') as product_gid, k.used, p.family, p.analytics_category,
           case when k.product_gid = '' then nullif(k.line_vendor, '') else p.vendor end as vendor,
           row_number() over by_product * 2 as cell_no, dense_rank() over by_product * 2 + 1 as product_no
      from (select listing_at, sum(sold_units)::integer as sold_units, coalesce(sum(sold_minor::float8), 0) as sold_minor,
                   coalesce(sum(sold_units) filter (where sold_minor is not null), 0)::integer as valued_sold_units,
                   coalesce(sum(sold_units) filter (where unit_cost_minor is not null), 0)::integer as costed_sold_units
              from line group by listing_at) s
      join listing k on k.shop_key = $1 and k.ctid = s.listing_at
      left join product p on p.shop_key = $1 and p.product_gid = k.product_gid
    window by_product as (order by k.product_gid, k.used)
  ), sold as (
    select c.cell_no as entity_no, '' as group_key, 'sku' collate "C" as kind, c.sku as key, c.listing_id, c.sold_units,
           c.sku_sold_units as entity_sold_units, c.sold_minor::bigint as sold_minor, c.valued_sold_units, c.costed_sold_units
      from cell c
    union all
    select coalesce(c.product_no, -grouping(c.family, c.analytics_category, c.vendor)), ${GROUP_KEY},
           case when c.product_no is not null then case when c.used then 'product_used' else 'product' end
             when grouping(c.family) = 0 then 'family' when grouping(c.analytics_category) = 0 then 'analytics_category'
             when grouping(c.vendor) = 0 then 'vendor' else 'workspace' end,
           case when c.product_no is not null then c.product_gid else ${GROUP_KEY} end,
           ${NO_LISTING}, sum(c.sold_units), sum(c.sold_units), sum(c.sold_minor)::bigint, sum(c.valued_sold_units), sum(c.costed_sold_units)
      from cell c
     group by grouping sets ((c.product_no, c.product_gid, c.used), (c.family), (c.analytics_category), (c.vendor), ())
  ), event as (
    select e.order_id, e.line_id, e.lag_days, e.reason, e.returned_units, e.refunded_units, e.restocked_units,
           e.refund_minor, null::bigint as label_minor
      from return_event e where e.shop_key = $1 and e.cohort_month = $2
    union all
    select s.order_id, s.line_id, s.lag_days, null, 0, 0, 0, 0, s.label_minor
      from label_share s where s.shop_key = $1 and s.cohort_month = $2
  ), line_event as (
    select l.line_at, l.order_id, l.ordered_on, l.listing_at, l.unit_cost_minor, e.lag_days, e.reason, e.returned_units,
           e.refunded_units, e.restocked_units, e.refund_minor, e.label_minor,
           greatest(sum(e.returned_units - e.refunded_units) over so_far, 0) as unrefunded_units,
           case when count(e.label_minor) over so_far > 0 then sum(e.returned_units) over so_far else 0 end as labeled_units
      from event e join line l on l.order_id = e.order_id and l.line_id = e.line_id
    window so_far as (partition by l.line_at order by e.lag_days)
  ), line_step as (
    select e.*,
           (e.unrefunded_units - lag(e.unrefunded_units, 1, 0::bigint) over steps)::integer as returned_not_refunded_units,
           (e.labeled_units - lag(e.labeled_units, 1, 0::bigint) over steps)::integer as labeled_returned_units
      from line_event e
    window steps as (partition by e.line_at order by e.lag_days)
  ), step as materialized (
    select c.cell_no, c.product_no, c.family, c.analytics_category, c.vendor, s.order_id, s.ordered_on, s.lag_days, s.reason,
           s.returned_units, s.refunded_units, s.restocked_units, (s.restocked_units * s.unit_cost_minor)::float8 as restocked_cost_minor,
           case when s.unit_cost_minor is not null then s.returned_units else 0 end as costed_returned_units,
           s.refund_minor::float8 as refund_minor, s.label_minor::float8 as label_minor,
           s.returned_not_refunded_units, s.labeled_returned_units
      from line_step s join cell c on c.listing_at = s.listing_at
  ), entity_step as (
    select ${ENTITY}, c.lag_days, sum(c.returned_units)::integer as returned_units,
           sum(c.refunded_units)::integer as refunded_units, sum(c.restocked_units)::integer as restocked_units,
           coalesce(sum(c.restocked_cost_minor), 0) as restocked_cost_minor,
           sum(c.costed_returned_units)::integer as costed_returned_units,
           sum(c.refund_minor) as refund_minor, coalesce(sum(c.label_minor), 0) as label_minor,
           sum(c.returned_not_refunded_units)::integer as returned_not_refunded_units,
           sum(c.labeled_returned_units)::integer as labeled_returned_units
      from step c group by ${entities(", c.lag_days")}
  ), curve as (
    select entity_no, group_key, array_agg(lag_days order by lag_days) as lag_days,
           array_agg(returned_units order by lag_days) as returned_units,
           array_agg(refunded_units order by lag_days) as refunded_units,
           array_agg(restocked_units order by lag_days) as restocked_units,
           array_agg(restocked_cost_minor::bigint order by lag_days) as restocked_cost_minor,
           array_agg(costed_returned_units order by lag_days) as costed_returned_units,
           array_agg(refund_minor::bigint order by lag_days) as refund_minor,
           array_agg(label_minor::bigint order by lag_days) as label_minor,
           array_agg(returned_not_refunded_units order by lag_days) as returned_not_refunded_units,
           array_agg(labeled_returned_units order by lag_days) as labeled_returned_units
      from (
        select entity_no, group_key, lag_days, sum(returned_units) over so_far as returned_units,
               sum(refunded_units) over so_far as refunded_units, sum(restocked_units) over so_far as restocked_units,
               sum(restocked_cost_minor) over so_far as restocked_cost_minor,
               sum(costed_returned_units) over so_far as costed_returned_units,
               sum(refund_minor) over so_far as refund_minor, sum(label_minor) over so_far as label_minor,
               sum(returned_not_refunded_units) over so_far as returned_not_refunded_units,
               sum(labeled_returned_units) over so_far as labeled_returned_units
          from entity_step
        window so_far as (partition by entity_no, group_key order by lag_days rows unbounded preceding)
      ) c
     group by entity_no, group_key
  ), reason as (
    select entity_no, group_key, array_agg(reason order by reason, lag_days) as return_reasons,
           array_agg(lag_days order by reason, lag_days) as return_lag_days,
           array_agg(units order by reason, lag_days) as return_units
      from (
        select ${ENTITY}, c.reason, c.lag_days, sum(c.returned_units) as units
          from step c
         where c.returned_units > 0
         group by ${entities(", c.reason, c.lag_days")}
      ) r
     group by entity_no, group_key
  ), listing_part as (
    select entity_no, sum(sold_units * sold_units) as squared_sold_units
      from (select coalesce(c.cell_no, c.product_no) as entity_no, sum(l.sold_units)::float8 as sold_units
              from line l join cell c on c.listing_at = l.listing_at
             group by grouping sets ((c.cell_no, l.order_id, l.ordered_on), (c.product_no, l.order_id, l.ordered_on))) o
     group by entity_no
  ), day_part as (
    select entity_kind, entity_key, sum(orders) as orders, sum(squared_sold_units) as squared_sold_units
      from group_day
     where shop_key = $1 and sold_on >= $2::date and sold_on < ($2::date + interval '1 month')::date
     group by entity_kind, entity_key
  ), order_event as (
    select ${ORDERS_OF}, c.order_id, c.ordered_on, c.lag_days, sum(c.returned_units)::float8 as returned_units
      from step c
     where c.returned_units > 0
     group by grouping sets ((c.analytics_category, c.order_id, c.ordered_on, c.lag_days), (c.order_id, c.ordered_on, c.lag_days))
  ), order_part as (
    select ${ORDERS_OF}, l.order_id, l.ordered_on, sum(l.sold_units)::float8 as sold_units
      from line l join cell c on c.listing_at = l.listing_at
     where l.order_id in (select order_id from order_event)
     group by grouping sets ((c.analytics_category, l.order_id, l.ordered_on), (l.order_id, l.ordered_on))
  ), order_step as (
    select e.kind, e.key, e.lag_days, sum(p.sold_units * e.returned_units) as sold_returned_units,
           sum(e.so_far ^ 2 - (e.so_far - e.returned_units) ^ 2) as squared_returned_units,
           count(*) filter (where e.so_far = e.returned_units) as returned_orders
      from (select o.*, sum(o.returned_units) over (partition by o.order_id, o.ordered_on, o.key, o.kind order by o.lag_days) as so_far
              from order_event o) e
      join order_part p on p.order_id = e.order_id and p.ordered_on = e.ordered_on and p.key = e.key and p.kind = e.kind
     group by e.kind, e.key, e.lag_days
  ), order_curve as (
    select kind, key, array_agg(lag_days order by lag_days) as lag_days,
           array_agg(returned_orders::bigint order by lag_days) as returned_orders,
           array_agg(sold_returned_units order by lag_days) as sold_returned_units,
           array_agg(squared_returned_units order by lag_days) as squared_returned_units
      from (select kind, key, lag_days, sum(returned_orders) over so_far as returned_orders,
                   sum(sold_returned_units) over so_far as sold_returned_units,
                   sum(squared_returned_units) over so_far as squared_returned_units
              from order_step
            window so_far as (partition by key, kind order by lag_days rows unbounded preceding)) o
     group by key, kind
  ), request as (
    select ${ENTITY},
           sum(q.units) filter (where q.status = 'REQUESTED') as requested_units,
           sum(q.units) filter (where q.status = 'OPEN') as open_units,
           sum(q.units) filter (where q.status = 'CLOSED') as closed_units,
           sum(q.units) filter (where q.status = 'DECLINED') as declined_units,
           sum(q.units) filter (where q.status = 'CANCELED') as canceled_units
      from return_request q join line l on l.order_id = q.order_id and l.line_id = q.line_id
      join cell c on c.listing_at = l.listing_at
     where q.shop_key = $1 and q.cohort_month = $2
     group by ${entities("")}
  ), computed as (
    select $2::date as cohort_month, s.kind as entity_kind, s.key as entity_key, s.listing_id, s.sold_units, s.entity_sold_units,
           s.sold_minor, s.valued_sold_units, s.costed_sold_units, coalesce(q.requested_units, 0) as requested_units,
           coalesce(q.open_units, 0) as open_units, coalesce(q.closed_units, 0) as closed_units,
           coalesce(q.declined_units, 0) as declined_units, coalesce(q.canceled_units, 0) as canceled_units,
           c.lag_days, c.returned_units, c.refunded_units, c.restocked_units, c.restocked_cost_minor,
           c.costed_returned_units, c.refund_minor, c.label_minor, c.returned_not_refunded_units, c.labeled_returned_units,
           r.return_reasons, r.return_lag_days, r.return_units,
           case when s.kind in ('analytics_category', 'workspace') then d.orders end as orders,
           coalesce(d.squared_sold_units, o.squared_sold_units) as squared_sold_units, v.lag_days as order_lag_days,
           v.returned_orders, v.sold_returned_units, v.squared_returned_units,
           case when s.kind = 'workspace' then true end as has_day_money
      from sold s
      left join curve c on c.entity_no = s.entity_no and c.group_key = s.group_key
      left join reason r on r.entity_no = s.entity_no and r.group_key = s.group_key
      left join request q on q.entity_no = s.entity_no and q.group_key = s.group_key
      left join listing_part o on o.entity_no = s.entity_no
      left join order_curve v on v.key = s.key and v.kind = s.kind
      left join day_part d on d.entity_key = s.key and d.entity_kind = s.kind
     where s.key is not null and s.sold_units > 0
  )`,
};

/**
 * The days of a month's groups and of the workspace, computed from the facts (M15, M26). Indexes order_line_by_month,
 * return_event_by_month and label_share_by_month; primary keys of group_day and product.
 */
const GROUP_DAYS: Month = {
  table: "group_day",
  key: "sold_on, entity_kind, entity_key",
  values: `sold_units, sold_lines, lag_days, returned_units, returned_lines, orders, squared_sold_units, sold_minor,
    valued_sold_units, refunded_units, refund_minor, label_minor`,
  held: "sold_on >= $2::date and sold_on < ($2::date + interval '1 month')::date",
  parts: `line as materialized (
    select l.order_id, l.line_id, l.ordered_on, l.sold_units, l.sold_minor, p.family, p.analytics_category,
           coalesce(p.vendor, ${LINE_VENDOR}) as vendor
      from order_line l left join product p on p.shop_key = $1 and p.product_gid = l.product_gid
     where l.shop_key = $1 and l.cohort_month = $2 and l.sold_units > 0
  ), sold as (
    select level, key, ordered_on, sum(sold_units) as sold_units, sum(sold_lines) as sold_lines, count(*) as orders,
           sum(sold_units::float8 * sold_units) as squared_sold_units, coalesce(sum(sold_minor), 0)::bigint as sold_minor,
           coalesce(sum(valued_sold_units), 0) as valued_sold_units
      from (select ${GROUP}, ordered_on,
                   sum(sold_units)::integer as sold_units, count(*)::integer as sold_lines, sum(sold_minor::float8) as sold_minor,
                   (sum(sold_units) filter (where sold_minor is not null))::integer as valued_sold_units
              from line group by ${groups("ordered_on, order_id")}) o
     where key is not null
     group by level, key, ordered_on
  ), event as (
    select e.order_id, e.line_id, e.lag_days, e.returned_units, 0 as returned_lines, e.refunded_units, e.refund_minor,
           0::bigint as label_minor
      from return_event e where e.shop_key = $1 and e.cohort_month = $2
    union all
    select e.order_id, e.line_id, min(e.lag_days), 0, 1, 0, 0, 0
      from return_event e where e.shop_key = $1 and e.cohort_month = $2 and e.returned_units > 0
     group by e.order_id, e.line_id
    union all
    select s.order_id, s.line_id, s.lag_days, 0, 0, 0, 0, s.label_minor
      from label_share s where s.shop_key = $1 and s.cohort_month = $2
  ), step as (
    select ${GROUP}, ordered_on, lag_days, sum(returned_units)::integer as returned_units,
           sum(returned_lines)::integer as returned_lines, sum(refunded_units)::integer as refunded_units,
           sum(refund_minor::float8) as refund_minor, sum(label_minor::float8) as label_minor
      from event e join line l on l.order_id = e.order_id and l.line_id = e.line_id
     group by ${groups("ordered_on, lag_days")}
  ), curve as (
    select level, key, ordered_on, array_agg(lag_days order by lag_days) as lag_days,
           array_agg(returned_units order by lag_days) as returned_units,
           array_agg(returned_lines order by lag_days) as returned_lines,
           array_agg(refunded_units order by lag_days) as refunded_units,
           array_agg(refund_minor::bigint order by lag_days) as refund_minor,
           array_agg(label_minor::bigint order by lag_days) as label_minor
      from (select level, key, ordered_on, lag_days, sum(returned_units) over so_far as returned_units,
                   sum(returned_lines) over so_far as returned_lines, sum(refunded_units) over so_far as refunded_units,
                   sum(refund_minor) over so_far as refund_minor, sum(label_minor) over so_far as label_minor
              from step where key is not null window so_far as (partition by ordered_on, level, key order by lag_days rows unbounded preceding)) c
     group by ordered_on, level, key
  ), computed as (
    select s.ordered_on as sold_on, s.key as entity_key,
           case s.level when 3 then 'family' when 5 then 'analytics_category' when 6 then 'vendor' else 'workspace' end collate "C" as entity_kind,
           s.sold_units, s.sold_lines, c.lag_days, c.returned_units, c.returned_lines, s.orders, s.squared_sold_units, s.sold_minor,
           s.valued_sold_units, c.refunded_units, c.refund_minor, c.label_minor
      from sold s
      left join curve c on c.level = s.level and c.key = s.key and c.ordered_on = s.ordered_on
  )`,
};

/** A month (its first day) that holds rows, and the units that the workspace sold in it. */
type HeldMonth = { month: string; units: number };

/** The months, of those given (first days), that hold rows. Primary keys of cohort and group_day. */
export const listHeldMonths = query<HeldMonth, [shopKey: number, months: readonly string[]], Connection>(
  "list_held_months",
  `select m.month, coalesce((select c.sold_units from cohort c where c.shop_key = $1 and c.entity_kind = 'workspace'
                                and c.entity_key = '' and c.cohort_month = m.month), 0) as units
           from workspace w cross join unnest($2::date[]) m (month)
          where w.shop_key = $1
            and (exists (select from cohort c where c.shop_key = $1 and c.entity_kind in ${KINDS} and c.cohort_month = m.month)
              or exists (select from group_day d where d.shop_key = $1 and d.sold_on >= m.month
                            and d.sold_on < (m.month + interval '1 month')::date))`,
);

/** Adds the rows of a month (its first day) that holds none. */
export const addMonth = inOrder<[shopKey: number, month: string], void, Connection>(
  command("insert_group_days", insertRows(GROUP_DAYS)),
  command("insert_cohorts", insertRows(COHORTS)),
);

const changeGroupDays = inOrder<[shopKey: number, month: string], void, Connection>(
  command("put_group_days", putChangedRows(GROUP_DAYS)),
  command(
    "delete_group_days",
    `delete from group_day where shop_key = $1 and ${GROUP_DAYS.held} and sold_units = 0`,
  ),
);

const changeCohorts = inOrder<[shopKey: number, month: string], (string | null)[], Connection>(
  queryColumn(
    "put_cohorts",
    `${putChangedRows(COHORTS)} returning case when entity_kind = 'sku' then entity_key end as sku`,
  ),
  command("delete_cohorts", `delete from cohort where shop_key = $1 and ${COHORTS.held} and sold_units = 0`),
);

/** Brings the rows of a month (its first day) into line with the facts; returns the SKUs of rows that changed, null for other rows. */
export async function changeMonth(
  connection: Connection,
  shopKey: number,
  month: string,
): Promise<(string | null)[]> {
  await changeGroupDays(connection, shopKey, month);
  return changeCohorts(connection, shopKey, month);
}
