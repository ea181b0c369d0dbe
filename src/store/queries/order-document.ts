import type { Connection } from "../database.ts";
import { command, cursor, query } from "../query.ts";

const listDocuments = query<StoredOrderRow, [shopKey: number, orderIds: readonly string[]], Connection>(
  "find_documents",
  "select d.order_id, d.document from order_document d where d.shop_key = $1 and d.order_id = any($2::text[])",
);

/** What is stored of some orders, as JSON values by order id. Primary key of order_document. */
export async function findDocuments(
  connection: Connection,
  shopKey: number,
  orderIds: readonly string[],
): Promise<Map<string, unknown>> {
  const rows = await listDocuments(connection, shopKey, orderIds);
  return new Map(rows.map((row) => [row.order_id, row.document]));
}

type StoredOrderRow = { order_id: string; document: unknown };

/** Opens the cursor over every stored document of a shop: a range scan of order_document's primary key. */
export const openStoredOrders = cursor<StoredOrderRow, [shopKey: number]>(
  "stored_order",
  200,
  `select d.order_id, d.document from order_document d where d.shop_key = $1`,
);

/** Removes what is stored of some orders. Primary key of order_document. */
export const removeDocuments = command<[shopKey: number, orderIds: readonly string[]], Connection>(
  "remove_documents",
  "delete from order_document d where d.shop_key = $1 and d.order_id = any($2::text[])",
);
