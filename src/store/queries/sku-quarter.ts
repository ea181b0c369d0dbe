import { monthOfDate, monthToDate } from "../../lib/month.ts";
import type { Connection } from "../database.ts";
import { command, inOrder } from "../query.ts";
import { columnsInside, placeInside } from "./return-curve.ts";

/**
 * Replaces a quarter (its first day) by the sum of its cohort months (M7). Primary keys of cohort and
 * sku_quarter.
 */
export const replaceSkuQuarter = inOrder<[shopKey: number, quarter: string], void, Connection>(
  command("delete_sku_quarter", "delete from sku_quarter where shop_key = $1 and quarter = $2"),
  command(
    "insert_sku_quarter",
    `insert into sku_quarter (shop_key, quarter, sku, listing_id, sold_units, sold_minor, valued_sold_units, lag_days,
                                  returned_units, refund_minor, label_minor)
  with month as materialized (
    select c.entity_key as sku, c.listing_id, c.sold_units, c.sold_minor, c.valued_sold_units, c.lag_days, c.returned_units, c.refund_minor, c.label_minor
      from cohort c
     where c.shop_key = $1 and c.entity_kind = 'sku'
       and c.cohort_month in ($2::date, ($2::date + interval '1 month')::date, ($2::date + interval '2 months')::date)
  ), sold as (
    select sku, listing_id, sum(sold_units)::bigint as sold_units, sum(sold_minor)::bigint as sold_minor,
           sum(valued_sold_units)::bigint as valued_sold_units from month group by sku, listing_id
  ), step as (
    select m.sku, m.listing_id, u.lag_days,
           sum((u.returned_units - coalesce(m.returned_units[u.place - 1], 0))::integer) as returned_units,
           sum((u.refund_minor - coalesce(m.refund_minor[u.place - 1], 0))::float8) as refund_minor,
           sum((u.label_minor - coalesce(m.label_minor[u.place - 1], 0))::float8) as label_minor
      from month m
     cross join lateral unnest(m.lag_days, m.returned_units, m.refund_minor, m.label_minor) with ordinality
           u (lag_days, returned_units, refund_minor, label_minor, place)
     where m.lag_days is not null
     group by m.sku, m.listing_id, u.lag_days
  ), curve as (
    select sku, listing_id, array_agg(lag_days order by lag_days) as lag_days,
           array_agg(returned_units order by lag_days) as returned_units,
           array_agg(refund_minor::bigint order by lag_days) as refund_minor,
           array_agg(label_minor::bigint order by lag_days) as label_minor
      from (
        select sku, listing_id, lag_days, sum(returned_units) over so_far as returned_units,
               sum(refund_minor) over so_far as refund_minor, sum(label_minor) over so_far as label_minor
          from step
        window so_far as (partition by sku, listing_id order by lag_days)
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

/** What a range of months, both included, is made of: quarters inside it and the months left, by their first days. */
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

/** The parameters with years to add and months to subtract. */
export type OtherBlocks = Record<"years" | "lessMonths", string>;

/**
 * `part`: `columns` of listings over quarters $6 and months $7 inside $8 days, and over those of `others`. Ranges of the primary
 * keys of sku_quarter, cohort and sku_year, or look-ups in them where few SKUs are left.
 */
export function listingParts(
  columns: readonly string[],
  narrowing: Narrowing,
  others: OtherBlocks | null = null,
): string {
  return partsOf("part", columns, narrowing, { quarters: "$6", months: "$7" }, others);
}

/** The same under another name, over other quarters and months. */
export function partsOf(
  name: string,
  columns: readonly string[],
  narrowing: Narrowing,
  { quarters, months }: Record<"quarters" | "months", string>,
  others: OtherBlocks | null = null,
): string {
  const inside = (row: string, sku: string): string =>
    `select ${row}.${sku} as sku, ${row}.listing_id, ${columnsInside(row, columns)}`;
  const ofMonths = (parameter: string): string => `${inside("c", "entity_key")}
      from cohort c cross join lateral ${placeInside("c", "$8")}
     where c.shop_key = $1 and c.entity_kind = 'sku' and c.cohort_month = any(${parameter}::date[])
       ${narrowing("c.entity_key", "c.listing_id")}`;
  const parts = [
    `${inside("q", "sku")}
      from sku_quarter q cross join lateral ${placeInside("q", "$8")}
     where q.shop_key = $1 and q.quarter = any(${quarters}::date[]) ${narrowing("q.sku", "q.listing_id")}`,
    ofMonths(months),
  ];
  if (others !== null) {
    // One lookup per year: for an array of unknown length the planner would scan the whole table.
    parts.push(`select m.* from unnest(${others.years}::date[]) k (last_month) cross join lateral (
      ${inside("y", "sku")}
        from sku_year y cross join lateral ${placeInside("y", "$8")}
       where y.shop_key = $1 and y.last_month = k.last_month ${narrowing("y.sku", "y.listing_id")} offset 0) m`);
    parts.push(`select l.sku, l.listing_id, ${columns.map((column) => `-l.${column}`).join(", ")}
      from (${ofMonths(others.lessMonths)}) l`);
  }
  return `${name} as (
    ${parts.join("\n    union all\n    ")}
  )`;
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
