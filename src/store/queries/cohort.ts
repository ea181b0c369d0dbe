import { monthToDate } from "../../lib/month.ts";
import { requireRow } from "../query.ts";
import type { Workspace } from "../workspace.ts";
import { columnsInside, daysOrAll, monthsBetween } from "./return-curve.ts";
import { CHOSEN, CHOSEN_SKUS, FOUND, cohortOfChosen, selectionValues } from "./selection.ts";
import type { Found, Selection } from "./selection.ts";

/** Figures of a selection in one cohort month and observation window; money in minor units. */
export type CohortMonthRow = {
  /** The first of the month, YYYY-MM-DD. */
  cohort_month: string;
  sold_units: number;
  /** Of the sold units whose value is known, and how many these are. */
  sold_minor: number;
  valued_sold_units: number;
  returned_units: number;
  refunded_units: number;
  restocked_units: number;
  restocked_cost_minor: number;
  costed_sold_units: number;
  costed_returned_units: number;
  refund_minor: number;
  label_minor: number;
};

/** `windowDays` null = lifetime. Both months are included. */
export type SelectedMonths = {
  selection: Selection;
  windowDays: number | null;
  startMonth: number;
  endMonth: number;
};

type CohortAnswer = Found & {
  skus: string[] | null;
  months: CohortMonthRow[];
};

/** The columns of `CohortMonthRow` that add up. */
export const COHORT_MEASURES = [
  "sold_units",
  "sold_minor",
  "valued_sold_units",
  "returned_units",
  "refunded_units",
  "restocked_units",
  "restocked_cost_minor",
  "costed_sold_units",
  "costed_returned_units",
  "refund_minor",
  "label_minor",
];

/**
 * `months`: the figures of the chosen entities by cohort month, after `CHOSEN`; look-ups in cohort's primary key.
 * $6 days of the window, $7 and $8 the first and last month.
 */
export const COHORT_MONTHS = `months as (
    select m.cohort_month, ${COHORT_MEASURES.map((column) => `sum(m.${column}) as ${column}`).join(", ")}
      from chosen e
      cross join ${cohortOfChosen(
        `c.cohort_month, ${columnsInside("c", COHORT_MEASURES)}`,
        `c.cohort_month = ${monthsBetween("$7", "$8")}`,
        "$6",
      )}
     group by m.cohort_month
  )`;

/** One row: the months of a selection that sold something, oldest first. Look-ups in cohort's primary key. */
export const loadCohort = requireRow<CohortAnswer, [workspace: Workspace, range: SelectedMonths]>(
  "load_cohort",
  `with ${CHOSEN},
  ${COHORT_MONTHS}
  select ${FOUND},
         ${CHOSEN_SKUS} as skus,
         coalesce((select json_agg(m order by m.cohort_month) from months m), '[]') as months`,
  (workspace, range) => [
    ...selectionValues(workspace.shopKey, range.selection),
    daysOrAll(range.windowDays),
    monthToDate(range.startMonth),
    monthToDate(range.endMonth),
  ],
);
