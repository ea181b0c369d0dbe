import { command, query, requireRow, requireValue } from "../query.ts";

/** A record that has to be fetched again. `requested_at` is text, to the microsecond. */
export type PendingRecord = { record_id: string; requested_at: string };

/** Requests that records be fetched again; an existing request is renewed. */
export const addPending = command<
  [shopKey: number, source: string, kind: string, recordIds: readonly string[]]
>(
  "add_pending_records",
  `insert into pending_record (shop_key, source, kind, record_id)
         select $1, $2, $3, id from unnest($4::text[]) id group by id
         on conflict (shop_key, source, kind, record_id) do update set requested_at = excluded.requested_at`,
);

/** The first `limit` records of a kind behind the id `after`, up to the id `last`. Primary key. */
export const listPending = query<
  PendingRecord,
  [shopKey: number, source: string, kind: string, input: { after: string; last: string; limit: number }]
>(
  "list_pending_records",
  `select p.record_id, p.requested_at::text as requested_at
           from pending_record p
          where p.shop_key = $1 and p.source = $2 and p.kind = $3 and p.record_id > $4
            and p.record_id <= $5
          order by p.record_id limit $6`,
  (shopKey, source, kind, { after, last, limit }) => [shopKey, source, kind, after, last, limit],
);

/** How many records of a kind are asked for, and the last one's id ('' = none). Primary key. */
export const countPending = requireRow<
  { pending: number; last: string },
  [shopKey: number, source: string, kind: string]
>(
  "count_pending_records",
  `select count(*) as pending, coalesce(max(p.record_id), '') as last
           from pending_record p
          where p.shop_key = $1 and p.source = $2 and p.kind = $3`,
);

/** Removes records that were fetched, except those asked for again since they were listed. Primary key. */
export const removePending = command<
  [shopKey: number, source: string, kind: string, records: readonly PendingRecord[]]
>(
  "remove_pending_records",
  `delete from pending_record p
          using unnest($4::text[], $5::timestamptz[]) done (record_id, requested_at)
          where p.shop_key = $1 and p.source = $2 and p.kind = $3 and p.record_id = done.record_id
            and p.requested_at <= done.requested_at`,
  (shopKey, source, kind, records) => [
    shopKey,
    source,
    kind,
    records.map((row) => row.record_id),
    records.map((row) => row.requested_at),
  ],
);

/** Forgets what was asked for of some kinds. */
export const clearPending = command<[shopKey: number, source: string, kinds: readonly string[]]>(
  "clear_pending_records",
  "delete from pending_record p where p.shop_key = $1 and p.source = $2 and p.kind = any($3)",
);

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
