import { defineStatement } from "../database.ts";
import type { Connection } from "../database.ts";

const HAS_ORDERS = defineStatement({
  name: "has_orders",
  text: "select exists (select from order_document where shop_key = $1) as found",
});

/** Whether a shop has any order yet. Primary key of order_document. */
export async function hasOrders(connection: Connection, shopKey: number): Promise<boolean> {
  const [row] = await connection.rows<{ found: boolean }>(HAS_ORDERS, [shopKey]);
  return row?.found === true;
}

const REMOVES_ORDER_ROWS = defineStatement({
  name: "removes_order_rows",
  text: "select exists (select from staged_order_row where deleted) as found",
});

/** Whether a staged row says that a line, a return or a refund is gone. */
export async function removesOrderRows(connection: Connection): Promise<boolean> {
  const [row] = await connection.rows<{ found: boolean }>(REMOVES_ORDER_ROWS, []);
  return row?.found === true;
}

/** Makes staged rows findable by order; returns how many there are. */
export async function indexStagedRows(connection: Connection): Promise<number> {
  await connection.client.query(
    "create index staged_order_row_by_order on staged_order_row (order_id); analyze staged_order_row",
  );
  const [row] = await connection.rows<{ rows: number }>(COUNT_STAGED_ROWS, []);
  return row?.rows ?? 0;
}

const COUNT_STAGED_ROWS = defineStatement({
  name: "count_staged_rows",
  text: "select count(*) as rows from staged_order_row",
});

const LOAD_STAGED_ROWS = defineStatement({
  name: "load_staged_rows",
  text: `select s.order_id, s.kind, '[' || string_agg(s.record, ',') || ']' as records
           from staged_order_row s where s.order_id = any($1::text[]) group by s.order_id, s.kind`,
});

/** The staged returns and refunds of orders as JSON arrays, one row per order and kind. */
export async function loadStagedRows(
  connection: Connection,
  orderIds: readonly string[],
): Promise<{ order_id: string; kind: string; records: string }[]> {
  return connection.rows(LOAD_STAGED_ROWS, [orderIds]);
}

/** Runs `work`; what it did is undone when it throws. */
export async function withSavepoint<Result>(
  connection: Connection,
  work: () => Promise<Result>,
): Promise<Result> {
  await connection.client.query("savepoint part");
  try {
    const result = await work();
    await connection.client.query("release savepoint part");
    return result;
  } catch (error) {
    await connection.client.query("rollback to savepoint part");
    throw error;
  }
}
