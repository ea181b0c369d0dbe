import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";

/** A record that has to be fetched again. `requested_at` is text, to the microsecond. */
export type PendingRecord = { record_id: string; requested_at: string };

const ADD_PENDING = defineStatement({
  name: "add_pending_records",
  text: `insert into pending_record (shop_key, source, kind, record_id)
         select $1, $2, $3, id from unnest($4::text[]) id group by id
         on conflict (shop_key, source, kind, record_id) do update set requested_at = excluded.requested_at`,
});

/** Requests that records be fetched again; an existing request is renewed. */
export async function addPending(
  database: Queryable,
  shopKey: number,
  source: string,
  kind: string,
  recordIds: readonly string[],
): Promise<void> {
  await database.rows(ADD_PENDING, [shopKey, source, kind, recordIds]);
}

const LIST_PENDING = defineStatement({
  name: "list_pending_records",
  text: `select p.record_id, p.requested_at::text as requested_at
           from pending_record p
          where p.shop_key = $1 and p.source = $2 and p.kind = $3 and p.record_id > $4
            and p.record_id <= $5
          order by p.record_id limit $6`,
});

/** The first `limit` records of a kind behind the id `after`, up to the id `last`. Primary key. */
export async function listPending(
  database: Queryable,
  shopKey: number,
  source: string,
  kind: string,
  { after, last, limit }: { after: string; last: string; limit: number },
): Promise<PendingRecord[]> {
  return database.rows(LIST_PENDING, [shopKey, source, kind, after, last, limit]);
}

const COUNT_PENDING = defineStatement({
  name: "count_pending_records",
  text: `select count(*) as pending, coalesce(max(p.record_id), '') as last
           from pending_record p
          where p.shop_key = $1 and p.source = $2 and p.kind = $3`,
});

/** How many records of a kind are asked for, and the last one's id ('' = none). Primary key. */
export async function countPending(
  database: Queryable,
  shopKey: number,
  source: string,
  kind: string,
): Promise<{ pending: number; last: string }> {
  const [row] = await database.rows<{ pending: number; last: string }>(COUNT_PENDING, [
    shopKey,
    source,
    kind,
  ]);
  return row as { pending: number; last: string };
}

const REMOVE_PENDING = defineStatement({
  name: "remove_pending_records",
  text: `delete from pending_record p
          using unnest($4::text[], $5::timestamptz[]) done (record_id, requested_at)
          where p.shop_key = $1 and p.source = $2 and p.kind = $3 and p.record_id = done.record_id
            and p.requested_at <= done.requested_at`,
});

/** Removes records that were fetched, except those asked for again since they were listed. Primary key. */
export async function removePending(
  database: Queryable,
  shopKey: number,
  source: string,
  kind: string,
  records: readonly PendingRecord[],
): Promise<void> {
  const ids = records.map((row) => row.record_id);
  const requestedAt = records.map((row) => row.requested_at);
  await database.rows(REMOVE_PENDING, [shopKey, source, kind, ids, requestedAt]);
}

const CLEAR_PENDING = defineStatement({
  name: "clear_pending_records",
  text: "delete from pending_record p where p.shop_key = $1 and p.source = $2 and p.kind = any($3)",
});

/** Forgets what was asked for of some kinds. */
export async function clearPending(
  database: Queryable,
  shopKey: number,
  source: string,
  kinds: readonly string[],
): Promise<void> {
  await database.rows(CLEAR_PENDING, [shopKey, source, kinds]);
}
