import type { Queryable } from "../database.ts";
import { query, requireRow } from "../query.ts";
import type { Workspace } from "../workspace.ts";
import { CHOSEN, hasGroupDays, linesOfEntities, selectionValues, type Selection } from "./selection.ts";
import { monthToDate } from "../../lib/month.ts";
import { COHORT_MONTHS, type SelectedMonths } from "./cohort.ts";
import { columnsInside, daysOrAll, monthsBetween, placeInside } from "./return-curve.ts";

/**
 * Sales of an order day and their cumulative returns by lag: of the selection, of the one category it belongs to, or of the
 * store. Days count from 1970-01-01; null without returns.
 */
export type DayCurveRow = {
  part: "own" | "category" | "store";
  day: number;
  sold_units: number;
  sold_lines: number;
  lag_days: number[] | null;
  returned_units: number[] | null;
  returned_lines: number[] | null;
};

/** Order days, both ends included: all of the selection's own, and those of the base period. */
type OutlookRange = { fromDay: number; toDay: number; baseFromDay: number; baseToDay: number };

/** `category`: the analytics category that a selection belongs to; no row where none, or several. $1 to $3 as in `CHOSEN`. */
const CATEGORY_OF_SELECTION = `category as (
    select p.analytics_category as key from sku s join product p on p.shop_key = $1 and p.product_gid = s.product_gid
     where $2 = 'sku' and s.shop_key = $1 and s.sku = $3
    union all
    select p.analytics_category from product p where $2 = 'product' and p.shop_key = $1 and p.product_gid = $3
    union all
    select $3 where $2 = 'analytics_category'
  )`;

/** $6 and $7 the first and last day of the selection's own, $8 and $9 those of the base period. */
const PARTS = `${CHOSEN}, selected as (select * from chosen), days as (
    select m.month::date as cohort_month, date '1970-01-01' + $6::integer as starts_on,
           date '1970-01-01' + $7::integer as ends_on
      from generate_series(date_trunc('month', date '1970-01-01' + $6::integer), date '1970-01-01' + $7::integer,
                           interval '1 month') m (month)
  ), ${CATEGORY_OF_SELECTION}, base as (
    select case g.entity_kind when 'workspace' then 'store' else 'category' end as part,
           g.sold_on - date '1970-01-01' as day, g.sold_units, g.sold_lines, g.lag_days, g.returned_units,
           g.returned_lines
      from group_day g
     where g.shop_key = $1
       and (g.entity_kind = 'workspace' and g.entity_key = ''
            or g.entity_kind = 'analytics_category' and g.entity_key in (select c.key from category c))
       and g.sold_on between date '1970-01-01' + $8::integer and date '1970-01-01' + $9::integer
  )`;

const loadGroupDayCurves = query<DayCurveRow, unknown[]>(
  "load_group_day_curves",
  `with ${PARTS}
  select 'own' as part, g.sold_on - date '1970-01-01' as day, g.sold_units, g.sold_lines, g.lag_days,
         g.returned_units, g.returned_lines
    from selected e
    join group_day g on g.shop_key = $1 and g.entity_kind = e.entity_kind and g.entity_key = e.entity_key
     and g.sold_on between date '1970-01-01' + $6::integer and date '1970-01-01' + $7::integer
  union all
  select b.part, b.day, b.sold_units, b.sold_lines, b.lag_days, b.returned_units, b.returned_lines from base b`,
);

const loadLineDayCurves = query<DayCurveRow, unknown[]>(
  "load_line_day_curves",
  `with ${PARTS}, line as materialized (
    ${linesOfEntities("l.order_id, l.line_id, l.ordered_on, l.sold_units", "true")}
  ), sold as (
    select l.ordered_on, sum(l.sold_units) as sold_units, count(*) as sold_lines from line l group by l.ordered_on
  ), event as materialized (
    select l.ordered_on, l.order_id, l.line_id, e.lag_days, e.returned_units
      from line l
      join return_event e on e.shop_key = $1 and e.order_id = l.order_id and e.line_id = l.line_id
     where e.returned_units > 0
  ), step as (
    select p.ordered_on, p.lag_days, sum(p.returned_units) as returned_units, sum(p.returned_lines) as returned_lines
      from (select ordered_on, lag_days, returned_units, 0 as returned_lines from event
            union all
            select ordered_on, min(lag_days), 0, 1 from event group by ordered_on, order_id, line_id) p
     group by p.ordered_on, p.lag_days
  ), curve as (
    select c.ordered_on, array_agg(c.lag_days order by c.lag_days) as lag_days,
           array_agg(c.returned_units::bigint order by c.lag_days) as returned_units,
           array_agg(c.returned_lines::bigint order by c.lag_days) as returned_lines
      from (select s.ordered_on, s.lag_days, sum(s.returned_units) over so_far as returned_units,
                   sum(s.returned_lines) over so_far as returned_lines
              from step s window so_far as (partition by s.ordered_on order by s.lag_days)) c
     group by c.ordered_on
  )
  select 'own' as part, s.ordered_on - date '1970-01-01' as day, s.sold_units, s.sold_lines, c.lag_days,
         c.returned_units, c.returned_lines
    from sold s left join curve c on c.ordered_on = s.ordered_on
  union all
  select b.part, b.day, b.sold_units, b.sold_lines, b.lag_days, b.returned_units, b.returned_lines from base b`,
);

/**
 * One row per part and day with sales (M18). Groups, vendors and the workspace: rows of group_day, by its primary key. SKUs,
 * products and a vendor's products of a group: their lines, by linesOfEntities.
 */
export async function loadDayCurves(
  database: Queryable,
  workspace: Workspace,
  { selection, range }: { selection: Selection; range: OutlookRange },
): Promise<DayCurveRow[]> {
  const load = hasGroupDays(selection) ? loadGroupDayCurves : loadLineDayCurves;
  return load(
    database,
    ...selectionValues(workspace.shopKey, selection),
    range.fromDay,
    range.toDay,
    range.baseFromDay,
    range.baseToDay,
  );
}

/** Returns of a cohort month inside the window; money in minor units. */
export type ReturnedMonthRow = {
  returned_units: number;
  refund_minor: number;
  restocked_cost_minor: number;
  costed_returned_units: number;
};
type ReturnedMonths = Record<"own" | "category" | "store", ReturnedMonthRow[]>;

const MEASURES = ["returned_units", "refund_minor", "restocked_cost_minor", "costed_returned_units"];

/**
 * One row: the months of a selection, of the one category that it belongs to, and of the store (M21). Look-ups in cohort's
 * primary key.
 */
export const loadReturnedMonths = requireRow<ReturnedMonths, [workspace: Workspace, range: SelectedMonths]>(
  "load_returned_months",
  `with ${CHOSEN}, ${COHORT_MONTHS}, ${CATEGORY_OF_SELECTION}, grouped as (
    select c.entity_kind, ${columnsInside("c", MEASURES)}
      from cohort c cross join lateral ${placeInside("c", "$6")}
     where c.shop_key = $1 and c.cohort_month = ${monthsBetween("$7", "$8")}
       and (c.entity_kind = 'workspace' and c.entity_key = ''
            or c.entity_kind = 'analytics_category' and c.entity_key in (select k.key from category k))
  )
  select coalesce((select json_agg(m) from months m), '[]') as own,
         coalesce((select json_agg(g) from grouped g where g.entity_kind = 'analytics_category'), '[]') as category,
         coalesce((select json_agg(g) from grouped g where g.entity_kind = 'workspace'), '[]') as store`,
  (workspace, range) => [
    ...selectionValues(workspace.shopKey, range.selection),
    daysOrAll(range.windowDays),
    monthToDate(range.startMonth),
    monthToDate(range.endMonth),
  ],
);
