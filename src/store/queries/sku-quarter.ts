import { defineStatement } from "../database.ts";
import type { Connection } from "../database.ts";

/** The columns that rank a SKU, the same in cohort and sku_quarter. */
const RANKING = ["sold_units", "returned_units", "refund_minor", "label_minor"];

const PUT_SKU_QUARTERS = defineStatement({ name: "put_sku_quarters", text: putSkuQuartersOf("", "") });
const PUT_LISTED_SKU_QUARTERS = defineStatement({
  name: "put_listed_sku_quarters",
  text: putSkuQuartersOf("and c.entity_key = any($4::text[])", "and sku = any($4::text[])"),
});

/**
 * Brings the listings of SKUs (null = all) of a quarter (its first day) to the sum of their cohort months (M7): rows that are right
 * stay untouched, those of SKUs that sold nothing become zeros. Index cohort_leaderboard, primary key of sku_quarter;
 * of listed SKUs both primary keys.
 */
export async function putSkuQuarters(
  connection: Connection,
  shopKey: number,
  quarter: string,
  windows: readonly string[],
  skus: readonly string[] | null,
): Promise<void> {
  const values = [shopKey, quarter, windows];
  if (skus === null) await connection.rows(PUT_SKU_QUARTERS, values);
  else await connection.rows(PUT_LISTED_SKU_QUARTERS, [...values, skus]);
}

/** Key and place of the query as in `PUT_COHORTS`. */
function putSkuQuartersOf(ofCohort: string, ofQuarter: string): string {
  const listOf = (row: string) => RANKING.map((column) => `${row}.${column}`).join(", ");
  return `insert into sku_quarter (shop_key, quarter, observation_window, sku, listing_id, ${RANKING.join(", ")})
  with fresh as (
    select c.observation_window, c.entity_key as sku, c.listing_id,
           ${RANKING.map((column) => `sum(c.${column})::bigint as ${column}`).join(", ")}
      from cohort c
     where c.shop_key = $1 and c.entity_kind = 'sku' and c.observation_window = any($3::text[]) ${ofCohort}
       and c.cohort_month in ($2::date, ($2::date + interval '1 month')::date, ($2::date + interval '2 months')::date)
     group by c.observation_window, c.entity_key, c.listing_id
  ), old as (
    select observation_window, sku, listing_id, ${RANKING.join(", ")}
      from sku_quarter
     where shop_key = $1 and observation_window = any($3::text[]) and quarter = $2 ${ofQuarter}
  )
  select w.shop_key, $2, coalesce(f.observation_window, o.observation_window), coalesce(f.sku, o.sku),
         coalesce(f.listing_id, o.listing_id),
         ${RANKING.map((column) => `coalesce(f.${column}, 0)`).join(", ")}
    from workspace w
    left join (fresh f full join old o on o.observation_window = f.observation_window and o.sku = f.sku
               and o.listing_id = f.listing_id) on true
   where w.shop_key = $1 and (${listOf("f")}) is distinct from (${listOf("o")})
   order by 3, 4, 5
  on conflict (shop_key, observation_window, quarter, sku, listing_id) do update
     set ${RANKING.map((column) => `${column} = excluded.${column}`).join(", ")}`;
}

const REMOVE_EMPTY_SKU_QUARTERS = defineStatement({
  name: "remove_empty_sku_quarters",
  text: `delete from sku_quarter
          where shop_key = $1 and observation_window = any($3::text[]) and quarter = $2 and sold_units = 0`,
});

/** Removes the rows of a quarter that hold nothing. Primary key of sku_quarter. */
export async function removeEmptySkuQuarters(
  connection: Connection,
  shopKey: number,
  quarter: string,
  windows: readonly string[],
): Promise<void> {
  await connection.rows(REMOVE_EMPTY_SKU_QUARTERS, [shopKey, quarter, windows]);
}

/** What a range of months (YYYY-MM, both included) is made of: quarters inside it and the months left, first days. */
export function quartersAndMonths(
  startMonth: string,
  endMonth: string,
): { quarters: string[]; months: string[] } {
  const quarters: string[] = [];
  const months: string[] = [];
  const end = monthNumber(endMonth);
  for (let month = monthNumber(startMonth); month <= end; month += 1) {
    if (month % 3 === 0 && month + 2 <= end) {
      quarters.push(firstDay(month));
      month += 2;
    } else {
      months.push(firstDay(month));
    }
  }
  return { quarters, months };
}

/**
 * `part`: `columns` of listings over quarters $6 and months $7 in window $8; `isNarrowed`: of those in `CANDIDATE` alone.
 * Ranges of sku_quarter's primary key and cohort_leaderboard.
 */
export function listingParts(columns: readonly string[], isNarrowed: boolean): string {
  const listOf = (row: string) => columns.map((column) => `${row}.${column}`).join(", ");
  const isCandidate = (sku: string, listing: string) =>
    isNarrowed ? `and (${sku}, ${listing}) in (select k.sku, k.listing_id from candidate k)` : "";
  return `part as (
    select q.sku, q.listing_id, ${listOf("q")}
      from sku_quarter q
     where q.shop_key = $1 and q.observation_window = $8 and q.quarter = any($6::date[])
       ${isCandidate("q.sku", "q.listing_id")}
    union all
    select c.entity_key, c.listing_id, ${listOf("c")}
      from cohort c
     where c.shop_key = $1 and c.entity_kind = 'sku' and c.observation_window = $8 and c.cohort_month = any($7::date[])
       ${isCandidate("c.entity_key", "c.listing_id")}
  )`;
}

/**
 * Sums of columns of rows `row`, in double precision: exact up to 2^53, beyond which nothing is served, and made in half
 * the time of numeric ones.
 */
export function exactSums(row: string, columns: readonly string[]): string {
  return columns.map((column) => `sum(${row}.${column}::float8) as ${column}`).join(", ");
}

/** `ranked`: the columns of `listingParts` summed up by SKU; lines without a SKU have no place in a ranking of them. */
export function rankedSkus(columns: readonly string[], isNarrowed: boolean): string {
  return `${listingParts(columns, isNarrowed)}, ranked as (
    select p.sku, ${exactSums("p", columns)} from part p where p.sku <> '' group by p.sku
  )`;
}

/** First day of the calendar quarter of a day, both YYYY-MM-DD. */
export function quarterOf(day: string): string {
  const month = Number(day.slice(5, 7));
  return `${day.slice(0, 5)}${String(month - ((month - 1) % 3)).padStart(2, "0")}-01`;
}

function monthNumber(month: string): number {
  return Number(month.slice(0, 4)) * 12 + Number(month.slice(5, 7)) - 1;
}

function firstDay(month: number): string {
  return `${String(Math.floor(month / 12)).padStart(4, "0")}-${String((month % 12) + 1).padStart(2, "0")}-01`;
}
