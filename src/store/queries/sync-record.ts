import type { Connection } from "../database.ts";
import { command, query, requireRow, requireValue, cursor, queryColumn } from "../query.ts";
import { DOCUMENT_BYTES } from "./order-document.ts";

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

/** Number of requested records of a kind, and the last one's id ('' = none). Primary key. */
export const countPending = requireRow<
  { pending: number; last: string },
  [shopKey: number, source: string, kind: string]
>(
  "count_pending_records",
  `select count(*) as pending, coalesce(max(p.record_id), '') as last
           from pending_record p
          where p.shop_key = $1 and p.source = $2 and p.kind = $3`,
);

/** Removes the requests of fetched records, except those requested again since they were listed. Primary key. */
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

/** Removes the requests of some kinds. */
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

const ROWS_PER_FETCH = 2000;

/** The bytes of the longest record of a source. */
const measureRecords = requireValue<number, [shopKey: number, source: string], Connection>(
  "measure_sync_records",
  `select coalesce(max(octet_length(r.record)), 0) as longest from sync_record r where r.shop_key = $1 and r.source = $2`,
);

/** `column` of the stored document of the order of the record `s`, as SQL: a look-up in order_document's primary key. */
const ofStored = (column: string): string => `case when s.part in ('order', 'whole_order') then
              (select ${column} from order_document d where d.shop_key = $1 and d.order_id = s.order_id)
            end`;

/** The same with the stored document of its order, where it comes with one. */
const measureOrderRecords = requireValue<number, [shopKey: number, source: string], Connection>(
  "measure_order_records",
  `select coalesce(max(s.bytes + coalesce(${ofStored(DOCUMENT_BYTES)}, 0)), 0) as longest
           from (select r.part, coalesce(r.parent_id, r.record_id) as order_id, octet_length(r.record) as bytes
                   from sync_record r where r.shop_key = $1 and r.source = $2) s`,
);

/** One fetched record of an order. `document` is the order's stored document, on at least one of its rows. */
export type OrderRecordRow = { order_id: string; part: string; record: string; document: unknown };

/** Parts of sync_record that make up orders, and those attached to a return or an agreement. */
const ORDER_PARTS = "'order', 'line', 'return', 'refund', 'fulfillment', 'agreement', 'whole_order'";
const GRANDCHILD_PARTS = "'return_line', 'tracking', 'sale', 'tip'";

/**
 * Opens the cursor over all fetched records of orders, each order's together and in order of arrival. A grandchild finds its
 * order through its parent; one without a fetched parent is omitted. A sort of the source's records; one look-up in
 * order_document's primary key for each order.
 */
export const openOrderRecords = cursor<OrderRecordRow, [shopKey: number, source: string]>(
  "shopify_order_record",
  ROWS_PER_FETCH,
  `with mine as not materialized (
       select r.part, r.record_number, r.record_id, r.parent_id, r.record
         from sync_record r where r.shop_key = $1 and r.source = $2
     ), parent as (
       select m.record_id, min(m.parent_id) as order_id from mine m
        where m.part in ('return', 'agreement') group by m.record_id
     ), placed as (
       select coalesce(m.parent_id, m.record_id) as order_id, m.part, m.record_number, m.record from mine m
        where m.part in (${ORDER_PARTS})
       union all
       select p.order_id, m.part, m.record_number, m.record
         from mine m join parent p on p.record_id = m.parent_id
        where m.part in (${GRANDCHILD_PARTS})
     ), sorted as (
       select order_id, part, record from placed order by order_id, record_number offset 0
     )
     select s.order_id, s.part, s.record,
            ${ofStored("d.document")} as document
       from sorted s`,
  measureOrderRecords,
);

/** One fetched record of a product. */
export type ProductRecordRow = { product_id: string; part: string; record: string };

/** Opens the cursor over all fetched records of products, each product's together and in order of arrival. */
export const openProductRecords = cursor<ProductRecordRow, [shopKey: number, source: string]>(
  "shopify_product_record",
  ROWS_PER_FETCH,
  `select coalesce(r.parent_id, r.record_id) as product_id, r.part, r.record
       from sync_record r
      where r.shop_key = $1 and r.source = $2 and r.part in ('product', 'variant', 'whole_product')
      order by 1, r.record_number`,
  measureRecords,
);

/** Requests the refunds of every fetched order that has some. */
export const askForRefunds = command<[shopKey: number, source: string], Connection>(
  "ask_for_shopify_refunds",
  `insert into pending_record (shop_key, source, kind, record_id)
         select r.shop_key, r.source, 'refunds', r.record_id from sync_record r
          where r.shop_key = $1 and r.source = $2 and r.part = 'order' and r.record::json ->> 'hasRefunds' = 'true'
         on conflict do nothing`,
);

/** Requests the tracking numbers of every fetched return whose parcel may be in transit. */
export const askForTrackings = command<[shopKey: number, source: string], Connection>(
  "ask_for_shopify_trackings",
  `insert into pending_record (shop_key, source, kind, record_id)
         select r.shop_key, r.source, 'tracking', r.record_id from sync_record r
          where r.shop_key = $1 and r.source = $2 and r.part = 'return'
            and r.record::json ->> 'status' in ('OPEN', 'CLOSED')
         on conflict do nothing`,
);

/**
 * Adds a record without content for each stored order whose id begins with `prefix` that the fetched records of `part` do not
 * name any more. `visibleFrom` (YYYY-MM-DD; null = any day) leaves out the orders of earlier days, which the list cannot name.
 */
export const addGoneOrders = command<
  [shopKey: number, source: string, listed: { prefix: string; part: string; visibleFrom: string | null }],
  Connection
>(
  "add_gone_orders",
  `insert into sync_record (shop_key, source, part, record_id, record)
         select d.shop_key, $2, 'whole_order', d.order_id, 'null' from order_document d
          where d.shop_key = $1 and starts_with(d.order_id, $3)
            and not exists (select from sync_record r
                             where r.shop_key = d.shop_key and r.source = $2
                               and r.part = $4 and r.record_id = d.order_id)
            and not exists (select from order_line l
                             where l.shop_key = d.shop_key and l.order_id = d.order_id
                               and l.ordered_on < coalesce($5::date, '-infinity'))`,
  (shopKey, source, { prefix, part, visibleFrom }) => [shopKey, source, prefix, part, visibleFrom],
);

/** Asks again about every order that was found gone and is not removed yet, under the kind of deleted ones. */
export const askAboutGoneOrders = command<[shopKey: number, source: string, kind: string], Connection>(
  "ask_about_gone_shopify_orders",
  `insert into pending_record (shop_key, source, kind, record_id)
         select r.shop_key, r.source, $3, r.record_id from sync_record r
          where r.shop_key = $1 and r.source = $2 and r.part = 'whole_order' and r.record = 'null'
         on conflict do nothing`,
);

/** The given orders that are stored and were placed on a day (YYYY-MM-DD) or later. Primary key. */
export const listOrdersSince = queryColumn<
  string,
  [shopKey: number, orderIds: readonly string[], day: string]
>(
  "list_stored_orders_since",
  `select l.order_id from order_line l
          where l.shop_key = $1 and l.order_id = any($2)
          group by l.order_id having min(l.ordered_on) >= $3::date`,
);

/** Requests every order with a stored open return: a scan of the workspace's return requests. */
export const askForOpenReturns = command<[shopKey: number, source: string, kind: string]>(
  "ask_for_stored_open_returns",
  // The distinct rows separately: Citus adds the times to those of the insert.
  `insert into pending_record (shop_key, source, kind, record_id)
         select o.shop_key, $2, $3, o.order_id
           from (select distinct q.shop_key, q.order_id from return_request q
                  where q.shop_key = $1 and q.status in ('REQUESTED', 'OPEN')
                    and q.order_id like 'gid://shopify/Order/%') o
         on conflict (shop_key, source, kind, record_id) do update set requested_at = excluded.requested_at`,
);

/** Stored orders whose id begins with `prefix` that were placed on a day (YYYY-MM-DD) or later. order_line_by_month. */
export const listStoredOrders = queryColumn<string, [shopKey: number, prefix: string, day: string]>(
  "list_stored_orders",
  `select l.order_id from order_line l
          where l.shop_key = $1 and l.cohort_month >= date_trunc('month', $3::date)::date and l.ordered_on >= $3::date
            and starts_with(l.order_id, $2)
          group by l.order_id`,
);
