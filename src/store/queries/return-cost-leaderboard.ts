import { monthToDate } from "../../lib/month.ts";
import type { Queryable } from "../database.ts";
import type { Workspace } from "../workspace.ts";
import { COHORT_MEASURES, type CohortMonthRow } from "./cohort.ts";
import { firstWithExcess } from "./excess-cost.ts";
import { columnsInside, daysOrAll, monthsBetween, placeInside } from "./return-curve.ts";
import { LISTED_PRODUCT, rankingStatements, type ListedProduct, type Ranking } from "./ranking.ts";
import { selectionValues, type Selection } from "./selection.ts";
import { findBlocks } from "./sku-rollup.ts";

/** One SKU's figures over the range in one observation window, money in minor units. */
type CostSkuRow = Omit<CohortMonthRow, "cohort_month"> &
  ListedProduct & {
    sku: string;
    /** M25, in minor units. */
    excess_minor: number | null;
  };

/**
 * M13. `usualMonths` are those of M25. `endMonth` before `startMonth`: no month is included. `minCostMinor` may be a fraction.
 */
type CostRange = {
  selection: Selection;
  /** null = lifetime. */
  windowDays: number | null;
  startMonth: number;
  endMonth: number;
  usualMonths: readonly number[];
  labelCostsIncluded: boolean;
  minCostMinor: number | null;
  vendor: string | null;
  limit: number;
};

/** The ranking is of all SKUs with a cost that pass the filters. */
export type CostAnswer = Ranking<CostSkuRow> & {
  eligible_label_minor: number;
};

const RANKED = [
  "sold_units",
  "sold_minor",
  "valued_sold_units",
  "returned_units",
  "refund_minor",
  "label_minor",
];

const statementOf = rankingStatements<CostAnswer>("return_costs", {
  columns: RANKED,
  vendor: "$9",
  parameters: 17,
  steps: (narrowing) => `costly as materialized (
    select r.*, r.refund_minor + case when $7 then r.label_minor else 0 end as cost_minor from ranked r
  ), eligible as materialized (
    select c.* from costly c
     where c.cost_minor > 0 and ($10::numeric is null or c.cost_minor::bigint >= $10)
       and ($9::text is null or c.sku in (select s.sku from shown s where s.vendor = $9))
  ), costliest as materialized (
    select e.sku, e.cost_minor from eligible e order by e.cost_minor desc, e.sku limit $11
  ), listed as materialized (
    select f.sku, f.cost_minor, m.*
      from costliest f
     cross join lateral (
       select ${COHORT_MEASURES.map((column) => `sum(i.${column}) as ${column}`).join(", ")}
         from (
           select ${columnsInside("c", COHORT_MEASURES)}
             from cohort c cross join lateral ${placeInside("c", "$8")}
            where c.shop_key = $1 and c.entity_kind = 'sku' and c.entity_key = f.sku
              and c.cohort_month = ${monthsBetween("$12", "$13")} ${narrowing("c.entity_key", "c.listing_id")}
         ) i
     ) m
  ), ${firstWithExcess(narrowing, "$6", { quarters: "$14", months: "$15", years: "$16", lessMonths: "$17" })}, total as (
    select count(*) as eligible_count,
           ${RANKED.map((column) => `coalesce(sum(e.${column}), 0)::bigint as eligible_${column}`).join(", ")}
      from eligible e
  )`,
  rows: `json_agg(to_jsonb(f) - 'cost_minor' || jsonb_build_object(${LISTED_PRODUCT})
                  order by f.cost_minor desc, f.sku)`,
});

/**
 * One row: the SKUs that cost most, by cost ↓, sku ↑, with all their figures. Statements of sku-rollup.ts, then
 * primary keys of cohort, sku and product and statements of excess-cost.ts for the SKUs returned.
 */
export async function loadReturnCosts(
  database: Queryable,
  workspace: Workspace,
  range: CostRange,
): Promise<CostAnswer> {
  const windowDays = daysOrAll(range.windowDays);
  const { shopKey } = workspace;
  const { ranked, usual } = await findBlocks(database, shopKey, windowDays, range, range.usualMonths);
  return statementOf(range.selection, range.vendor !== null, ranked)(
    database,
    ...selectionValues(shopKey, range.selection),
    range.usualMonths.map(monthToDate),
    range.labelCostsIncluded,
    windowDays,
    range.vendor,
    range.minCostMinor,
    range.limit,
    monthToDate(range.startMonth),
    monthToDate(range.endMonth),
    usual.quarters,
    usual.months,
    usual.years,
    usual.lessMonths,
  );
}
