import { defineStatement } from "../database.ts";
import type { Connection } from "../database.ts";

/**
 * One order of the stage: its rows as JSON arrays (null = none), the keys of those that are to be removed, and what is
 * stored of it already.
 */
export type StagedOrderRow = {
  order_id: string;
  lines: string | null;
  returns: string | null;
  refunds: string | null;
  removed: { kind: "line" | "return" | "refund"; line_id: string; record_id: string }[] | null;
  document: unknown;
};

const OPEN_STAGED_ORDERS = defineStatement({
  name: "open_staged_order",
  text: `declare staged_order no scroll cursor for
     select s.order_id,
            '[' || string_agg(s.record, ',') filter (where s.kind = 'line' and not s.deleted) || ']' as lines,
            '[' || string_agg(s.record, ',') filter (where s.kind = 'return' and not s.deleted) || ']' as returns,
            '[' || string_agg(s.record, ',') filter (where s.kind = 'refund' and not s.deleted) || ']' as refunds,
            json_agg(json_build_object('kind', s.kind, 'line_id', s.line_id, 'record_id', s.record_id))
              filter (where s.deleted) as removed,
            (select d.document from order_document d where d.shop_key = $1 and d.order_id = s.order_id) as document
       from staged_order_row s group by s.order_id`,
});

/** Opens the cursor over all staged orders; one look-up in order_document's primary key each. */
export async function openStagedOrders(connection: Connection, shopKey: number): Promise<void> {
  await connection.rows(OPEN_STAGED_ORDERS, [shopKey]);
}

/** The next staged orders, in no particular order; empty at the end. */
export async function nextStagedOrders(connection: Connection, limit: number): Promise<StagedOrderRow[]> {
  return (await connection.client.query<StagedOrderRow>(`fetch ${limit} from staged_order`)).rows;
}

export async function closeStagedOrders(connection: Connection): Promise<void> {
  await connection.client.query("close staged_order");
}

const OPEN_STORED_ORDERS = defineStatement({
  name: "open_stored_order",
  text: `declare stored_order no scroll cursor for
     select d.order_id, d.document from order_document d where d.shop_key = $1`,
});

/** Opens the cursor over every stored document of a shop: a range scan of order_document's primary key. */
export async function openStoredOrders(connection: Connection, shopKey: number): Promise<void> {
  await connection.rows(OPEN_STORED_ORDERS, [shopKey]);
}

/** The next stored documents; empty at the end. */
export async function nextStoredOrders(
  connection: Connection,
  limit: number,
): Promise<{ order_id: string; document: unknown }[]> {
  return (await connection.client.query(`fetch ${limit} from stored_order`)).rows;
}

const PUT_DOCUMENTS = defineStatement({
  name: "put_documents",
  text: `with moved as (delete from changed_document returning order_id, document)
         insert into order_document (shop_key, order_id, document)
         select $1, m.order_id, m.document from moved m
         on conflict (shop_key, order_id) do update set document = excluded.document`,
});

/** Moves the documents in changed_document to their place. */
export async function putDocuments(connection: Connection, shopKey: number): Promise<void> {
  await connection.rows(PUT_DOCUMENTS, [shopKey]);
}

const REMOVE_EMPTY_DOCUMENTS = defineStatement({
  name: "remove_empty_documents",
  text: `delete from order_document d using changed_order c
          where d.shop_key = $1 and d.order_id = c.order_id and c.existed and d.document -> 'lines' = '[]'`,
});

/** Removes the changed orders of which no line is left: their source no longer has them. Primary key. */
export async function removeEmptyDocuments(connection: Connection, shopKey: number): Promise<void> {
  await connection.rows(REMOVE_EMPTY_DOCUMENTS, [shopKey]);
}
