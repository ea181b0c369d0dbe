import type { Queryable, Statement } from "../database.ts";
import type { Workspace } from "../workspace.ts";
import { CHOSEN, SELECTED_SKUS, selectionValues } from "./selection.ts";
import type { Selection } from "./selection.ts";

/** One SKU's units over the ranked months, in the primary window. */
export type RankedSkuRow = { sku: string; vendor: string | null; sold_units: number; returned_units: number };

export type RankedRange = {
  selection: Selection;
  startMonth: string;
  endMonth: string;
  minSoldUnits: number;
};

export type RankedAnswer = { found: boolean; skus: string[] | null; rows: RankedSkuRow[] };

const LOAD_RETURN_RATES: Statement = {
  name: "load_return_rates",
  text: `with ${CHOSEN}, ${SELECTED_SKUS},
  ranked as (
    select c.entity_key as sku, sum(c.sold_units) as sold_units, sum(c.returned_units) as returned_units
      from cohort c
     where c.shop_key = $1 and c.entity_kind = 'sku' and c.observation_window = 'primary'
       and c.cohort_month between $5 and $6
       and ($2 = 'workspace' or c.entity_key in (select sku from selected_skus))
     group by c.entity_key
    having sum(c.sold_units) >= $7
  )
  select exists (select from chosen) as found,
         (select array_agg(sku order by sku) from selected_skus) as skus,
         coalesce((select json_agg(json_build_object('sku', r.sku, 'vendor', s.vendor, 'sold_units', r.sold_units,
                                                     'returned_units', r.returned_units))
                     from ranked r left join sku s on s.shop_key = $1 and s.sku = r.sku), '[]') as rows`,
};

/** One row: every selected SKU that sold enough, unranked. One range scan of cohort_leaderboard. */
export async function loadReturnRates(
  database: Queryable,
  workspace: Workspace,
  range: RankedRange,
): Promise<RankedAnswer> {
  const rows = await database.rows<RankedAnswer>(LOAD_RETURN_RATES, [
    ...selectionValues(workspace.shopKey, range.selection),
    `${range.startMonth}-01`,
    `${range.endMonth}-01`,
    range.minSoldUnits,
  ]);
  if (rows[0] === undefined) throw new Error("load_return_rates returned no row");
  return rows[0];
}
