import { monthOfDate, monthToDate } from "../../lib/month.ts";
import type { Connection, Queryable } from "../database.ts";
import { command, inOrder, query, requireRow } from "../query.ts";
import { columnsInside, placeInside, ALL_DAYS } from "./return-curve.ts";

/** The SKUs whose rows may have changed; null = any. */
export type ChangedSkus = readonly string[] | null;

/** Whether a column is one of the changed SKUs in the named parameter. */
export const isChanged = (sku: string, skus = "$3"): string =>
  `(${skus}::text[] is null or ${sku} = any(${skus}))`;

/**
 * Replaces a quarter (its first day) by the sum of its cohort months (M7), of changed SKUs. Primary keys of cohort and
 * sku_quarter.
 */
export const replaceSkuQuarter = inOrder<
  [shopKey: number, quarter: string, skus: ChangedSkus],
  void,
  Connection
>(
  command(
    "delete_sku_quarter",
    `delete from sku_quarter where shop_key = $1 and quarter = $2 and ${isChanged("sku")}`,
  ),
  command(
    "insert_sku_quarter",
    `insert into sku_quarter (shop_key, quarter, sku, listing_id, sold_units, sold_minor, valued_sold_units, lag_days,
                                  returned_units, refund_minor, label_minor)
  with month as materialized (
    select c.entity_key as sku, c.listing_id, c.sold_units, c.sold_minor, c.valued_sold_units, c.lag_days, c.returned_units, c.refund_minor, c.label_minor
      from cohort c
     where c.shop_key = $1 and c.entity_kind = 'sku' and ${isChanged("c.entity_key")}
       and c.cohort_month in ($2::date, ($2::date + interval '1 month')::date, ($2::date + interval '2 months')::date)
  ), sold as (
    select sku, listing_id, sum(sold_units::float8)::bigint as sold_units, sum(sold_minor::float8)::bigint as sold_minor,
           sum(valued_sold_units::float8)::bigint as valued_sold_units from month group by sku, listing_id
  ), step as (
    select sku, listing_id, lag_days[place] as lag_days,
           sum((returned_units[place] - coalesce(returned_units[place - 1], 0))::float8) as returned_units,
           sum((refund_minor[place] - coalesce(refund_minor[place - 1], 0))::float8) as refund_minor,
           sum((label_minor[place] - coalesce(label_minor[place - 1], 0))::float8) as label_minor
      from (select m.*, generate_subscripts(m.lag_days, 1) as place from month m) m
     group by sku, listing_id, lag_days[place]
  ), curve as (
    select sku, listing_id, array_agg(lag_days order by lag_days) as lag_days,
           array_agg(returned_units::bigint order by lag_days) as returned_units,
           array_agg(refund_minor::bigint order by lag_days) as refund_minor,
           array_agg(label_minor::bigint order by lag_days) as label_minor
      from (
        select sku, listing_id, lag_days, sum(returned_units) over so_far as returned_units,
               sum(refund_minor) over so_far as refund_minor, sum(label_minor) over so_far as label_minor
          from step
        window so_far as (partition by sku, listing_id order by lag_days rows unbounded preceding)
      ) c
     group by sku, listing_id
  )
  select w.shop_key, $2, s.sku, s.listing_id, s.sold_units, s.sold_minor, s.valued_sold_units, c.lag_days, c.returned_units, c.refund_minor, c.label_minor
    from workspace w
    cross join sold s
    left join curve c on c.sku = s.sku and c.listing_id = s.listing_id
   where w.shop_key = $1
   order by s.sku, s.listing_id`,
  ),
);

/** The blocks of a range of months, both included: whole quarters and the remaining months, by their first days. */
export function quartersAndMonths(
  startMonth: number,
  endMonth: number,
): { quarters: string[]; months: string[] } {
  const quarters: string[] = [];
  const months: string[] = [];
  for (let month = startMonth; month <= endMonth; month += 1) {
    if (month % 3 === 0 && month + 2 <= endMonth) {
      quarters.push(monthToDate(month));
      month += 2;
    } else {
      months.push(monthToDate(month));
    }
  }
  return { quarters, months };
}

/** A further condition on the SKU and the listing of a row; the empty text = every row. */
export type Narrowing = (sku: string, listing: string) => string;

export const EVERY_LISTING: Narrowing = () => "";

/** After `CANDIDATE`. */
export const CANDIDATES_ALONE: Narrowing = (sku, listing) =>
  `and (${sku}, ${listing}) in (select k.sku, k.listing_id from candidate k)`;

/** After `shownOfVendor`. */
export const SHOWN_ALONE: Narrowing = (sku) => `and ${sku} in (select s.sku from shown s)`;

/**
 * What names the blocks of a statement by their first days, years by that of their last month: parameters with arrays of days.
 * `month` and `year` are one day alone, whose rows a plan reads in the order of their SKUs.
 */
export type BlockNames = Partial<
  Record<"quarters" | "months" | "month" | "years" | "year" | "lessMonths", string>
>;

/**
 * Select of `columns` of listings over blocks inside $8 days; `lessMonths` are subtracted. Ranges of the primary keys of
 * sku_quarter, cohort and sku_year, or look-ups in them where few SKUs are left. `leastSold`: of one `month` alone, only SKUs that
 * sold so many units, by cohort_by_sold_units.
 */
export function blockRows(
  columns: readonly string[],
  narrowing: Narrowing,
  names: BlockNames,
  leastSold?: string,
): string {
  const inside = (row: string, sku: string): string =>
    `select ${row}.${sku} as sku, ${row}.listing_id, ${columnsInside(row, columns)}`;
  const ofMonths = (isMonth: string): string => `${inside("c", "entity_key")}
      from cohort c cross join lateral ${placeInside("c", "$8")}
     where c.shop_key = $1 and c.entity_kind = 'sku' and c.cohort_month = ${isMonth} ${narrowing("c.entity_key", "c.listing_id")}`;
  const ofYear = (lastMonth: string): string => `${inside("y", "sku")}
      from sku_year y cross join lateral ${placeInside("y", "$8")}
     where y.shop_key = $1 and y.last_month = ${lastMonth} ${narrowing("y.sku", "y.listing_id")}`;
  const selects: Record<keyof BlockNames, (name: string) => string> = {
    quarters: (name) => `${inside("q", "sku")}
      from sku_quarter q cross join lateral ${placeInside("q", "$8")}
     where q.shop_key = $1 and q.quarter = any(${name}::date[]) ${narrowing("q.sku", "q.listing_id")}`,
    months: (name) => ofMonths(`any(${name}::date[])`),
    month: (name) => {
      const selling = leastSold === undefined ? "" : `and c.entity_sold_units >= ${leastSold}`;
      return `${ofMonths(`${name}::date`)} ${selling}`;
    },
    // One lookup per year: for an array of unknown length the planner would scan the whole table.
    years: (name) => `select m.* from unnest(${name}::date[]) k (last_month) cross join lateral (
      ${ofYear("k.last_month")} offset 0) m`,
    year: (name) => ofYear(`${name}::date`),
    lessMonths: (name) => `select l.sku, l.listing_id, ${columns.map((column) => `-l.${column}`).join(", ")}
      from (${ofMonths(`any(${name}::date[])`)}) l`,
  };
  return (Object.entries(names) as [keyof BlockNames, string][])
    .map(([kind, name]) => selects[kind](name))
    .join("\n    union all\n    ");
}

/**
 * Sums of columns of rows `row`, in double precision: exact up to 2^53, beyond which nothing is served, in half the time
 * of numeric ones.
 */
export function exactSums(row: string, columns: readonly string[]): string {
  return columns.map((column) => `sum(${row}.${column}::float8) as ${column}`).join(", ");
}

/** First day of the calendar quarter of a day, both YYYY-MM-DD. */
export function quarterOf(day: string): string {
  const month = monthOfDate(day);
  return monthToDate(month - (month % 3));
}

const MONTHS = 12;
/** Windows of every workspace, in addition to its primary one and lifetime (M4). */
const FIXED_DAYS = [30, 90];

/** The basis of years: the day of the newest order (null: none), and the days of the primary window. */
export const loadYearState = requireRow<
  { newest_day: string | null; primary_days: number },
  [shopKey: number],
  Connection
>(
  "load_year_state",
  `select (select max(d.sold_on) from group_day d where d.shop_key = $1) as newest_day, w.primary_window_days as primary_days
           from workspace w where w.shop_key = $1`,
);

/** Whether a row of cohort is the workspace's, of a month of the year that ends with `lastMonth`. */
const isMonthOfYear = (row: string, lastMonth: string): string =>
  `${row}.entity_kind = 'workspace' and ${row}.cohort_month <= ${lastMonth} and ${row}.cohort_month > ${lastMonth} - interval '1 year'`;

type YearRow = { last_month: string; lag_days: number[] };

/**
 * The years of a shop whose months are still those that were added up: an earlier version may have rolled up or removed some
 * since. One step in the primary key of sku_year for each; primary key of cohort.
 */
const listYearRows = query<YearRow, [shopKey: number]>(
  "list_sku_years",
  `with recursive year (last_month) as (
           select min(last_month) from sku_year where shop_key = $1
           union all
           select (select min(n.last_month) from sku_year n where n.shop_key = $1 and n.last_month > y.last_month)
             from year y where y.last_month is not null
         )
         select y.last_month, (select s.lag_days from sku_year s where s.shop_key = $1 and s.last_month = y.last_month order by s.sku limit 1)
           from year y
          where (select count(c.year_months) = count(*) and min(c.year_months) = count(*) and max(c.year_months) = count(*)
                   from cohort c where c.shop_key = $1 and ${isMonthOfYear("c", "y.last_month")})`,
);

/** Last months of the years that hold a window. */
export async function listYears(database: Queryable, shopKey: number, windowDays: number): Promise<number[]> {
  const rows = await listYearRows(database, shopKey);
  return rows
    .filter((row) => windowDays === ALL_DAYS || row.lag_days.includes(windowDays + 1))
    .map((row) => monthOfDate(row.last_month));
}

/**
 * Last months of the years that hold the windows of a workspace and no other ones. A year with others is added up again for all
 * SKUs: `listYears` looks at one of them.
 */
export async function listYearsOfWindows(
  connection: Connection,
  shopKey: number,
  primaryDays: number,
): Promise<number[]> {
  const lagDays = [0, ...daysOfWindows(primaryDays).map((days) => days + 1)].join();
  const rows = await listYearRows(connection, shopKey);
  return rows.filter((row) => row.lag_days.join() === lagDays).map((row) => monthOfDate(row.last_month));
}

function daysOfWindows(primaryDays: number): number[] {
  return [...FIXED_DAYS, primaryDays].toSorted((left, right) => left - right);
}

/** Adds up the year that ends with a month (M7), inside the windows that a leaderboard supports, of changed SKUs. */
export async function replaceSkuYear(
  connection: Connection,
  shopKey: number,
  { lastMonth, primaryDays }: { lastMonth: number; primaryDays: number },
  changedSkus: ChangedSkus,
): Promise<void> {
  const { quarters, months } = quartersAndMonths(lastMonth - MONTHS + 1, lastMonth);
  await replaceYear(
    connection,
    shopKey,
    monthToDate(lastMonth),
    changedSkus,
    quarters,
    months,
    daysOfWindows(primaryDays),
  );
}

const PLACES = ["first", "second", "third", "whole"];
const sumsInside = (column: string): string =>
  `array[${PLACES.map((place) => `coalesce(sum(p.${column}[i.${place}]::float8), 0)`).join(", ")}]::bigint[] as ${column}`;

/** Primary keys of sku_quarter, cohort and sku_year. */
const replaceYear = inOrder<
  [
    shopKey: number,
    lastMonth: string,
    skus: ChangedSkus,
    quarters: string[],
    months: string[],
    days: number[],
  ],
  void,
  Connection
>(
  command(
    "delete_sku_year",
    `delete from sku_year where shop_key = $1 and last_month = $2 and ${isChanged("sku")}`,
    (shopKey, lastMonth, skus) => [shopKey, lastMonth, skus],
  ),
  command(
    "insert_sku_year",
    `insert into sku_year (shop_key, last_month, sku, listing_id, sold_units, sold_minor, valued_sold_units, lag_days,
                               returned_units, refund_minor, label_minor)
  with part as (
    select q.sku, q.listing_id, q.sold_units, q.sold_minor, q.valued_sold_units, q.lag_days, q.returned_units, q.refund_minor, q.label_minor
      from sku_quarter q where q.shop_key = $1 and q.quarter = any($4::date[])
       and ${isChanged("q.sku")}
    union all
    select c.entity_key, c.listing_id, c.sold_units, c.sold_minor, c.valued_sold_units, c.lag_days, c.returned_units, c.refund_minor, c.label_minor
      from cohort c where c.shop_key = $1 and c.entity_kind = 'sku' and c.cohort_month = any($5::date[])
       and ${isChanged("c.entity_key")}
  ), total as (
    select p.sku, p.listing_id, sum(p.sold_units::float8)::bigint as sold_units, sum(p.sold_minor::float8)::bigint as sold_minor,
           sum(p.valued_sold_units::float8)::bigint as valued_sold_units,
           ${["returned_units", "refund_minor", "label_minor"].map(sumsInside).join(", ")}
      from part p
     cross join lateral (select width_bucket(($6::integer[])[1], p.lag_days) as first, width_bucket(($6::integer[])[2], p.lag_days) as second,
                                width_bucket(($6::integer[])[3], p.lag_days) as third, cardinality(p.lag_days) as whole) i
     group by p.sku, p.listing_id
  )
  select w.shop_key, $2, t.sku, t.listing_id, t.sold_units, t.sold_minor, t.valued_sold_units,
         array[0, ($6::integer[])[1] + 1, ($6::integer[])[2] + 1, ($6::integer[])[3] + 1], t.returned_units, t.refund_minor, t.label_minor
    from workspace w
    cross join total t
   where w.shop_key = $1
   order by t.sku, t.listing_id`,
  ),
  command(
    "note_months_of_year",
    `update cohort n set year_months = y.months
           from (select count(*)::integer as months from cohort c where c.shop_key = $1 and ${isMonthOfYear("c", "$2::date")}) y
          where n.shop_key = $1 and ${isMonthOfYear("n", "$2::date")}`,
    (shopKey, lastMonth) => [shopKey, lastMonth],
  ),
);

/** Removes other years than these. Primary key. */
export const removeOtherYears = command<[shopKey: number, lastMonths: readonly string[]], Connection>(
  "remove_other_years",
  "delete from sku_year where shop_key = $1 and last_month <> all($2::date[])",
);

/** The blocks of a range of months, by first days, years by that of their last month; `lessMonths` are subtracted. */
export type Blocks = Record<"years" | "quarters" | "months" | "lessMonths", string[]>;

/** Shorter ranges are few blocks without years. */
const LONG_MONTHS = 6;

/** The blocks of a range of months (null = none) inside a window, and those of the usual months before it (M25). */
export async function findBlocks(
  database: Queryable,
  shopKey: number,
  windowDays: number,
  range: { startMonth: number; endMonth: number } | null,
  usualMonths: readonly number[],
): Promise<{ ranked: Blocks; usual: Blocks }> {
  const { startMonth, endMonth } = range ?? { startMonth: 0, endMonth: -1 };
  const isLong = endMonth - startMonth >= LONG_MONTHS;
  const years = isLong ? await listYears(database, shopKey, windowDays) : [];
  return {
    ranked: blocksOf(startMonth, endMonth, years),
    usual: blocksOf(usualMonths[0] ?? 0, usualMonths.at(-1) ?? -1, years),
  };
}

/**
 * The fewest blocks that add up to the months from the first to the last, both included: `years` are the last months of
 * those there are.
 */
export function blocksOf(startMonth: number, endMonth: number, years: readonly number[]): Blocks {
  const blocks: Blocks = { years: [], quarters: [], months: [], lessMonths: [] };
  if (endMonth < startMonth) return blocks;
  const ends = new Set(years);
  const steps = new Map<number, Step | null>([[startMonth, null]]);
  for (const from of steps.keys()) {
    if (from > endMonth + MONTHS || from < startMonth - MONTHS) continue;
    if (from === endMonth + 1) break;
    for (const step of stepsFrom(from, ends)) if (!steps.has(step.to)) steps.set(step.to, step);
  }
  for (let step = steps.get(endMonth + 1); step; step = steps.get(step.from)) {
    blocks[step.kind].unshift(monthToDate(step.month));
  }
  return blocks;
}

/** A block that leads from the months before `from` to those before `to`. */
type Step = { from: number; to: number; kind: keyof Blocks; month: number };

function stepsFrom(from: number, ends: ReadonlySet<number>): Step[] {
  const last = from + MONTHS - 1;
  return [
    ...(ends.has(last) ? [{ from, to: last + 1, kind: "years", month: last } as const] : []),
    { from, to: from + 1, kind: "months", month: from },
    ...(from % 3 === 0 ? [{ from, to: from + 3, kind: "quarters", month: from } as const] : []),
    ...(ends.size > 0 ? [{ from, to: from - 1, kind: "lessMonths", month: from - 1 } as const] : []),
  ];
}
