import type { Queryable } from "../database.ts";
import { requireRow } from "../query.ts";
import type { Workspace } from "../workspace.ts";
import { daysOrAll } from "./return-curve.ts";
import { CANDIDATE, OUTSIDER, isWholeStore, selectionValues } from "./selection.ts";
import type { Selection } from "./selection.ts";
import {
  CANDIDATES_ALONE,
  EVERY_LISTING,
  exactSums,
  listingParts,
  quartersAndMonths,
} from "./sku-quarter.ts";
import type { Narrowing } from "./sku-quarter.ts";

export type BreakdownBy = "vendor" | "product" | "sku" | "family" | "analytics_category";

export type BreakdownRange = {
  selection: Selection;
  by: BreakdownBy;
  /** null = lifetime. */
  windowDays: number | null;
  /** Cohort months that count; `endMonth` before `startMonth` = none. */
  startMonth: number;
  endMonth: number;
  labelCostsIncluded: boolean;
  rows: number;
};

/** Additive figures (M7); money in minor units, labels whether they are included or not. */
export type BreakdownFigures = {
  sold_units: number;
  returned_units: number;
  refund_minor: number;
  label_minor: number;
};

export type BreakdownRow = BreakdownFigures & {
  key: string;
  title: string | null;
  /** Whether the selection has all listings of the key, and whether it has no others; of its vendor where it names one. */
  has_whole_key: boolean;
  is_whole_selection: boolean;
};

/** `rows`: the costliest; `total`: all of the selection, also what has no key. */
export type BreakdownAnswer = { total: BreakdownFigures; rows: BreakdownRow[] };

const MEASURES = ["sold_units", "returned_units", "refund_minor", "label_minor"];

/** What a listing `k` belongs to, of the kind $9. */
const KEY = `case $9 when 'vendor' then k.vendor when 'product' then nullif(k.product_gid, '')
                   when 'sku' then nullif(k.sku, '') when 'family' then k.family
                   else k.analytics_category end collate "C"`;

/** How the rows `f` lie in the selection, as members of their JSON. */
const WITHIN = {
  whole: "'has_whole_key', true, 'is_whole_selection', false",
  narrowed: `'has_whole_key', not exists (select from outside o where o.key = f.key),
             'is_whole_selection', not exists (select from candidate k where ${KEY} is distinct from f.key)`,
};

const STATEMENTS = {
  whole: statement("load_report_breakdown", EVERY_LISTING, ["", WITHIN.whole]),
  narrowed: statement("load_narrowed_report_breakdown", CANDIDATES_ALONE, [
    `, ${OUTSIDER}, outside as materialized (
    select distinct ${KEY} as key from outsider k where ${KEY} in (select f.key from first f)
  )`,
    WITHIN.narrowed,
  ]),
};

function statement(name: string, narrowing: Narrowing, [outside, within]: readonly [string, string]) {
  const wholeUnits = (row: string) =>
    MEASURES.map((measure) => `'${measure}', coalesce(${row}.${measure}, 0)::bigint`).join(", ");
  return requireRow<BreakdownAnswer, unknown[]>(
    name,
    `with ${CANDIDATE}, ${listingParts(MEASURES, narrowing)}, member as materialized (
    select ${KEY} as key, ${exactSums("p", MEASURES)}
      from part p join candidate k on k.sku = p.sku and k.listing_id = p.listing_id
     group by 1
  ), first as (
    select m.*, m.refund_minor + case when $10 then m.label_minor else 0 end as cost_minor
      from member m where m.key is not null
     order by cost_minor desc, m.returned_units desc, m.key limit $11
  ), total as (
    select ${MEASURES.map((measure) => `sum(m.${measure}) as ${measure}`).join(", ")} from member m
  )${outside}
  select json_build_object(${wholeUnits("t")}) as total,
         coalesce((select json_agg(json_build_object('key', f.key, 'title', p.title, ${wholeUnits("f")}, ${within})
                                   order by f.cost_minor desc, f.returned_units desc, f.key)
                     from first f
                     left join product p on $9 = 'product' and p.shop_key = $1 and p.product_gid = f.key), '[]') as rows
    from total t`,
  );
}

/**
 * One row: a selection's figures by vendor, product, SKU or group, the costliest first, ties by returned units ↓, then
 * key. Reads the shop's listings; statements of sku-quarter.ts; primary key of product.
 */
export async function loadBreakdown(
  database: Queryable,
  workspace: Workspace,
  range: BreakdownRange,
): Promise<BreakdownAnswer> {
  const { selection } = range;
  const blocks = quartersAndMonths(range.startMonth, range.endMonth);
  const load = isWholeStore(selection) ? STATEMENTS.whole : STATEMENTS.narrowed;
  return load(
    database,
    ...selectionValues(workspace.shopKey, selection),
    blocks.quarters,
    blocks.months,
    daysOrAll(range.windowDays),
    range.by,
    range.labelCostsIncluded,
    range.rows,
  );
}
