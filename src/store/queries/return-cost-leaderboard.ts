import type { Queryable, Statement } from "../database.ts";
import type { Workspace } from "../workspace.ts";
import type { CohortMonthRow } from "./cohort.ts";
import { CHOSEN, SELECTED_SKUS, selectionValues } from "./selection.ts";
import type { Selection } from "./selection.ts";
import { quartersAndMonths, rankedSkus } from "./sku-quarter.ts";

/** One SKU's figures over the range, in one observation window; money in minor units. */
export type CostSkuRow = Omit<CohortMonthRow, "cohort_month"> & { sku: string; vendor: string | null };

/** M13. `endMonth` before `startMonth` = no month takes part. `minCostMinor` may be a fraction. */
export type CostRange = {
  selection: Selection;
  window: string;
  startMonth: string;
  endMonth: string;
  labelCostsIncluded: boolean;
  minCostMinor: number | null;
  vendor: string | null;
  limit: number;
};

/** `eligible_count`: all SKUs with a cost that pass the filters. */
export type CostAnswer = {
  found: boolean;
  skus: string[] | null;
  eligible_count: number;
  rows: CostSkuRow[];
};

const STATEMENTS = {
  whole: statement("load_return_costs", false),
  narrowed: statement("load_narrowed_return_costs", true),
};

/**
 * One row: the SKUs that cost most, by cost ↓, sku ↑, with all their figures. Statements of sku-quarter.ts, then ranges
 * of cohort's primary key and the primary key of sku for the SKUs returned.
 */
export async function loadReturnCosts(
  database: Queryable,
  workspace: Workspace,
  range: CostRange,
): Promise<CostAnswer> {
  const blocks = quartersAndMonths(range.startMonth, range.endMonth);
  const isNarrowed = range.selection.kind !== "workspace" || range.vendor !== null;
  const rows = await database.rows<CostAnswer>(isNarrowed ? STATEMENTS.narrowed : STATEMENTS.whole, [
    ...selectionValues(workspace.shopKey, range.selection),
    blocks.quarters,
    blocks.months,
    range.window,
    range.vendor,
    range.labelCostsIncluded,
    range.minCostMinor,
    range.limit,
    `${range.startMonth}-01`,
    `${range.endMonth}-01`,
  ]);
  if (rows[0] === undefined) throw new Error("load_return_costs returned no row");
  return rows[0];
}

function statement(name: string, isNarrowed: boolean): Statement {
  return {
    name,
    text: `with ${CHOSEN}, ${SELECTED_SKUS}, ${rankedSkus(["refund_minor", "label_minor"], isNarrowed)}, costly as materialized (
    select r.sku, r.refund_minor + case when $9 then r.label_minor else 0 end as cost_minor from ranked r
  ), eligible as materialized (
    select c.sku, c.cost_minor from costly c where c.cost_minor > 0 and ($10::numeric is null or c.cost_minor::bigint >= $10)
  ), first as materialized (
    select e.sku from eligible e order by e.cost_minor desc, e.sku limit $11
  ), figures as (
    select c.entity_key as sku, sum(c.sold_units) as sold_units, sum(c.returned_units) as returned_units,
           sum(c.refunded_units) as refunded_units, sum(c.restocked_units) as restocked_units,
           sum(c.restocked_cost_minor) as restocked_cost_minor, sum(c.costed_sold_units) as costed_sold_units,
           sum(c.costed_returned_units) as costed_returned_units, sum(c.refund_minor) as refund_minor,
           sum(c.label_minor) as label_minor
      from first f
      join cohort c on c.shop_key = $1 and c.entity_kind = 'sku' and c.entity_key = f.sku
       and c.observation_window = $7 and c.cohort_month between $12::date and $13::date
     group by c.entity_key
  )
  select exists (select from chosen) as found,
         (select array_agg(sku order by sku) from selected_skus) as skus,
         (select count(*) from eligible) as eligible_count,
         coalesce((select json_agg(to_jsonb(r) || jsonb_build_object('vendor', s.vendor))
                     from figures r left join sku s on s.shop_key = $1 and s.sku = r.sku), '[]') as rows`,
  };
}
