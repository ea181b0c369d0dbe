import { monthToDate, monthsBetween } from "../../lib/month.ts";
import type { Queryable } from "../database.ts";
import { requireRow } from "../query.ts";
import type { Workspace } from "../workspace.ts";
import { excessCost, oneCategory, priorOf } from "./excess-cost.ts";
import { columnsInside, daysOrAll, placeInside } from "./return-curve.ts";
import { CANDIDATE, OUTSIDER, candidateByOption, isWholeStore, selectionValues } from "./selection.ts";
import type { Selection } from "./selection.ts";
import {
  CANDIDATES_ALONE,
  EVERY_LISTING,
  blockRows,
  exactSums,
  quartersAndMonths,
  type Narrowing,
} from "./sku-rollup.ts";

export type BreakdownBy = "vendor" | "product" | "sku" | "family" | "analytics_category" | "option";

/** The sort order of the rows: descending; rates of fewer than `minSoldUnits` last. */
export type BreakdownOrder =
  | "returns_cost"
  | "excess_return_cost"
  | "returned_units"
  | "sold_units"
  | "return_rate"
  | "return_rate_change";

type BreakdownRange = {
  selection: Selection;
  by: BreakdownBy;
  /** The name of the option, whatever its case; null = `by` is another. */
  option: string | null;
  /** null = lifetime. */
  windowDays: number | null;
  /** Cohort months that count; `endMonth` before `startMonth` = none. */
  startMonth: number;
  endMonth: number;
  /** The compared months (M5) and those of the usual rate (M25), which end together; may be empty. */
  comparedMonths: readonly number[];
  usualMonths: readonly number[];
  labelCostsIncluded: boolean;
  order: BreakdownOrder;
  minSoldUnits: number;
  /** Whether rows have reasons and months. */
  withDetails: boolean;
  rows: number;
};

/** Additive figures (M7); money in minor units, labels whether they are included or not. */
export type BreakdownFigures = {
  sold_units: number;
  sold_minor: number;
  valued_sold_units: number;
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
  /** Of the months that they are compared with. */
  compared_sold_units: number;
  compared_returned_units: number;
  /** M25, in minor units. */
  excess_minor: number | null;
  /** M8; keys of src/metrics/returned-units.ts for missing reasons. */
  reasons: { reason: string; returned_units: number }[];
  /** Counted months with a row of figures, first days. */
  months: { cohort_month: string; sold_units: number; returned_units: number }[];
  /** Of products and SKUs. */
  product_title: string | null;
  product_image_url: string | null;
};

/** `rows`: the first of the order; `total`: the whole selection, including lines without a key. */
type BreakdownAnswer = { total: BreakdownFigures; rows: BreakdownRow[] };

const MEASURES = [
  "sold_units",
  "sold_minor",
  "valued_sold_units",
  "returned_units",
  "refund_minor",
  "label_minor",
];

/** The group of a listing `k`, of the kind $9. */
const KEY = `case $9 when 'vendor' then k.vendor when 'product' then nullif(k.product_gid, '')
                   when 'sku' then nullif(k.sku, '') when 'family' then k.family
                   else k.analytics_category end collate "C"`;
const OPTION = "k.option_value";

const EARLIER = ["sold_units", "returned_units"];
/** What a key adds up: its measures, and its units of the usual and of the compared months. */
const SUMS = [
  ...MEASURES,
  ...["usual_", "compared_"].flatMap((prefix) => EARLIER.map((column) => prefix + column)),
];
const NO_MEASURES = MEASURES.map(() => "null").join(", ");

/** Rows of cohort of the rows `f` on the counted months, as `c`: of the key itself, or of its listings in the selection. */
const REASONS = {
  whole:
    () => `join cohort c on c.shop_key = $1 and c.entity_key = f.key and c.cohort_month = any($16::date[])
        and c.entity_kind = any(case $9 when 'product' then array['product', 'product_used'] else array[$9] end)`,
  narrowed: (key: string) => `join candidate k on cardinality($16::date[]) > 0 and ${key} = f.key
       join cohort c on c.shop_key = $1 and c.entity_kind = 'sku' and c.entity_key = k.sku and c.listing_id = k.listing_id
        and c.cohort_month = any($16::date[])`,
};

/** How the rows `f` lie in the selection, as members of their JSON. */
const isWhole = (key: string): string =>
  `'is_whole_selection', not exists (select from candidate k where ${key} is distinct from f.key)`;
const WITHIN = {
  whole: "'has_whole_key', true, 'is_whole_selection', false",
  narrowed: `'has_whole_key', not exists (select from outside o where o.key = f.key), ${isWhole(KEY)}`,
  option: `'has_whole_key', false, ${isWhole(OPTION)}`,
};

/** The parts of a statement that depend on the selection and dimension. */
type Division = {
  name: string;
  candidate: string;
  key: string;
  narrowing: Narrowing;
  /** Further CTEs, with a comma first. */
  outside: string;
  within: string;
  reasons: string;
  title: string;
  /** Precedes the order, with a trailing comma. */
  first: string;
};

const BY_KEY = {
  candidate: CANDIDATE,
  key: KEY,
  title: "case $9 when 'product' then p.title end",
  first: "",
};

const STATEMENTS = {
  whole: statement({
    name: "load_report_breakdown",
    ...BY_KEY,
    narrowing: EVERY_LISTING,
    outside: "",
    within: WITHIN.whole,
    reasons: REASONS.whole(),
  }),
  narrowed: statement({
    name: "load_narrowed_report_breakdown",
    ...BY_KEY,
    narrowing: CANDIDATES_ALONE,
    outside: `, ${OUTSIDER}, outside as materialized (
    select distinct ${KEY} as key from outsider k where ${KEY} in (select f.key from first f)
  )`,
    within: WITHIN.narrowed,
    reasons: REASONS.narrowed(KEY),
  }),
  option: byOption("load_option_breakdown", EVERY_LISTING),
  narrowedOption: byOption("load_narrowed_option_breakdown", CANDIDATES_ALONE),
};

/** By the values of an option; the row for units without a value is included whenever it is needed. */
function byOption(name: string, narrowing: Narrowing) {
  return statement({
    name,
    candidate: candidateByOption("$21"),
    key: OPTION,
    narrowing,
    outside: "",
    within: WITHIN.option,
    reasons: REASONS.narrowed(OPTION),
    title: `(select min(k.option_label collate "C") from candidate k where k.option_value = f.key)`,
    first: "m.key = '' desc,",
  });
}

/** In double precision, as in a ranking by rate. */
function rateOf(row: string, prefix = ""): string {
  return `(${row}.${prefix}returned_units::float8 / ${row}.${prefix}sold_units)`;
}

/** The order $17 of rows `row`; where their excess is, before they are joined to it. */
function order(row: string, excess = row): string {
  const isEnough = `${row}.sold_units >= greatest($20, 1)`;
  return `case $17 when 'excess_return_cost' then ${excess}.excess_minor::float8 when 'returned_units' then ${row}.returned_units::float8
                 when 'sold_units' then ${row}.sold_units::float8
                 when 'return_rate' then case when ${isEnough} then ${rateOf(row)} end
                 when 'return_rate_change' then case when ${isEnough} and ${row}.compared_sold_units > 0
                   then ${rateOf(row)} - ${rateOf(row, "compared_")} end end
               desc nulls last, ${row}.cost_minor desc, ${row}.returned_units desc, ${row}.key`;
}

function statement(division: Division) {
  const { name, candidate, key, narrowing, outside, within, reasons, title, first } = division;
  const wholeUnits = (row: string) =>
    MEASURES.map((measure) => `'${measure}', coalesce(${row}.${measure}, 0)::bigint`).join(", ");
  return requireRow<BreakdownAnswer, unknown[]>(
    name,
    `with ${candidate}, ${ofListing(key, narrowing)}, member as materialized (
    select l.key, ${exactSums("l", SUMS)}, ${oneCategory("l")} as category
      from of_listing l
     group by l.key having bool_or(l.is_counted)
  ), ${priorOf("$19")}, costed as (
    select m.*, m.refund_minor + case when $10 then m.label_minor else 0 end as cost_minor
      from member m where m.key is not null
  ), first as (
    select m.*, x.excess_minor
      from costed m
     cross join ${excessCost("m", "m", "m.category")}
     order by ${first} ${order("m", "x")} limit $11
  ), reason as (
    select r.key, json_agg(json_build_object('reason', r.reason, 'returned_units', r.returned_units)) as reasons
      from (
        select f.key, u.reason, sum(u.units) as returned_units
          from first f ${reasons}
         cross join lateral unnest(c.return_reasons, c.return_lag_days, c.return_units) u (reason, lag_days, units)
         where u.lag_days <= $8
         group by f.key, u.reason
      ) r
     group by r.key
  ), course as (
    select m.key, json_agg(json_build_object('cohort_month', m.cohort_month, 'sold_units', m.sold_units,
                                             'returned_units', m.returned_units)) as months
      from (
        select i.key, i.cohort_month, sum(i.sold_units)::bigint as sold_units, sum(i.returned_units)::bigint as returned_units
          from (
            select f.key, c.cohort_month, ${columnsInside("c", EARLIER)}
              from first f ${reasons} cross join lateral ${placeInside("c", "$8")}
          ) i
         group by i.key, i.cohort_month
      ) m
     group by m.key
  ), total as (
    select ${MEASURES.map((measure) => `sum(m.${measure}) as ${measure}`).join(", ")} from member m
  )${outside}
  select json_build_object(${wholeUnits("t")}) as total,
         coalesce((select json_agg(json_build_object(
                            'key', f.key, 'title', ${title}, ${wholeUnits("f")}, ${within}, 'excess_minor', f.excess_minor,
                            'compared_sold_units', coalesce(f.compared_sold_units, 0)::bigint,
                            'compared_returned_units', coalesce(f.compared_returned_units, 0)::bigint,
                            'reasons', coalesce(r.reasons, '[]'), 'months', coalesce(t.months, '[]'),
                            'product_title', coalesce(p.title, s.product_title), 'product_image_url', coalesce(s.image_url, p.image_url))
                          order by ${order("f")})
                     from first f
                     left join reason r on r.key = f.key
                     left join course t on t.key = f.key
                     left join sku s on $9 = 'sku' and s.shop_key = $1 and s.sku = f.key
                     left join product p on p.shop_key = $1 and p.product_gid = case $9 when 'product' then f.key else s.product_gid end
                   ), '[]') as rows
    from total t`,
  );
}

/**
 * `of_listing`: the sums of each listing of the selection. Rows are put together by grouping: how many listings a selection has is
 * not in the statistics, and a join planned for few compares each listing with each.
 */
function ofListing(key: string, narrowing: Narrowing): string {
  return `part as (
    ${blockRows(MEASURES, narrowing, { quarters: "$6", months: "$7" })}
  ), near as (
    ${blockRows(EARLIER, narrowing, { quarters: "$12", months: "$13" })}
  ), far as (
    ${blockRows(EARLIER, narrowing, { quarters: "$14", months: "$15" })}
  ), of_listing as (
    select max(r.key) as key, max(r.analytics_category) as analytics_category, bool_or(r.is_counted) as is_counted, ${exactSums("r", SUMS)}
      from (
        select k.sku, k.listing_id, ${key} as key, k.analytics_category, true as is_candidate, false as is_counted,
               ${SUMS.map((sum) => `null::bigint as ${sum}`).join(", ")}
          from candidate k
        union all
        select p.sku, p.listing_id, null, null, false, true, ${MEASURES.map((measure) => `p.${measure}`).join(", ")}, null, null, null, null
          from part p
        union all
        select n.sku, n.listing_id, null, null, false, false, ${NO_MEASURES}, n.sold_units, n.returned_units, n.sold_units, n.returned_units
          from near n
        union all
        select u.sku, u.listing_id, null, null, false, false, ${NO_MEASURES}, case when $18 then u.sold_units end,
               case when $18 then u.returned_units end, case when not $18 then u.sold_units end, case when not $18 then u.returned_units end
          from far u
      ) r
     group by r.sku, r.listing_id having bool_or(r.is_candidate)
  )`;
}

/**
 * One row: a selection's figures by vendor, product, SKU or group, the largest of the order first, ties by cost ↓, returned
 * units ↓, then key. Reads the workspace's listings; statements of sku-rollup.ts and excess-cost.ts; primary keys of cohort for
 * the rows returned, and of sku and product.
 */
export async function loadBreakdown(
  database: Queryable,
  workspace: Workspace,
  range: BreakdownRange,
): Promise<BreakdownAnswer> {
  const { selection } = range;
  const blocks = quartersAndMonths(range.startMonth, range.endMonth);
  const nearMonths = range.usualMonths.filter((month) => range.comparedMonths.includes(month));
  const isUsualLonger = range.usualMonths.length > range.comparedMonths.length;
  const farMonths = (isUsualLonger ? range.usualMonths : range.comparedMonths).filter(
    (month) => !nearMonths.includes(month),
  );
  const near = blocksOf(nearMonths);
  const far = blocksOf(farMonths);
  const { option } = range;
  const [byKey, byValue] = isWholeStore(selection)
    ? [STATEMENTS.whole, STATEMENTS.option]
    : [STATEMENTS.narrowed, STATEMENTS.narrowedOption];
  return (option === null ? byKey : byValue)(
    database,
    ...selectionValues(workspace.shopKey, selection),
    blocks.quarters,
    blocks.months,
    daysOrAll(range.windowDays),
    range.by,
    range.labelCostsIncluded,
    range.rows,
    near.quarters,
    near.months,
    far.quarters,
    far.months,
    range.withDetails ? monthsBetween(range.startMonth, range.endMonth).map(monthToDate) : [],
    range.order,
    isUsualLonger,
    range.usualMonths.map(monthToDate),
    range.minSoldUnits,
    ...(option === null ? [] : [option]),
  );
}

/** Of months in a row, or none. */
function blocksOf(months: readonly number[]): { quarters: string[]; months: string[] } {
  const [first, last] = [months[0], months.at(-1)];
  return first === undefined || last === undefined
    ? { quarters: [], months: [] }
    : quartersAndMonths(first, last);
}
