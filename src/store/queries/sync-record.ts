import { defineStatement } from "../database.ts";
import type { Database, Queryable } from "../database.ts";

/** Where fetched records go: the target of a COPY. */
export const SYNC_RECORD_COLUMNS = "sync_record (shop_key, source, part, record_id, parent_id, record)";

const CLEAR_RECORDS = defineStatement({
  name: "clear_sync_records",
  text: "delete from sync_record r where r.shop_key = $1 and r.source = $2",
});

/** Removes all that a source has fetched: it is applied, or out of date. Primary key. */
export async function clearRecords(database: Queryable, shopKey: number, source: string): Promise<void> {
  await database.rows(CLEAR_RECORDS, [shopKey, source]);
}

const COUNT_RECORDS = defineStatement({
  name: "count_sync_records",
  text: `select count(*) as records
           from (select from sync_record r
                  where r.shop_key = $1 and r.source = $2 and r.part = any($3)
                  group by r.part, r.record_id) known`,
});

/** How many different records of some parts were fetched; one that came twice counts once. Primary key. */
export async function countRecords(
  database: Queryable,
  shopKey: number,
  source: string,
  parts: readonly string[],
): Promise<number> {
  const [row] = await database.rows<{ records: number }>(COUNT_RECORDS, [shopKey, source, parts]);
  return row?.records ?? 0;
}

const ANALYZE_RECORDS = defineStatement({ name: "analyze_sync_records", text: "analyze sync_record" });

/**
 * Gives the planner the size of the fetched records; autovacuum would do it too late. Call it outside a transaction:
 * within one, its lock would block other shops' runs until the end.
 */
export async function analyzeRecords(database: Database): Promise<void> {
  await database.rows(ANALYZE_RECORDS, []);
}
