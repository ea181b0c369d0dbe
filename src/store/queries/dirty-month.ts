import { defineStatement } from "../database.ts";
import type { Connection, Queryable } from "../database.ts";

const LIST_DIRTY_MONTHS = defineStatement({
  name: "list_dirty_months",
  text: "select cohort_month from dirty_cohort where shop_key = $1 order by cohort_month",
});

/** First days of the months to roll up, YYYY-MM-DD, oldest first. */
export async function listDirtyMonths(connection: Connection, shopKey: number): Promise<string[]> {
  const rows = await connection.rows<{ cohort_month: string }>(LIST_DIRTY_MONTHS, [shopKey]);
  return rows.map((row) => row.cohort_month);
}

const LIST_SHOPS_TO_REBUILD = defineStatement({
  name: "list_shops_to_rebuild",
  text: "select distinct shop_key from dirty_cohort order by shop_key",
});

/** Every shop with months to roll up: a scan over all shops, for the end of a migration. */
export async function listShopsToRebuild(database: Queryable): Promise<number[]> {
  return (await database.rows<{ shop_key: number }>(LIST_SHOPS_TO_REBUILD, [])).map((row) => row.shop_key);
}

const CLEAR_DIRTY_MONTHS = defineStatement({
  name: "clear_dirty_months",
  text: "delete from dirty_cohort where shop_key = $1 and cohort_month = any($2::date[])",
});

/** Forgets that months (first days) have to be rolled up. Primary key of dirty_cohort. */
export async function clearDirtyMonths(
  connection: Connection,
  shopKey: number,
  months: readonly string[],
): Promise<void> {
  await connection.rows(CLEAR_DIRTY_MONTHS, [shopKey, months]);
}

const LIST_COHORT_MONTHS = defineStatement({
  name: "list_cohort_months",
  // One step of an index per month: listing the lines themselves would read them all.
  text: `with recursive month (cohort_month) as (
           select min(cohort_month) from order_line where shop_key = $1
           union all
           select (select min(l.cohort_month) from order_line l where l.shop_key = $1 and l.cohort_month > m.cohort_month)
             from month m where m.cohort_month is not null
         )
         select cohort_month from month where cohort_month is not null
         union select cohort_month from cohort where shop_key = $1 and entity_kind = 'workspace'
         order by cohort_month`,
});

/** First days of all months that hold lines or cohort rows, oldest first. Index order_line_by_month. */
export async function listCohortMonths(connection: Connection, shopKey: number): Promise<string[]> {
  const rows = await connection.rows<{ cohort_month: string }>(LIST_COHORT_MONTHS, [shopKey]);
  return rows.map((row) => row.cohort_month);
}
