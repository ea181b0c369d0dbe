import type { Queryable, Statement } from "../database.ts";
import type { Workspace } from "../workspace.ts";
import { LINE_CONDITION } from "./report-lines.ts";
import { CHOSEN, selectionValues } from "./selection.ts";
import type { Selection } from "./selection.ts";

/** A sale event; days are "YYYY-MM-DD", both included; `skus` null = the whole workspace. */
export type SaleEventRow = {
  slug: string;
  label: string;
  starts_on: string;
  ends_on: string;
  skus: string[] | null;
};

const LOAD_SALE_EVENTS: Statement = {
  name: "load_sale_events",
  text: `select v.slug, v.label, v.starts_on, v.ends_on, v.skus
           from sale_event v where v.shop_key = $1 order by v.slug`,
};

/** One row per sale event of the workspace, by slug: a scan of sale_event's primary key. */
export async function loadSaleEvents(database: Queryable, workspace: Workspace): Promise<SaleEventRow[]> {
  return database.rows<SaleEventRow>(LOAD_SALE_EVENTS, [workspace.shopKey]);
}

/** Days since 1970-01-01, both included; the ranges of one period do not overlap. */
export type PeriodDays = { period: "event" | "baseline"; startsOnDay: number; endsOnDay: number };

export type SaleFiguresRange = {
  /** A selection, or a sale event's own SKUs, both conditions. */
  scope: Selection | { kind: "skus"; skus: readonly string[] };
  /** null = lifetime. */
  windowDays: number | null;
  days: readonly PeriodDays[];
};

export type SaleFiguresRow = { period: "event" | "baseline"; sold_units: number; returned_units: number };

const STATEMENTS = {
  workspace: statement("workspace"),
  sku: statement("sku"),
  product: statement("product"),
  family: statement("family"),
  analytics_category: statement("analytics_category"),
  skus: statement("skus"),
};

/**
 * One row per period that sold something: units sold on its days, and those of them returned inside the window (M15).
 * order_line by the months of each range of days (an index per kind, see report-lines.ts); return_event's primary key.
 */
export async function loadSaleFigures(
  database: Queryable,
  workspace: Workspace,
  range: SaleFiguresRange,
): Promise<SaleFiguresRow[]> {
  const { scope } = range;
  const selection = scope.kind === "skus" ? WHOLE_WORKSPACE : scope;
  return database.rows<SaleFiguresRow>(STATEMENTS[scope.kind], [
    ...selectionValues(workspace.shopKey, selection),
    range.windowDays,
    range.days.map((days) => days.period),
    range.days.map((days) => days.startsOnDay),
    range.days.map((days) => days.endsOnDay),
    ...(scope.kind === "skus" ? [scope.skus] : []),
  ]);
}

const WHOLE_WORKSPACE: Selection = { kind: "workspace", key: "", includeUsed: false };

function statement(kind: keyof typeof LINE_CONDITION): Statement {
  return {
    name: `load_sale_figures_${kind}`,
    text: `with ${CHOSEN}, days as (
    select d.period, date '1970-01-01' + d.starts_on as starts_on, date '1970-01-01' + d.ends_on as ends_on
      from unnest($6::text[], $7::integer[], $8::integer[]) d (period, starts_on, ends_on)
  ), line as not materialized (
    select d.period, l.order_id, l.line_id, l.sold_units
      from days d
      join order_line l on l.shop_key = $1 and l.ordered_on between d.starts_on and d.ends_on
       and l.cohort_month between d.starts_on - 30 and d.ends_on ${LINE_CONDITION[kind]}
  ), sold as (
    select l.period, sum(l.sold_units) as sold_units from line l group by l.period
  ), returned as (
    select l.period, sum(e.returned_units) as returned_units
      from line l
      join return_event e on e.shop_key = $1 and e.order_id = l.order_id and e.line_id = l.line_id
     where $5::integer is null or e.lag_days <= $5
     group by l.period
  )
  select s.period, s.sold_units, coalesce(r.returned_units, 0) as returned_units
    from sold s left join returned r on r.period = s.period`,
  };
}
