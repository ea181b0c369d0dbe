import { monthToDate } from "../../lib/month.ts";
import type { Queryable } from "../database.ts";
import { requireRow } from "../query.ts";
import type { Workspace } from "../workspace.ts";
import { daysOrAll } from "./return-curve.ts";
import { isWholeStore, LINE_IS_SELECTED, LINES_OF_FACTS, selectionValues } from "./selection.ts";
import type { Selection } from "./selection.ts";

type OutcomesRange = {
  selection: Selection;
  /** null = lifetime. */
  windowDays: number | null;
  countedMonths: readonly number[];
  /** The requested calendar months, both included. */
  startMonth: number;
  endMonth: number;
};

/** How returned units ended (M23); money in minor units. */
export type OutcomeFigures = {
  returned_units: number;
  exchanged_units: number;
  other_units: number;
  refund_minor: number;
  exchange_refund_minor: number;
  kept_minor: number;
  /** null where less than the whole store is selected. */
  unattributed_refund_minor: number | null;
};

const SUMMED = [
  "returned_units",
  "exchanged_units",
  "other_units",
  "refund_minor",
  "exchange_refund_minor",
  "kept_minor",
];
const SUMS = SUMMED.map((column) => `coalesce(sum(e.${column}), 0) as ${column}`);

const load = {
  whole: requireRow<OutcomeFigures, unknown[]>(
    "load_outcomes",
    `select ${SUMS.join(", ")},
            (select coalesce(sum(a.amount_minor), 0) from amount_refund a
              where a.shop_key = $1 and a.refunded_on >= $4::date and a.refunded_on < $5::date + interval '1 month')
              as unattributed_refund_minor
       from return_event e
      where e.shop_key = $1 and e.cohort_month = any($2::date[]) and e.lag_days <= $3`,
  ),
  narrowed: requireRow<OutcomeFigures, unknown[]>(
    "load_narrowed_outcomes",
    `select ${SUMS.join(", ")}, null::bigint as unattributed_refund_minor
       from return_event e ${LINES_OF_FACTS}
      where e.shop_key = $1 and e.cohort_month = any($6::date[]) and e.lag_days <= $7 and ${LINE_IS_SELECTED}`,
  ),
  // From the lines, of which a SKU or a product has few: by month it would read the events of the whole workspace.
  ofFew: requireRow<OutcomeFigures, unknown[]>(
    "load_outcomes_of_few",
    `select ${SUMS.join(", ")}, null::bigint as unattributed_refund_minor
       from order_line l
       left join product p on p.shop_key = $1 and p.product_gid = l.product_gid
      cross join lateral (
        select ${SUMMED.map((column) => `r.${column}`).join(", ")}
          from return_event r
         where r.shop_key = $1 and r.order_id = l.order_id and r.line_id = l.line_id
           and r.cohort_month = any($6::date[]) and r.lag_days <= $7
        offset 0
      ) e
      where l.shop_key = $1 and (l.sku = $3 or l.counterpart_sku = $3 or l.product_gid = $3) and ${LINE_IS_SELECTED}`,
  ),
};

/**
 * One row. Indexes return_event_by_month and amount_refund_by_day, primary keys of order_line and product; of a SKU or a
 * product order_line_by_sku, order_line_by_counterpart, order_line_by_product and the primary key of return_event.
 */
export async function loadOutcomes(
  database: Queryable,
  workspace: Workspace,
  { selection, windowDays, countedMonths, startMonth, endMonth }: OutcomesRange,
): Promise<OutcomeFigures> {
  const counted = [countedMonths.map(monthToDate), daysOrAll(windowDays)];
  return isWholeStore(selection)
    ? load.whole(database, workspace.shopKey, ...counted, monthToDate(startMonth), monthToDate(endMonth))
    : (selection.kind === "sku" || selection.kind === "product" ? load.ofFew : load.narrowed)(
        database,
        ...selectionValues(workspace.shopKey, selection),
        ...counted,
      );
}
