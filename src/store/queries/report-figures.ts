import { monthToDate } from "../../lib/month.ts";
import { requireRow, query } from "../query.ts";
import type { Workspace } from "../workspace.ts";
import { COHORT_MONTHS, type CohortMonthRow } from "./cohort.ts";
import { columnsInside, daysOrAll, monthsBetween } from "./return-curve.ts";
import { CHOSEN, CHOSEN_SKUS, FOUND, cohortOfChosen, selectionValues } from "./selection.ts";
import type { Found, Selection } from "./selection.ts";

type ReportRange = {
  selection: Selection;
  /** Length of the window; null = lifetime. */
  windowDays: number | null;
  /** Cohort months to return, both included: the requested ones and those compared with. */
  startMonth: number;
  endMonth: number;
  /** Cohort months whose returns are added up. */
  countedMonths: readonly number[];
  /** Slug of the sale event whose SKUs are wanted; null = none. */
  saleEvent: string | null;
  /** Charge months of unmatched labels, both included; null: not requested. */
  charged: { startMonth: number; endMonth: number } | null;
};

/**
 * A sale event; days are "YYYY-MM-DD", both included. `skus` is set for the requested one; null = the whole workspace.
 */
export type SaleEventRow = {
  slug: string;
  label: string;
  starts_on: string;
  ends_on: string;
  skus: string[] | null;
};

/** Figures inside the window, of the counted cohort months; request units whatever the window. */
export type ReportFigures = Found & {
  skus: string[] | null;
  months: CohortMonthRow[];
  /** `reason` is a stated one, or a key of src/metrics/returned-units.ts for none. */
  reasons: { reason: string; returned_units: number }[];
  lags: { lag_days: number; returned_units: number }[];
  returned_not_refunded_units: number;
  refunded_not_returned_units: number;
  returned_units_with_label: number;
  /** Units of return requests by their present state. */
  request_units: Record<"REQUESTED" | "OPEN" | "CLOSED" | "DECLINED" | "CANCELED", number>;
  unmatched_label_minor: number | null;
  /** Every sale event of the workspace, by slug. */
  sale_events: SaleEventRow[];
};

const COUNTED = ["returned_units", "refunded_units", "returned_not_refunded_units", "labeled_returned_units"];
const REQUEST_STATES = ["requested", "open", "closed", "declined", "canceled"];

const COUNTED_COLUMNS = `c.return_reasons, c.return_lag_days, c.return_units, ${columnsInside("c", COUNTED)},
           ${REQUEST_STATES.map((state) => `c.${state}_units`).join(", ")}`;

/**
 * One row: all figures of a report, from one snapshot. Look-ups in cohort's primary key; unmatched_label_by_day; sale_event's
 * primary key.
 */
export const loadReportFigures = requireRow<ReportFigures, [workspace: Workspace, range: ReportRange]>(
  "load_report_figures",
  `with ${CHOSEN}, ${COHORT_MONTHS}, counted as materialized (
    select m.* from chosen e cross join ${cohortOfChosen(COUNTED_COLUMNS, "c.cohort_month = any($9::date[])", "$6")}
  ), returned as materialized (
    select u.reason, u.lag_days, sum(u.units) as returned_units
      from counted c
     cross join lateral unnest(c.return_reasons, c.return_lag_days, c.return_units) u (reason, lag_days, units)
     where u.lag_days <= $6
     group by u.reason, u.lag_days
  ), reasons as (
    select r.reason, sum(r.returned_units) as returned_units from returned r group by r.reason
  ), lags as (
    select r.lag_days, sum(r.returned_units) as returned_units from returned r group by r.lag_days
  ), total as (
    select coalesce(sum(c.returned_not_refunded_units), 0) as returned_not_refunded_units,
           coalesce(sum(c.refunded_units - c.returned_units + c.returned_not_refunded_units), 0)
             as refunded_not_returned_units,
           coalesce(sum(c.labeled_returned_units), 0) as returned_units_with_label,
           ${REQUEST_STATES.map((state) => `coalesce(sum(c.${state}_units), 0) as ${state}_units`).join(", ")}
      from counted c
  )
  select ${FOUND},
         ${CHOSEN_SKUS} as skus,
         coalesce((select json_agg(m order by m.cohort_month) from months m), '[]') as months,
         coalesce((select json_agg(r) from reasons r), '[]') as reasons,
         coalesce((select json_agg(g) from lags g), '[]') as lags,
         t.returned_not_refunded_units, t.refunded_not_returned_units, t.returned_units_with_label,
         json_build_object(${REQUEST_STATES.map((state) => `'${state.toUpperCase()}', t.${state}_units`).join(", ")}) as request_units,
         case when $10::date is not null then (
           select coalesce(sum(u.amount_minor), 0) from unmatched_label u
            where u.shop_key = $1 and u.charged_on >= $10 and u.charged_on < $11::date + interval '1 month')
         end as unmatched_label_minor,
         coalesce((
           select json_agg(json_build_object('slug', v.slug, 'label', v.label, 'starts_on', v.starts_on, 'ends_on', v.ends_on,
                                             'skus', case when v.slug = $12::text then v.skus end) order by v.slug)
             from sale_event v where v.shop_key = $1), '[]') as sale_events
    from total t`,
  (workspace, range) => [
    ...selectionValues(workspace.shopKey, range.selection),
    daysOrAll(range.windowDays),
    monthToDate(range.startMonth),
    monthToDate(range.endMonth),
    range.countedMonths.map(monthToDate),
    range.charged === null ? null : monthToDate(range.charged.startMonth),
    range.charged === null ? null : monthToDate(range.charged.endMonth),
    range.saleEvent,
  ],
);

/** Units of a selection sold in a cohort month, and those returned by an age. */
export type CurveRow = {
  /** The first of the month, YYYY-MM-DD. */
  cohort_month: string;
  age_days: number;
  sold_units: number;
  returned_units: number;
};

/** Cohort months, both included; `ages` in days after the order. */
type CurveRange = {
  selection: Selection;
  startMonth: number;
  endMonth: number;
  ages: readonly number[];
};

/** One row per month that sold something and age (M19). Look-ups in cohort's primary key, as cohortOfChosen's. */
export const listReturnCurves = query<CurveRow, [workspace: Workspace, range: CurveRange]>(
  "list_return_curves",
  `with ${CHOSEN}
  select m.cohort_month, a.age_days, sum(m.sold_units) as sold_units,
         sum(coalesce(m.returned_units[width_bucket(a.age_days, m.lag_days)], 0)) as returned_units
    from chosen e
    cross join lateral (
      select c.cohort_month, c.sold_units, c.lag_days, c.returned_units
        from cohort c
       where c.shop_key = $1 and c.entity_kind = e.entity_kind and c.entity_key = e.entity_key
         and (e.listing_id is null or c.listing_id = e.listing_id) and c.cohort_month = ${monthsBetween("$6", "$7")}
      offset 0
    ) m
    cross join unnest($8::integer[]) a (age_days)
   group by m.cohort_month, a.age_days`,
  (workspace, range) => [
    ...selectionValues(workspace.shopKey, range.selection),
    monthToDate(range.startMonth),
    monthToDate(range.endMonth),
    range.ages,
  ],
);
