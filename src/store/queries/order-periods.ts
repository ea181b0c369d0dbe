import { dayToText } from "../../lib/month.ts";
import type { Queryable } from "../database.ts";
import { query } from "../query.ts";
import type { Workspace } from "../workspace.ts";
import { daysOrAll, groupDayInside } from "./return-curve.ts";
import { CHOSEN, hasGroupDays, linesOfEntities, selectionValues, type Selection } from "./selection.ts";

/** `starts`: the first days of periods without gaps, oldest first. Days count from 1970-01-01. */
export type OrderPeriodRange = {
  selection: Selection;
  /** Length of the window; null = lifetime. */
  windowDays: number | null;
  starts: readonly number[];
  lastDay: number;
};

/** Figures of the orders of a period inside the window; money in minor units. */
export type OrderPeriodRow = {
  /** Which of `starts`, counted from 0. */
  place: number;
  sold_units: number;
  sold_minor: number;
  valued_sold_units: number;
  returned_units: number;
  refunded_units: number;
  refund_minor: number;
  label_minor: number;
  /** Sum of the squared units of each order and day (M6); null: unknown. */
  squared_sold_units: number | null;
};

const MEASURES = [
  "sold_units",
  "sold_minor",
  "valued_sold_units",
  "returned_units",
  "refunded_units",
  "refund_minor",
  "label_minor",
];
const SUMS = MEASURES.map((column) => `coalesce(sum(m.${column}), 0) as ${column}`).join(", ");
const placeOf = (day: string): string => `width_bucket(${day}, $7::date[]) - 1`;

const listGroupPeriods = query<OrderPeriodRow, unknown[]>(
  "list_group_periods",
  `with ${CHOSEN}
  select ${placeOf("d.sold_on::date")} as place, ${SUMS},
         case when count(*) = count(m.squared_sold_units) then sum(m.squared_sold_units) end as squared_sold_units
    from chosen e
   cross join generate_series(($7::date[])[1]::timestamp, $8::date::timestamp, interval '1 day') d (sold_on)
   cross join lateral (
     ${groupDayInside(MEASURES, "d.sold_on::date", "$6")}
   ) m
   group by 1`,
);

const listLinePeriods = query<OrderPeriodRow, unknown[]>(
  "list_line_periods",
  `with ${CHOSEN}, selected as (select * from chosen), days as (
    select d.month::date as cohort_month, d.month::date as starts_on, $8::date as ends_on
      from generate_series(($7::date[])[1]::timestamp, $8::date::timestamp, interval '1 month') d (month)
  ), line as materialized (
    ${linesOfEntities(`${placeOf("l.ordered_on")} as place, l.ordered_on, l.order_id, l.line_id, l.sold_units, l.sold_minor`, "true")}
  ), part as (
    select l.place, l.sold_units, l.sold_minor, case when l.sold_minor is not null then l.sold_units end as valued_sold_units,
           0 as returned_units, 0 as refunded_units, 0::bigint as refund_minor, 0::bigint as label_minor
      from line l
    union all
    select l.place, 0, 0, 0, e.returned_units, e.refunded_units, e.refund_minor, 0
      from line l
      join return_event e on e.shop_key = $1 and e.order_id = l.order_id and e.line_id = l.line_id
     where e.lag_days <= $6
    union all
    select l.place, 0, 0, 0, 0, 0, 0, s.label_minor
      from line l
      join label_share s on s.shop_key = $1 and s.order_id = l.order_id and s.line_id = l.line_id
     where s.lag_days <= $6
  ), square as (
    select o.place, sum(o.sold_units ^ 2) as squared_sold_units
      from (select l.place, sum(l.sold_units)::float8 as sold_units from line l
             group by l.place, l.ordered_on, l.order_id) o
     group by o.place
  )
  select m.place, ${SUMS}, max(q.squared_sold_units) as squared_sold_units
    from part m join square q on q.place = m.place
   group by m.place`,
);

/**
 * One row per period with sales (M26). Groups, vendors and the workspace: rows of group_day, by its primary key. SKUs, products
 * and a vendor's products of a group: their lines, by linesOfEntities, and the primary keys of return_event and label_share.
 */
export async function listOrderPeriods(
  database: Queryable,
  workspace: Workspace,
  { selection, windowDays, starts, lastDay }: OrderPeriodRange,
): Promise<OrderPeriodRow[]> {
  const list = hasGroupDays(selection) ? listGroupPeriods : listLinePeriods;
  return list(
    database,
    ...selectionValues(workspace.shopKey, selection),
    daysOrAll(windowDays),
    starts.map(dayToText),
    dayToText(lastDay),
  );
}
