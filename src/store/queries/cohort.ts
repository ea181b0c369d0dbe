import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";
import type { Workspace } from "../workspace.ts";
import { CHOSEN, CHOSEN_COHORT, CHOSEN_SKUS, FOUND, selectionValues } from "./selection.ts";
import type { Found, Selection } from "./selection.ts";

/** Figures of a selection in one cohort month and observation window; money in minor units. */
export type CohortMonthRow = {
  cohort_month: string;
  sold_units: number;
  returned_units: number;
  refunded_units: number;
  restocked_units: number;
  restocked_cost_minor: number;
  costed_sold_units: number;
  costed_returned_units: number;
  refund_minor: number;
  label_minor: number;
};

export type CohortRange = { selection: Selection; window: string; startMonth: string; endMonth: string };

export type CohortAnswer = Found & {
  skus: string[] | null;
  months: CohortMonthRow[];
};

/**
 * `months`: the figures of the chosen entities by cohort month, after `CHOSEN`; one range scan of cohort's primary key.
 * $6 observation window, $7 and $8 the first and last month.
 */
export const COHORT_MONTHS = `months as (
    select c.cohort_month, sum(c.sold_units) as sold_units, sum(c.returned_units) as returned_units,
           sum(c.refunded_units) as refunded_units, sum(c.restocked_units) as restocked_units,
           sum(c.restocked_cost_minor) as restocked_cost_minor, sum(c.costed_sold_units) as costed_sold_units,
           sum(c.costed_returned_units) as costed_returned_units, sum(c.refund_minor) as refund_minor,
           sum(c.label_minor) as label_minor
      from chosen e
      ${CHOSEN_COHORT} and c.observation_window = $6 and c.cohort_month between $7 and $8
     group by c.cohort_month
  )`;

const LOAD_COHORT = defineStatement({
  name: "load_cohort",
  text: `with ${CHOSEN},
  ${COHORT_MONTHS}
  select ${FOUND},
         ${CHOSEN_SKUS} as skus,
         coalesce((select json_agg(m order by m.cohort_month) from months m), '[]') as months`,
});

/** One row: the months of a selection that sold something, oldest first. One range scan of cohort's primary key. */
export async function loadCohort(
  database: Queryable,
  workspace: Workspace,
  range: CohortRange,
): Promise<CohortAnswer> {
  const rows = await database.rows<CohortAnswer>(LOAD_COHORT, [
    ...selectionValues(workspace.shopKey, range.selection),
    range.window,
    `${range.startMonth}-01`,
    `${range.endMonth}-01`,
  ]);
  if (rows[0] === undefined) throw new Error("load_cohort returned no row");
  return rows[0];
}
