import type { Connection } from "../database.ts";
import { command, cursor, MOST_FETCHED_BYTES, query, inOrder, queryColumn, requireValue } from "../query.ts";

const idsAlone = (shopKey: number, orderIds: readonly string[]): readonly unknown[] => [shopKey, orderIds];

/**
 * Removes names and tracking numbers of orders, and records that they must not be stored again. Labels stay matched (M10), and a
 * name keeps its prefix if that is one of `beginnings` (M1), so no figure changes. Needs `lockWorkspace` earlier in the transaction.
 * Primary keys, return_label_by_order, and a scan of the workspace's labels for those that name only a return.
 */
export const redactOrders = inOrder<
  [shopKey: number, orderIds: readonly string[], beginnings: readonly string[]],
  void,
  Connection
>(
  command(
    "add_redacted_orders",
    `insert into redacted_order (shop_key, order_id)
         select w.shop_key, named.id from workspace w, unnest($2::text[]) named (id)
          where w.shop_key = $1 group by 1, 2
         on conflict (shop_key, order_id) do nothing`,
    idsAlone,
  ),
  command(
    "redact_labels",
    `update return_label l
            set source_order_id = l.order_id, source_return_id = l.return_id, source_order_name = null,
                tracking_number = null
          where l.shop_key = $1
            and (l.order_id = any($2)
                 or l.return_id in (select r.return_id from return_request r
                                     where r.shop_key = $1 and r.order_id = any($2)))`,
    idsAlone,
  ),
  command(
    "redact_documents",
    `with name as (delete from order_reference where shop_key = $1 and order_id = any($2)),
              tracking as (delete from return_tracking where shop_key = $1 and order_id = any($2))
         update order_document d
            set document = d.document - 'orderName' - 'trackings'
                || coalesce((select jsonb_build_object('orderName', b.beginning) from unnest($3::text[]) b (beginning)
                              where starts_with(lower(d.document ->> 'orderName' collate "C"),
                                                lower(b.beginning collate "C")) limit 1), '{}')
          where d.shop_key = $1 and d.order_id = any($2) and d.document ?| array['orderName', 'trackings']`,
  ),
);

/** The orders whose names and tracking numbers are not to be stored. Primary key. */
export const listRedactedOrders = queryColumn<string, [shopKey: number]>(
  "list_redacted_orders",
  "select r.order_id from redacted_order r where r.shop_key = $1",
);

/** A stored label of a redacted order. */
export type RedactedLabel = { label_id: string; order_id: string | null; return_id: string | null };

/** The labels of redacted orders: a scan of the source's labels where there are such orders. */
export const listRedactedLabels = query<RedactedLabel, [shopKey: number, source: string], Connection>(
  "list_redacted_labels",
  `select l.label_id, l.source_order_id as order_id, l.source_return_id as return_id
           from return_label l
          where l.shop_key = $1 and l.source = $2 and l.tracking_number is null and l.source_order_name is null
            and (exists (select from redacted_order r where r.shop_key = $1 and r.order_id = l.source_order_id)
                 or exists (select from return_request q
                              join redacted_order r on r.shop_key = $1 and r.order_id = q.order_id
                             where q.shop_key = $1 and q.return_id = l.source_return_id))`,
);

/** The bytes of the document `d`, as SQL: it is read only if it is compressed, as long ones are. */
export const DOCUMENT_BYTES = `case when pg_column_compression(d.document) is null then pg_column_size(d.document)
                else octet_length(d.document::text) end`;

/** The bytes of the longest stored document of a workspace: a scan of its documents. */
export const measureDocuments = requireValue<number, [shopKey: number], Connection>(
  "measure_documents",
  `select coalesce(max(${DOCUMENT_BYTES}), 0) as longest from order_document d where d.shop_key = $1`,
  (shopKey) => [shopKey],
);

const listDocuments = query<StoredOrderRow, [shopKey: number, orderIds: readonly string[]], Connection>(
  "find_documents",
  `select f.order_id, case when coalesce(f.bytes_before, 0) < ${MOST_FETCHED_BYTES} then f.document end as document
           from (select d.order_id, d.document,
                        sum(${DOCUMENT_BYTES}) over (order by d.order_id rows between unbounded preceding and 1 preceding)
                          as bytes_before
                   from order_document d where d.shop_key = $1 and d.order_id = any($2::text[])) f`,
);

/**
 * Stored documents of some orders, as JSON values by order id, and the orders whose documents were too much for one fetch: to be
 * asked for again. Primary key of order_document.
 */
export async function findDocuments(
  connection: Connection,
  shopKey: number,
  orderIds: readonly string[],
): Promise<{ documents: Map<string, unknown>; left: Set<string> }> {
  const rows = await listDocuments(connection, shopKey, orderIds);
  const [found, left] = [
    rows.filter((row) => row.document !== null),
    rows.filter((row) => row.document === null),
  ];
  return {
    documents: new Map(found.map((row) => [row.order_id, row.document])),
    left: new Set(left.map((row) => row.order_id)),
  };
}

export type StoredOrderRow = { order_id: string; document: unknown };

/** Opens the cursor over every stored document of a workspace: a range scan of order_document's primary key. */
export const openStoredOrders = cursor<StoredOrderRow, [shopKey: number]>(
  "stored_order",
  200,
  `select d.order_id, d.document from order_document d where d.shop_key = $1`,
  measureDocuments,
);

/** Removes the documents of some orders. Primary key of order_document. */
export const removeDocuments = command<[shopKey: number, orderIds: readonly string[]], Connection>(
  "remove_documents",
  "delete from order_document d where d.shop_key = $1 and d.order_id = any($2::text[])",
);
