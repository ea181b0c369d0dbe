import type { Queryable, Statement } from "../database.ts";
import type { Workspace } from "../workspace.ts";
import { CHOSEN, SELECTED_SKUS, selectionValues } from "./selection.ts";
import type { Selection } from "./selection.ts";
import { quartersAndMonths, rankedSkus } from "./sku-quarter.ts";

/** One SKU's units over the ranked months, in the primary window. */
export type RankedSkuRow = { sku: string; vendor: string | null; sold_units: number; returned_units: number };

/** M12. `minSoldUnits` is the workspace's threshold, the filters are the request's. Months YYYY-MM, null = none. */
export type RankedRange = {
  selection: Selection;
  months: { startMonth: string; endMonth: string } | null;
  minSoldUnits: number;
  filters: { minSoldUnits: number | null; minReturnRate: number | null; vendor: string | null };
  /** true: the first `rows` SKUs that pass the filters; false: the first `rows` of all, filtered or not. */
  isFiltered: boolean;
  rows: number;
};

/** `eligible_count`: SKUs of the whole ranking that pass the filters. */
export type RankedAnswer = {
  found: boolean;
  skus: string[] | null;
  eligible_count: number;
  rows: RankedSkuRow[];
};

const STATEMENTS = {
  whole: statement("load_return_rates", false),
  narrowed: statement("load_narrowed_return_rates", true),
};

/**
 * One row: the first SKUs of a ranking by rate ↓, returned units ↓, sold units ↓, sku ↑, of equal ones no more than
 * asked for. Two quotients of numbers below 2^26 are different numbers when they are different rates; beyond that the
 * order of rates closer than 2^-52 is left open. Statements of sku-quarter.ts; primary key of sku.
 */
export async function loadReturnRates(
  database: Queryable,
  workspace: Workspace,
  range: RankedRange,
): Promise<RankedAnswer> {
  const { selection, months, filters, isFiltered } = range;
  const blocks =
    months === null ? { quarters: [], months: [] } : quartersAndMonths(months.startMonth, months.endMonth);
  const vendorOfAll = isFiltered ? filters.vendor : null;
  const isNarrowed = selection.kind !== "workspace" || vendorOfAll !== null;
  const rows = await database.rows<RankedAnswer>(isNarrowed ? STATEMENTS.narrowed : STATEMENTS.whole, [
    ...selectionValues(workspace.shopKey, selection),
    blocks.quarters,
    blocks.months,
    "primary",
    vendorOfAll,
    range.minSoldUnits,
    filters.minSoldUnits,
    filters.minReturnRate,
    filters.vendor,
    isFiltered,
    range.rows,
  ]);
  if (rows[0] === undefined) throw new Error("load_return_rates returned no row");
  return rows[0];
}

function statement(name: string, isNarrowed: boolean): Statement {
  return {
    name,
    text: `with ${CHOSEN}, ${SELECTED_SKUS}, ${rankedSkus(["sold_units", "returned_units"], isNarrowed)}, eligible as materialized (
    select r.sku, r.sold_units, r.returned_units,
           ($10::bigint is null or r.sold_units >= $10) and ($11::numeric is null or r.returned_units::bigint >= $11 * r.sold_units::bigint)
           and ($12::text is null or r.sku in (select s.sku from sku s where s.shop_key = $1 and s.vendor = $12)) as passes
      from ranked r where r.sold_units >= $9
  ), first as (
    select e.sku, e.sold_units, e.returned_units
      from eligible e where e.passes or not $13
     order by e.returned_units / nullif(e.sold_units, 0) desc nulls last, e.returned_units desc, e.sold_units desc, e.sku
     limit $14
  )
  select exists (select from chosen) as found,
         (select array_agg(sku order by sku) from selected_skus) as skus,
         (select count(*) from eligible e where e.passes) as eligible_count,
         coalesce((select json_agg(json_build_object('sku', f.sku, 'vendor', s.vendor, 'sold_units', f.sold_units::bigint,
                                                     'returned_units', f.returned_units::bigint))
                     from first f left join sku s on s.shop_key = $1 and s.sku = f.sku), '[]') as rows`,
  };
}
