import { monthOfDate, monthToDate } from "../../lib/month.ts";
import type { Connection, Queryable } from "../database.ts";
import { command, inOrder, query, requireRow } from "../query.ts";
import { ALL_DAYS } from "./return-curve.ts";
import { quartersAndMonths } from "./sku-quarter.ts";

const MONTHS = 12;
/** Windows that every workspace has, beside its primary one and lifetime (M4). */
const FIXED_DAYS = [30, 90];

/** What years are made of: the day of the newest order (null = there is none), and the days of the primary window. */
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

/** Adds up the year that ends with a month (M7), inside the windows that a leaderboard can be asked for. */
export async function replaceSkuYear(
  connection: Connection,
  shopKey: number,
  { lastMonth, primaryDays }: { lastMonth: number; primaryDays: number },
): Promise<void> {
  const { quarters, months } = quartersAndMonths(lastMonth - MONTHS + 1, lastMonth);
  const days = [...FIXED_DAYS, primaryDays].toSorted((left, right) => left - right);
  await replaceYear(connection, shopKey, monthToDate(lastMonth), quarters, months, days);
}

const PLACES = ["first", "second", "third", "whole"];
const sumsInside = (column: string): string =>
  `array[${PLACES.map((place) => `coalesce(sum(p.${column}[i.${place}]::float8), 0)`).join(", ")}]::bigint[] as ${column}`;

/** Primary keys of sku_quarter, cohort and sku_year. */
const replaceYear = inOrder<
  [shopKey: number, lastMonth: string, quarters: string[], months: string[], days: number[]],
  void,
  Connection
>(
  command(
    "delete_sku_year",
    "delete from sku_year where shop_key = $1 and last_month = $2",
    (shopKey, lastMonth) => [shopKey, lastMonth],
  ),
  command(
    "insert_sku_year",
    `insert into sku_year (shop_key, last_month, sku, listing_id, sold_units, sold_minor, valued_sold_units, lag_days,
                               returned_units, refund_minor, label_minor)
  with part as (
    select q.sku, q.listing_id, q.sold_units, q.sold_minor, q.valued_sold_units, q.lag_days, q.returned_units, q.refund_minor, q.label_minor
      from sku_quarter q where q.shop_key = $1 and q.quarter = any($3::date[])
    union all
    select c.entity_key, c.listing_id, c.sold_units, c.sold_minor, c.valued_sold_units, c.lag_days, c.returned_units, c.refund_minor, c.label_minor
      from cohort c where c.shop_key = $1 and c.entity_kind = 'sku' and c.cohort_month = any($4::date[])
  ), total as (
    select p.sku, p.listing_id, sum(p.sold_units::float8)::bigint as sold_units, sum(p.sold_minor::float8)::bigint as sold_minor,
           sum(p.valued_sold_units::float8)::bigint as valued_sold_units,
           ${["returned_units", "refund_minor", "label_minor"].map(sumsInside).join(", ")}
      from part p
     cross join lateral (select width_bucket(($5::integer[])[1], p.lag_days) as first, width_bucket(($5::integer[])[2], p.lag_days) as second,
                                width_bucket(($5::integer[])[3], p.lag_days) as third, cardinality(p.lag_days) as whole) i
     group by p.sku, p.listing_id
  )
  select w.shop_key, $2, t.sku, t.listing_id, t.sold_units, t.sold_minor, t.valued_sold_units,
         array[0, ($5::integer[])[1] + 1, ($5::integer[])[2] + 1, ($5::integer[])[3] + 1], t.returned_units, t.refund_minor, t.label_minor
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

/** What a range of months is added up from, by first days, years by that of their last month; `lessMonths` are subtracted. */
export type Blocks = Record<"years" | "quarters" | "months" | "lessMonths", string[]>;

/** Shorter ranges are few blocks without years. */
const LONG_MONTHS = 6;

/** The blocks of a range of months (null = none) inside a window. */
export async function findBlocks(
  database: Queryable,
  shopKey: number,
  range: { startMonth: number; endMonth: number } | null,
  windowDays: number,
): Promise<Blocks> {
  if (range === null) return blocksOf(0, -1, []);
  const { startMonth, endMonth } = range;
  const isLong = endMonth - startMonth >= LONG_MONTHS;
  return blocksOf(startMonth, endMonth, isLong ? await listYears(database, shopKey, windowDays) : []);
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
