import type { Connection } from "../../../../store/database.ts";
import {
  closeOrderRecords,
  closeProductRecords,
  nextOrderRecords,
  nextProductRecords,
  openOrderRecords,
  openProductRecords,
} from "../../../../store/queries/shopify-record.ts";
import type { OrderRecordRow, ProductRecordRow } from "../../../../store/queries/shopify-record.ts";
import type {
  AgreementRecord,
  LineRecord,
  OrderRecord,
  ProductRecord,
  RefundRecord,
  ReturnLineRecord,
  ReturnRecord,
  SaleRecord,
  ShopifyOrder,
  ShopifyProduct,
  TrackingRecord,
  VariantRecord,
} from "./records.ts";

const RECORDS_PER_FETCH = 2000;

/** The next items; empty at the end. */
export type Portions<Item> = () => Promise<Item[]>;

/** `order` null = the platform no longer has it. */
export type FetchedOrder = { orderId: string; order: ShopifyOrder | null; document: unknown };

/** Puts the fetched records of each order together. Records of an order that was itself not fetched are left out. */
export async function openFetchedOrders(
  connection: Connection,
  shopKey: number,
  source: string,
): Promise<Portions<FetchedOrder>> {
  await openOrderRecords(connection, shopKey, source);
  const groups = openGroups(
    () => nextOrderRecords(connection, RECORDS_PER_FETCH),
    () => closeOrderRecords(connection),
    (row) => row.order_id,
  );
  return async () => {
    let rowsByOrder = await groups();
    let orders = rowsByOrder.flatMap(assembleOrder);
    while (orders.length === 0 && rowsByOrder.length > 0) {
      rowsByOrder = await groups();
      orders = rowsByOrder.flatMap(assembleOrder);
    }
    return orders;
  };
}

/** Puts the fetched records of each product together. */
export async function openFetchedProducts(
  connection: Connection,
  shopKey: number,
  source: string,
): Promise<Portions<ShopifyProduct>> {
  await openProductRecords(connection, shopKey, source);
  const groups = openGroups(
    () => nextProductRecords(connection, RECORDS_PER_FETCH),
    () => closeProductRecords(connection),
    (row) => row.product_id,
  );
  return async () => (await groups()).flatMap(assembleProduct);
}

/** Rows of one key stand together; the last key's rows of a fetch may go on in the next one. */
function openGroups<Fetched>(
  fetchRows: () => Promise<Fetched[]>,
  close: () => Promise<void>,
  keyOf: (row: Fetched) => string,
): Portions<Fetched[]> {
  let open: Fetched[] = [];
  let isClosed = false;
  return async () => {
    const complete: Fetched[][] = [];
    while (complete.length === 0 && !isClosed) {
      const rows = await fetchRows();
      for (const row of rows) {
        if (open[0] !== undefined && keyOf(open[0]) !== keyOf(row)) {
          complete.push(open);
          open = [];
        }
        open.push(row);
      }
      if (rows.length > 0) continue;
      isClosed = true;
      await close();
      if (open.length > 0) complete.push(open);
    }
    return complete;
  };
}

/** Of records with one id the last one counts. */
function assembleOrder(rows: OrderRecordRow[]): FetchedOrder[] {
  const orderId = rows[0]?.order_id ?? "";
  const document = rows.find((row) => row.document !== null)?.document ?? null;
  const whole = rows.findLast((row) => row.part === "whole_order");
  if (whole !== undefined)
    return [{ orderId, order: JSON.parse(whole.record) as ShopifyOrder | null, document }];
  const order = lastById<OrderRecord>(rows, "order")[0];
  if (order === undefined) return [];
  const assembled: ShopifyOrder = {
    order,
    lines: lastById<LineRecord>(rows, "line"),
    returns: lastById<ReturnRecord>(rows, "return"),
    returnLines: lastById<ReturnLineRecord>(rows, "return_line"),
    refunds: lastById<RefundRecord>(rows, "refund"),
    agreements: lastById<AgreementRecord>(rows, "agreement"),
    sales: lastById<SaleRecord>(rows, "sale"),
    tipLineIds: lastById<{ id: string; lineId: string }>(rows, "tip").map((tip) => tip.lineId),
    trackings: recordsOf<TrackingRecord>(rows, "tracking"),
  };
  return [{ orderId, order: assembled, document }];
}

function assembleProduct(rows: ProductRecordRow[]): ShopifyProduct[] {
  const whole = rows.findLast((row) => row.part === "whole_product");
  if (whole !== undefined) return [JSON.parse(whole.record) as ShopifyProduct];
  const product = lastById<ProductRecord>(rows, "product")[0];
  return product === undefined ? [] : [{ product, variants: lastById<VariantRecord>(rows, "variant") }];
}

function lastById<Kept extends { id: string }>(rows: readonly Row[], part: string): Kept[] {
  const records = recordsOf<Kept>(rows, part);
  return records.length < 2 ? records : [...new Map(records.map((record) => [record.id, record])).values()];
}

type Row = { part: string; record: string };

/** They were checked when they were fetched. */
function recordsOf<Kept>(rows: readonly Row[], part: string): Kept[] {
  return rows.filter((row) => row.part === part).map((row) => JSON.parse(row.record) as Kept);
}
