import type { Queryable, Statement } from "../database.ts";
import type { Workspace } from "../workspace.ts";
import type { CohortMonthRow } from "./cohort.ts";
import { CHOSEN, SELECTED_SKUS, selectionValues } from "./selection.ts";
import type { Selection } from "./selection.ts";

/** One SKU's figures over the range, in one observation window; money in minor units. */
export type CostSkuRow = Omit<CohortMonthRow, "cohort_month"> & { sku: string; vendor: string | null };

/** `endMonth` before `startMonth` = no month takes part. */
export type CostRange = { selection: Selection; window: string; startMonth: string; endMonth: string };

export type CostAnswer = { found: boolean; skus: string[] | null; rows: CostSkuRow[] };

const LOAD_RETURN_COSTS: Statement = {
  name: "load_return_costs",
  text: `with ${CHOSEN}, ${SELECTED_SKUS},
  costly as (
    select c.entity_key as sku, sum(c.sold_units) as sold_units, sum(c.returned_units) as returned_units,
           sum(c.refunded_units) as refunded_units, sum(c.restocked_units) as restocked_units,
           sum(c.restocked_cost_minor) as restocked_cost_minor, sum(c.costed_sold_units) as costed_sold_units,
           sum(c.costed_returned_units) as costed_returned_units, sum(c.refund_minor) as refund_minor,
           sum(c.label_minor) as label_minor
      from cohort c
     where c.shop_key = $1 and c.entity_kind = 'sku' and c.observation_window = $5
       and c.cohort_month between $6 and $7
       and ($2 = 'workspace' or c.entity_key in (select sku from selected_skus))
     group by c.entity_key
    having sum(c.refund_minor) <> 0 or sum(c.label_minor) <> 0
  )
  select exists (select from chosen) as found,
         (select array_agg(sku order by sku) from selected_skus) as skus,
         coalesce((select json_agg(to_jsonb(r) || jsonb_build_object('vendor', s.vendor))
                     from costly r left join sku s on s.shop_key = $1 and s.sku = r.sku), '[]') as rows`,
};

/** One row: every selected SKU that cost something, unranked. One range scan of cohort_leaderboard. */
export async function loadReturnCosts(
  database: Queryable,
  workspace: Workspace,
  range: CostRange,
): Promise<CostAnswer> {
  const rows = await database.rows<CostAnswer>(LOAD_RETURN_COSTS, [
    ...selectionValues(workspace.shopKey, range.selection),
    range.window,
    `${range.startMonth}-01`,
    `${range.endMonth}-01`,
  ]);
  if (rows[0] === undefined) throw new Error("load_return_costs returned no row");
  return rows[0];
}
