import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";
import type { Workspace } from "../workspace.ts";
import { CHOSEN, selectionValues } from "./selection.ts";
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

export type SaleFiguresRange = {
  /** A selection, or a sale event's own SKUs, both conditions. */
  scope: Selection | { kind: "skus"; skus: readonly string[] };
  window: string;
  /** Length of the window; null = lifetime. */
  windowDays: number | null;
  /** No day of a period is there twice. */
  days: readonly MonthDays[];
};

export type SaleFiguresRow = { period: SalePeriod; sold_units: number; returned_units: number };

const ENTITIES = `${CHOSEN}, entity as (
    select entity_kind, entity_key from chosen where $2 <> 'skus'
    union all
    select distinct 'sku', s.sku from unnest($11::text[]) s (sku) where $2 = 'skus'
  ), days as (
    select d.period, date '1970-01-01' + d.month as cohort_month, date '1970-01-01' + d.starts_on as starts_on,
           date '1970-01-01' + d.ends_on as ends_on, d.is_whole
      from unnest($6::text[], $7::integer[], $8::integer[], $9::integer[], $10::boolean[])
           d (period, month, starts_on, ends_on, is_whole)
  )`;

const LOAD_GROUP_SALE_FIGURES = defineStatement({
  name: "load_group_sale_figures",
  text: `with ${ENTITIES}
  select d.period, sum(u.sold_units) as sold_units, sum(u.returned_units) as returned_units
    from entity e
   cross join days d
    join cohort c on c.shop_key = $1 and c.entity_kind = e.entity_kind and c.entity_key = e.entity_key
     and c.observation_window = $5 and c.cohort_month = d.cohort_month
   cross join lateral unnest(c.sold_days, c.day_sold_units, c.day_returned_units) u (ordered_on, sold_units, returned_units)
   where u.ordered_on between d.starts_on and d.ends_on
   group by d.period`,
});

const LOAD_LINE_SALE_FIGURES = defineStatement({
  name: "load_line_sale_figures",
  text: `with ${ENTITIES}, line as materialized (
    select d.period, l.order_id, l.line_id, l.sold_units
      from entity e
     cross join days d
      join order_line l on l.shop_key = $1 and l.sku = e.entity_key and l.cohort_month = d.cohort_month
       and l.ordered_on between d.starts_on and d.ends_on
     where e.entity_kind = 'sku' and not d.is_whole and l.sold_units > 0
    union all
    select d.period, l.order_id, l.line_id, l.sold_units
      from entity e
     cross join days d
      join order_line l on l.shop_key = $1 and l.product_gid = e.entity_key and l.cohort_month = d.cohort_month
       and l.ordered_on between d.starts_on and d.ends_on and l.used = (e.entity_kind = 'product_used')
     where e.entity_kind in ('product', 'product_used') and not d.is_whole and l.sold_units > 0
  ), part as (
    select l.period, l.sold_units, 0 as returned_units from line l
    union all
    select l.period, 0, e.returned_units
      from line l
      join return_event e on e.shop_key = $1 and e.order_id = l.order_id and e.line_id = l.line_id
     where $12::integer is null or e.lag_days <= $12
    union all
    select d.period, c.sold_units, c.returned_units
      from entity e
     cross join days d
      join cohort c on c.shop_key = $1 and c.entity_kind = e.entity_kind and c.entity_key = e.entity_key
       and c.observation_window = $5 and c.cohort_month = d.cohort_month
     where d.is_whole
  )
  select p.period, sum(p.sold_units) as sold_units, sum(p.returned_units) as returned_units
    from part p group by p.period`,
});

/**
 * One row per period that sold something: units sold on its days, and those of them returned inside the window (M15).
 * Groups and the workspace: the days in cohort's rows. SKUs and products: their lines of the days, by
 * order_line_by_sku or order_line_by_product and return_event's primary key; whole months by cohort's.
 */
export async function loadSaleFigures(
  database: Queryable,
  workspace: Workspace,
  range: SaleFiguresRange,
): Promise<SaleFiguresRow[]> {
  const { scope, days } = range;
  const values = [
    ...selectionValues(workspace.shopKey, scope.kind === "skus" ? LISTED_SKUS : scope),
    range.window,
    days.map((row) => row.period),
    days.map((row) => row.monthDay),
    days.map((row) => row.startsOnDay),
    days.map((row) => row.endsOnDay),
    days.map((row) => row.isWhole),
    scope.kind === "skus" ? scope.skus : [],
  ];
  return hasDays(scope.kind)
    ? database.rows<SaleFiguresRow>(LOAD_GROUP_SALE_FIGURES, values)
    : database.rows<SaleFiguresRow>(LOAD_LINE_SALE_FIGURES, [...values, range.windowDays]);
}

const LISTED_SKUS = { kind: "skus", key: "", includeUsed: false } as const;

function hasDays(kind: SaleFiguresRange["scope"]["kind"]): boolean {
  return kind === "workspace" || kind === "family" || kind === "analytics_category";
}
