import { monthToDate } from "../../lib/month.ts";
import type { Queryable } from "../database.ts";
import type { Workspace } from "../workspace.ts";
import { firstWithExcess } from "./excess-cost.ts";
import { LISTED_PRODUCT, rankingStatements, type ListedProduct, type Ranking } from "./ranking.ts";
import { selectionValues, type Selection } from "./selection.ts";
import { blockRows, findBlocks } from "./sku-rollup.ts";

/** One SKU's units over the ranked months, in the primary window. */
type RankedSkuRow = ListedProduct & {
  sku: string;
  sold_units: number;
  returned_units: number;
  /** M25, in minor units. */
  excess_minor: number | null;
};

/**
 * M12. `usualMonths` are those of M25. `minSoldUnits` is the workspace's threshold, the filters are the request's. `months` null:
 * none.
 */
type RankedRange = {
  selection: Selection;
  months: { startMonth: number; endMonth: number } | null;
  usualMonths: readonly number[];
  labelCostsIncluded: boolean;
  /** Days of the primary window. */
  windowDays: number;
  minSoldUnits: number;
  filters: { minSoldUnits: number | null; minReturnRate: number | null; vendor: string | null };
  /** How many SKUs of the ranking are visible, filtered or not; null: all. */
  cardSize: number | null;
  /** The most SKUs to return. */
  limit: number;
};

/** M20, only for the totals. */
const VALUES = ["sold_minor", "valued_sold_units", "refund_minor"];

const statementOf = rankingStatements<Ranking<RankedSkuRow>>("return_rates", {
  columns: ["sold_units", "returned_units", ...VALUES],
  vendor: "$12",
  parameters: 18,
  leastSold: "$9",
  steps: (narrowing, blocks) => `eligible as materialized (
    select r.*,
           ($10::bigint is null or r.sold_units >= $10) and ($11::numeric is null or r.returned_units::bigint >= $11 * greatest(r.sold_units::bigint, 1))
           and ($12::text is null or r.sku in (select s.sku from shown s where s.vendor = $12)) as passes
      from ranked r where r.sold_units >= $9
  ), visible as (
    select e.* from eligible e where e.passes or $13::bigint is not null order by ${order("e")} limit coalesce($13, $14)
  ), ranking as (
    select v.sku, v.sold_units, v.returned_units from visible v where v.passes order by ${order("v")} limit $14
  ), listed as materialized (
    select r.*, (
             select sum(m.refund_minor + case when $7 then m.label_minor else 0 end)
               from (${blockRows(["refund_minor", "label_minor"], (sku, listing) => `and ${sku} = r.sku ${narrowing(sku, listing)}`, blocks)}) m
           ) as cost_minor
      from ranking r
  ), ${firstWithExcess(narrowing, "$6", { quarters: "$15", months: "$16", years: "$17", lessMonths: "$18" })}, total as (
    select count(*) as eligible_count, coalesce(sum(e.sold_units), 0)::bigint as eligible_sold_units,
           coalesce(sum(e.returned_units), 0)::bigint as eligible_returned_units,
           ${VALUES.map((column) => `coalesce(sum(e.${column}), 0)::bigint as eligible_${column}`).join(", ")}
      from eligible e where e.passes
  )`,
  rows: `json_agg(json_build_object('sku', f.sku, ${LISTED_PRODUCT}, 'sold_units', f.sold_units::bigint, 'excess_minor', f.excess_minor,
                                    'returned_units', f.returned_units::bigint) order by ${order("f")})`,
});

/**
 * One row: the SKUs of M12's ranking that may be seen and pass the filters. A rate is ranked as a quotient in double
 * precision: two different rates of units below 2^26 are different quotients, and beyond that none changes places with a
 * lower one. Statements of sku-rollup.ts and excess-cost.ts; primary keys of sku, product and cohort for the SKUs returned.
 */
export async function loadReturnRates(
  database: Queryable,
  workspace: Workspace,
  range: RankedRange,
): Promise<Ranking<RankedSkuRow>> {
  const { selection, filters, windowDays } = range;
  const { ranked, usual } = await findBlocks(
    database,
    workspace.shopKey,
    windowDays,
    range.months,
    range.usualMonths,
  );
  // Where other vendors' SKUs take part in the ranking, all are read.
  const isVendorAlone = range.cardSize === null && filters.vendor !== null;
  return statementOf(selection, isVendorAlone, ranked)(
    database,
    ...selectionValues(workspace.shopKey, selection),
    range.usualMonths.map(monthToDate),
    range.labelCostsIncluded,
    windowDays,
    range.minSoldUnits,
    filters.minSoldUnits,
    filters.minReturnRate,
    filters.vendor,
    range.cardSize,
    range.limit,
    usual.quarters,
    usual.months,
    usual.years,
    usual.lessMonths,
  );
}

/** M12: rate ↓, returned units ↓, sold units ↓, sku ↑ by code point. */
function order(row: string): string {
  return `${row}.returned_units / nullif(${row}.sold_units, 0) desc nulls last, ${row}.returned_units desc, ${row}.sold_units desc, ${row}.sku`;
}
