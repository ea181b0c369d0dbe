import type { Queryable } from "../database.ts";
import { query } from "../query.ts";
import type { Workspace } from "../workspace.ts";
import { columnsInside, daysOrAll, groupDayInside } from "./return-curve.ts";
import { CHOSEN, cohortOfChosen, hasGroupDays, linesOfEntities, selectionValues } from "./selection.ts";
import type { Selection } from "./selection.ts";

export type SalePeriod = "event" | "baseline";

/** Days of one cohort month, counted from 1970-01-01; both ends included, `monthDay` the month's first. */
export type MonthDays = {
  period: SalePeriod;
  monthDay: number;
  startsOnDay: number;
  endsOnDay: number;
  isWhole: boolean;
};

/** Whether the squares of whole months come from their rows of cohort, and are not in the figures. */
export function hasWholeMonths(scope: SaleFiguresRange["scope"]): boolean {
  return scope.kind === "skus" || !hasGroupDays(scope);
}

export type SaleFiguresRange = {
  /** A selection, or a sale event's own SKUs, both conditions. */
  scope: Selection | { kind: "skus"; skus: readonly string[] };
  /** Length of the window; null = lifetime. */
  windowDays: number | null;
  /** No day of a period is there twice. */
  days: readonly MonthDays[];
};

export type SaleFiguresRow = {
  period: SalePeriod;
  sold_units: number;
  returned_units: number;
  /** Sum of the squared units of each order and day (M6); null: unknown. */
  squared_sold_units: number | null;
};

const UNITS = ["sold_units", "returned_units"];

const ENTITIES = `${CHOSEN}, selected as (
    select entity_kind, entity_key, listing_id from chosen where $2 <> 'skus'
    union all
    select distinct 'sku', s.sku, null::uuid from unnest($12::text[]) s (sku) where $2 = 'skus'
  ), days as (
    select d.period, date '1970-01-01' + d.month as cohort_month, date '1970-01-01' + d.starts_on as starts_on,
           date '1970-01-01' + d.ends_on as ends_on, d.is_whole
      from unnest($7::text[], $8::integer[], $9::integer[], $10::integer[], $11::boolean[])
           d (period, month, starts_on, ends_on, is_whole)
  )`;

const loadGroupSaleFigures = query<SaleFiguresRow, unknown[]>(
  "load_group_sale_figures",
  `with ${ENTITIES}
  select d.period, sum(m.sold_units) as sold_units, sum(m.returned_units) as returned_units,
         case when count(*) = count(m.squared_sold_units) then sum(m.squared_sold_units) end as squared_sold_units
    from selected e
   cross join days d
   cross join lateral generate_series(d.starts_on::timestamp, d.ends_on::timestamp, interval '1 day') day (sold_on)
   cross join lateral (
     ${groupDayInside(UNITS, "day.sold_on::date", "$6")}
   ) m
   group by d.period`,
);

const loadLineSaleFigures = query<SaleFiguresRow, unknown[]>(
  "load_line_sale_figures",
  `with ${ENTITIES}, line as materialized (
    ${linesOfEntities("d.period, l.ordered_on, l.order_id, l.line_id, l.sold_units", "not d.is_whole")}
  ), part as (
    select l.period, l.sold_units, 0 as returned_units from line l
    union all
    select l.period, 0, e.returned_units
      from line l
      join return_event e on e.shop_key = $1 and e.order_id = l.order_id and e.line_id = l.line_id
     where e.lag_days <= $6
    union all
    select d.period, m.sold_units, m.returned_units
      from selected e
     cross join days d
     cross join ${cohortOfChosen(columnsInside("c", UNITS), "c.cohort_month = d.cohort_month", "$6")}
     where d.is_whole
  )
  select p.period, sum(p.sold_units) as sold_units, sum(p.returned_units) as returned_units,
         coalesce((select sum(o.sold_units ^ 2)
                     from (select sum(l.sold_units)::float8 as sold_units from line l
                            where l.period = p.period group by l.ordered_on, l.order_id) o), 0) as squared_sold_units
    from part p group by p.period`,
);

/**
 * One row per period with sales: units sold on its days, and those returned inside the window (M15). Groups, vendors and the
 * workspace: rows of group_day. SKUs, products and a vendor's products of a group: their lines of the days, by order_line_by_sku,
 * order_line_by_product or order_line_by_counterpart and return_event's primary key; whole months by cohort's.
 */
export async function loadSaleFigures(
  database: Queryable,
  workspace: Workspace,
  range: SaleFiguresRange,
): Promise<SaleFiguresRow[]> {
  const { scope, days } = range;
  const values = [
    ...selectionValues(workspace.shopKey, scope.kind === "skus" ? LISTED_SKUS : scope),
    daysOrAll(range.windowDays),
    days.map((row) => row.period),
    days.map((row) => row.monthDay),
    days.map((row) => row.startsOnDay),
    days.map((row) => row.endsOnDay),
    days.map((row) => row.isWhole),
    scope.kind === "skus" ? scope.skus : [],
  ];
  const load = hasWholeMonths(scope) ? loadLineSaleFigures : loadGroupSaleFigures;
  return load(database, ...values);
}

const LISTED_SKUS = { kind: "skus", key: "", includeUsed: false, vendor: null } as const;
