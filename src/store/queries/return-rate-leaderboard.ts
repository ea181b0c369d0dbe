import { defineStatement } from "../database.ts";
import type { Queryable, Statement } from "../database.ts";
import type { Workspace } from "../workspace.ts";
import {
  CANDIDATE,
  CHOSEN,
  CHOSEN_SKUS,
  FOUND,
  SHOWN,
  SHOWN_OF_CANDIDATE,
  selectionValues,
  vendorFound,
} from "./selection.ts";
import type { Found, Selection } from "./selection.ts";
import {
  CANDIDATES_ALONE,
  EVERY_LISTING,
  quartersAndMonths,
  rankedSkus,
  vendorAlone,
} from "./sku-quarter.ts";
import type { Narrowing } from "./sku-quarter.ts";

/** One SKU's units over the ranked months, in the primary window; `product_gid` is the product to show. */
export type RankedSkuRow = {
  sku: string;
  product_gid: string | null;
  vendor: string | null;
  sold_units: number;
  returned_units: number;
};

/** M12. `minSoldUnits` is the workspace's threshold, the filters are the request's. Months YYYY-MM, null = none. */
export type RankedRange = {
  selection: Selection;
  months: { startMonth: string; endMonth: string } | null;
  /** Days of the primary window. */
  windowDays: number;
  minSoldUnits: number;
  filters: { minSoldUnits: number | null; minReturnRate: number | null; vendor: string | null };
  /** true: the first `rows` SKUs that pass the filters; false: the first `rows` of all, filtered or not. */
  isFiltered: boolean;
  rows: number;
};

/** `eligible_…`: over the SKUs of the whole ranking that pass the filters. */
export type RankedAnswer = Found & {
  vendor_known: boolean;
  skus: string[] | null;
  eligible_count: number;
  eligible_sold_units: number;
  eligible_returned_units: number;
  rows: RankedSkuRow[];
};

const STATEMENTS = {
  whole: statement("load_return_rates", SHOWN, EVERY_LISTING),
  ofVendor: statement("load_vendor_return_rates", SHOWN, vendorAlone("$12")),
  narrowed: statement("load_narrowed_return_rates", `${CANDIDATE}, ${SHOWN_OF_CANDIDATE}`, CANDIDATES_ALONE),
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
  const { selection, months, filters } = range;
  const blocks =
    months === null ? { quarters: [], months: [] } : quartersAndMonths(months.startMonth, months.endMonth);
  const rows = await database.rows<RankedAnswer>(STATEMENTS[scopeOf(range)], [
    ...selectionValues(workspace.shopKey, selection),
    blocks.quarters,
    blocks.months,
    range.windowDays,
    range.minSoldUnits,
    filters.minSoldUnits,
    filters.minReturnRate,
    filters.vendor,
    range.isFiltered,
    range.rows,
  ]);
  if (rows[0] === undefined) throw new Error("load_return_rates returned no row");
  return rows[0];
}

/** Where other vendors' SKUs take part in the ranking, all are read. */
function scopeOf({ selection, filters, isFiltered }: RankedRange): keyof typeof STATEMENTS {
  if (selection.kind !== "workspace") return "narrowed";
  return isFiltered && filters.vendor !== null ? "ofVendor" : "whole";
}

function statement(name: string, shown: string, narrowing: Narrowing): Statement {
  return defineStatement({
    name,
    text: `with ${CHOSEN}, ${shown}, ${rankedSkus(["sold_units", "returned_units"], narrowing)}, eligible as materialized (
    select r.sku, r.sold_units, r.returned_units,
           ($10::bigint is null or r.sold_units >= $10) and ($11::numeric is null or r.returned_units::bigint >= $11 * r.sold_units::bigint)
           and ($12::text is null or r.sku in (select s.sku from shown s where s.vendor = $12)) as passes
      from ranked r where r.sold_units >= $9
  ), first as (
    select e.sku, e.sold_units, e.returned_units
      from eligible e where e.passes or not $13
     order by e.returned_units / nullif(e.sold_units, 0) desc nulls last, e.returned_units desc, e.sold_units desc, e.sku
     limit $14
  ), total as (
    select count(*) as eligible_count, coalesce(sum(e.sold_units), 0)::bigint as eligible_sold_units,
           coalesce(sum(e.returned_units), 0)::bigint as eligible_returned_units
      from eligible e where e.passes
  )
  select ${FOUND}, ${vendorFound("$12")} as vendor_known, ${CHOSEN_SKUS} as skus,
         t.eligible_count, t.eligible_sold_units, t.eligible_returned_units,
         coalesce((select json_agg(json_build_object('sku', f.sku, 'product_gid', s.product_gid, 'vendor', s.vendor,
                                                     'sold_units', f.sold_units::bigint,
                                                     'returned_units', f.returned_units::bigint))
                     from first f left join shown s on s.sku = f.sku), '[]') as rows
    from total t`,
  });
}
