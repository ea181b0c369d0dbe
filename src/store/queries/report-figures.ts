import type { Queryable, Statement } from "../database.ts";
import type { Workspace } from "../workspace.ts";
import { COHORT_MONTHS } from "./cohort.ts";
import type { CohortMonthRow } from "./cohort.ts";
import { LINE_CONDITION } from "./report-lines.ts";
import { CHOSEN, CHOSEN_SKUS, selectionValues } from "./selection.ts";
import type { Selection } from "./selection.ts";

export type ReportRange = {
  selection: Selection;
  window: string;
  /** Length of the window; null = lifetime. */
  windowDays: number | null;
  /** Cohort months to return, both included: the requested ones and those compared with. */
  startMonth: string;
  endMonth: string;
  /** Cohort months whose facts are added up. */
  countedMonths: readonly string[];
  /** Charge months of unmatched labels, both included; null = not asked for. */
  charged: { startMonth: string; endMonth: string } | null;
  /** false: label facts are not looked at. */
  labelCostsIncluded: boolean;
};

/** Facts count inside the window, on lines of the counted cohort months; request units whatever the window. */
export type ReportFigures = {
  /** false: this workspace never had the entity. */
  found: boolean;
  skus: string[] | null;
  months: CohortMonthRow[];
  reasons: { reason: string; returned_units: number }[];
  lags: { lag_days: number; returned_units: number }[];
  returned_not_refunded_units: number;
  refunded_not_returned_units: number;
  returned_units_with_label: number;
  requests: { status: string; units: number }[];
  unmatched_label_minor: number | null;
};

const EVENTS = `select e.order_id, e.line_id, e.lag_days, e.reason, e.returned_units, e.refunded_units,
             null::text as status, 0 as request_units
        from return_event e where e.shop_key = $1 and ($8::integer is null or e.lag_days <= $8)`;

const REQUESTS = `select q.order_id, q.line_id, null::integer, null::text, 0, 0, q.status, q.units
        from return_request q where q.shop_key = $1`;

const STATEMENTS = {
  workspace: statement("workspace"),
  sku: statement("sku"),
  product: statement("product"),
  family: statement("family"),
  analytics_category: statement("analytics_category"),
};

/**
 * One row: all figures of a report, of one moment. Months come from a range scan of cohort's primary key; the facts
 * from the selection's lines (an index per kind, see report-lines.ts) joined by primary keys of return_event,
 * return_request and label_share; unmatched labels from the shop's return_label rows and label_share_by_label.
 */
export async function loadReportFigures(
  database: Queryable,
  workspace: Workspace,
  range: ReportRange,
): Promise<ReportFigures> {
  const rows = await database.rows<ReportFigures>(STATEMENTS[range.selection.kind], [
    ...selectionValues(workspace.shopKey, range.selection),
    range.window,
    firstDay(range.startMonth),
    firstDay(range.endMonth),
    range.windowDays,
    range.countedMonths.map(firstDay),
    range.labelCostsIncluded,
    range.charged === null ? null : firstDay(range.charged.startMonth),
    range.charged === null ? null : firstDay(range.charged.endMonth),
    workspace.currencyCode,
  ]);
  if (rows[0] === undefined) throw new Error("load_report_figures returned no row");
  return rows[0];
}

function statement(kind: Selection["kind"]): Statement {
  return {
    name: `load_report_figures_${kind}`,
    text: `with ${CHOSEN}, ${COHORT_MONTHS}, ${facts(kind)}
  select exists (select from chosen) as found,
         ${CHOSEN_SKUS} as skus,
         coalesce((select json_agg(m order by m.cohort_month) from months m), '[]') as months,
         coalesce((select json_agg(r) from reasons r), '[]') as reasons,
         coalesce((select json_agg(g) from lags g), '[]') as lags,
         m.returned_not_refunded_units, m.refunded_not_returned_units, m.returned_units_with_label,
         coalesce((select json_agg(q) from requests q), '[]') as requests,
         case when $11::date is not null then (select sum_minor from unmatched) end as unmatched_label_minor
    from mismatch m`,
  };
}

function facts(kind: Selection["kind"]): string {
  // Months are compared one by one: a plan for any values would take a range between two parameters for a sliver.
  const ofLines = (source: string) => `select f.*
      from order_line l
      join (${source}) f on f.order_id = l.order_id and f.line_id = l.line_id
     where l.shop_key = $1 and l.cohort_month = any($9::date[]) ${LINE_CONDITION[kind]}`;
  // Lines meet each table by itself: joined to a union, a bad estimate becomes a loop of all rows over all rows.
  return `fact (order_id, line_id, lag_days, reason, returned_units, refunded_units, status, request_units) as (
    ${ofLines(EVENTS)} union all ${ofLines(REQUESTS)}
  ), reasons as (
    select f.reason, sum(f.returned_units) as returned_units
      from fact f where f.returned_units > 0 group by f.reason
  ), lags as (
    select f.lag_days, sum(f.returned_units) as returned_units
      from fact f where f.returned_units > 0 group by f.lag_days
  ), requests as (
    select f.status, sum(f.request_units) as units
      from fact f where f.status is not null group by f.status
  ), line as (
    select f.order_id, f.line_id, sum(f.returned_units) as returned_units, sum(f.refunded_units) as refunded_units
      from fact f where f.status is null group by f.order_id, f.line_id
  ), mismatch as (
    select coalesce(sum(greatest(0, l.returned_units - l.refunded_units)), 0) as returned_not_refunded_units,
           coalesce(sum(greatest(0, l.refunded_units - l.returned_units)), 0) as refunded_not_returned_units,
           coalesce(sum(l.returned_units) filter (where $10 and exists (
             select from label_share s
              where s.shop_key = $1 and s.order_id = l.order_id and s.line_id = l.line_id
                and ($8::integer is null or s.lag_days <= $8))), 0) as returned_units_with_label
      from line l
  ), unmatched as (
    select coalesce(sum(b.amount_minor), 0) as sum_minor
      from return_label b
     where b.shop_key = $1 and b.voided_at is null and b.currency_code = $13
       and date_trunc('month', b.charged_at at time zone 'UTC') between $11 and $12
       and not exists (
         select from label_share s where s.shop_key = $1 and s.source = b.source and s.label_id = b.label_id)
  )`;
}

function firstDay(month: string): string {
  return `${month}-01`;
}
