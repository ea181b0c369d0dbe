import { command, requireValue } from "../query.ts";

/** Where fetched records go: the target of a COPY. */
export const SYNC_RECORD_COLUMNS = "sync_record (shop_key, source, part, record_id, parent_id, record)";

/** Removes all that a source has fetched: it is applied, or out of date. Primary key. */
export const clearRecords = command<[shopKey: number, source: string]>(
  "clear_sync_records",
  "delete from sync_record r where r.shop_key = $1 and r.source = $2",
);

/** How many different records of some parts were fetched; one that came twice counts once. Primary key. */
export const countRecords = requireValue<number, [shopKey: number, source: string, parts: readonly string[]]>(
  "count_sync_records",
  `select count(*) as records
           from (select from sync_record r
                  where r.shop_key = $1 and r.source = $2 and r.part = any($3)
                  group by r.part, r.record_id) known`,
);
