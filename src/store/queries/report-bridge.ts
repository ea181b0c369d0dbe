import { dayToText, firstDayOfMonth, lastDayOfMonth, monthToDate } from "../../lib/month.ts";
import { query } from "../query.ts";
import type { Workspace } from "../workspace.ts";
import { daysOrAll } from "./return-curve.ts";
import { LINE_IS_SELECTED, LINES_OF_FACTS, selectionValues, type Selection } from "./selection.ts";

type BridgeRange = {
  selection: Selection;
  /** null = lifetime. */
  windowDays: number | null;
  /** The requested months, both included, and the counted ones. */
  startMonth: number;
  endMonth: number;
  countedMonths: readonly number[];
  /** Whether each step is divided by its lines' SKUs and months. */
  isByLine: boolean;
};

/**
 * Units of a step of M24, and `returned_in_months`: those returned in the requested months. A step of booking_difference has the
 * source's surplus.
 */
export type BridgeRow = {
  step: string;
  units: number;
  /** The lines' SKU, else their product, else nothing; empty where the steps are whole, as the others. */
  key: string;
  label: string;
  /** The first of the month in which the lines were sold, YYYY-MM-DD. */
  cohort_month: string;
};

const LINE = "coalesce(l.sku, l.product_gid, '') as key, coalesce(p.title, l.line_title, '') as label";
const IN_MONTHS = "e.cohort_month between $6::date and $7::date";
const BY_THEN = "between $8::date and $9::date";

/**
 * One row per step that has units, or per step, SKU and month of order. Indexes return_event_by_day, return_event_by_month
 * and booking_difference_by_day; primary keys of order_line and product.
 */
export const listBridgeSteps = query<BridgeRow, [workspace: Workspace, range: BridgeRange]>(
  "list_bridge_steps",
  `with event as materialized (
    select e.cohort_month, e.returned_units, true as is_by_then, ${IN_MONTHS} as is_in_months, e.lag_days <= $10 as is_inside,
           ${LINE}
      from return_event e ${LINES_OF_FACTS}
     where e.shop_key = $1 and e.occurred_on ${BY_THEN} and e.returned_units > 0 and ${LINE_IS_SELECTED}
    union all
    select e.cohort_month, e.returned_units, false, true, e.lag_days <= $10, ${LINE}
      from return_event e ${LINES_OF_FACTS}
     where e.shop_key = $1 and ${IN_MONTHS} and e.occurred_on not ${BY_THEN} and e.returned_units > 0 and ${LINE_IS_SELECTED}
  ), step as (
    select e.step, e.units, l.cohort_month, ${LINE}
      from booking_difference e ${LINES_OF_FACTS}
     where e.shop_key = $1 and e.booked_on ${BY_THEN} and ${LINE_IS_SELECTED}
    union all
    select s.step, s.sign * e.returned_units, e.cohort_month, e.key, e.label
      from event e
     cross join lateral (values
       ('returned_in_months', 1, e.is_by_then),
       ('other_cohorts', -1, not e.is_in_months),
       ('later_returns', 1, not e.is_by_then),
       ('beyond_window', -1, e.is_in_months and not e.is_inside),
       ('open_months', -1, e.is_in_months and e.is_inside and e.cohort_month <> all($11::date[]))
     ) s (step, sign, is_of)
     where s.is_of
  ), part as (
    select s.step, s.units, case when $12::boolean then s.key else '' end as key,
           case when $12 then s.label else '' end as label,
           case when $12 then s.cohort_month::text else '' end as cohort_month
      from step s
  )
  select p.step, p.key, min(p.label) as label, p.cohort_month, sum(p.units) as units
    from part p group by p.step, p.key, p.cohort_month having sum(p.units) <> 0
   order by p.step, p.cohort_month, p.key`,
  (workspace, range) => [
    ...selectionValues(workspace.shopKey, range.selection),
    monthToDate(range.startMonth),
    monthToDate(range.endMonth),
    dayToText(firstDayOfMonth(range.startMonth)),
    dayToText(lastDayOfMonth(range.endMonth)),
    daysOrAll(range.windowDays),
    range.countedMonths.map(monthToDate),
    range.isByLine,
  ],
);

type ReturnsByThen = { key: string; returned_units: number };

type ReturnsByThenRange = {
  selection: Selection;
  /** null = lifetime. */
  windowDays: number | null;
  /** Cohort months, and the last day (counted from 1970-01-01) on which a return counts; null = any. */
  months: readonly { month: number; lastDay: number | null }[];
};

/**
 * One row per product with returns by then; key "" = no product. Index return_event_by_month; primary keys of order_line and
 * product.
 */
export const listReturnsByThen = query<ReturnsByThen, [workspace: Workspace, range: ReturnsByThenRange]>(
  "list_returns_by_then",
  `select coalesce(l.product_gid, '') as key, sum(e.returned_units) as returned_units
     from unnest($6::date[], $7::date[]) m (cohort_month, last_day)
     join return_event e on e.shop_key = $1 and e.cohort_month = m.cohort_month
     ${LINES_OF_FACTS}
    where (m.last_day is null or e.occurred_on <= m.last_day) and e.lag_days <= $8 and e.returned_units > 0
      and ${LINE_IS_SELECTED}
    group by 1`,
  (workspace, { selection, windowDays, months }) => [
    ...selectionValues(workspace.shopKey, selection),
    months.map(({ month }) => monthToDate(month)),
    months.map(({ lastDay }) => (lastDay === null ? null : dayToText(lastDay))),
    daysOrAll(windowDays),
  ],
);
