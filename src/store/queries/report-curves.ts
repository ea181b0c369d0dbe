import { monthToDate } from "../../lib/month.ts";
import { query } from "../query.ts";
import type { Workspace } from "../workspace.ts";
import { monthsBetween } from "./return-curve.ts";
import { CHOSEN, selectionValues } from "./selection.ts";
import type { Selection } from "./selection.ts";

/** Units of a selection sold in a cohort month, and those of them that came back by an age. */
export type CurveRow = {
  /** The first of the month, YYYY-MM-DD. */
  cohort_month: string;
  age_days: number;
  sold_units: number;
  returned_units: number;
};

/** Cohort months, both included; `ages` in days after the order. */
export type CurveRange = {
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
