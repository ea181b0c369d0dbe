import { monthToDate } from "../../lib/month.ts";
import { requireRow } from "../query.ts";
import type { Workspace } from "../workspace.ts";
import { COHORT_MONTHS } from "./cohort.ts";
import type { SelectedMonths } from "./cohort.ts";
import { CATEGORY_OF_SELECTION } from "./outlook.ts";
import { columnsInside, daysOrAll, monthsBetween, placeInside } from "./return-curve.ts";
import { CHOSEN, selectionValues } from "./selection.ts";

/** What came back of a cohort month inside the window; money in minor units. */
export type ReturnedMonthRow = {
  returned_units: number;
  refund_minor: number;
  restocked_cost_minor: number;
  costed_returned_units: number;
};
export type ReturnedMonths = Record<"own" | "category" | "store", ReturnedMonthRow[]>;

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
