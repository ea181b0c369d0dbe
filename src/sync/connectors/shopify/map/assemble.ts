import type { Connection } from "../../../../store/database.ts";
import { openOrderRecords, openProductRecords } from "../../../../store/queries/shopify-record.ts";
import type { NextRows } from "../../../../store/query.ts";
import type { OrderRecordRow, ProductRecordRow } from "../../../../store/queries/shopify-record.ts";
import type {
  AgreementRecord,
  FulfillmentRecord,
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

/** `order` null = the platform no longer has it. */
export type FetchedOrder = { orderId: string; order: ShopifyOrder | null; document: unknown };

/** Puts the fetched records of each order together. Records of an order that was itself not fetched are left out. */
export async function openFetchedOrders(
  connection: Connection,
  shopKey: number,
  source: string,
): Promise<NextRows<FetchedOrder>> {
  const rows = await openOrderRecords(connection, shopKey, source);
  return openGroups(rows, (row) => row.order_id, assembleOrder);
}

/** Puts the fetched records of each product together. */
export async function openFetchedProducts(
  connection: Connection,
  shopKey: number,
  source: string,
): Promise<NextRows<ShopifyProduct>> {
  const rows = await openProductRecords(connection, shopKey, source);
  return openGroups(rows, (row) => row.product_id, assembleProduct);
}

/** Rows of one key stand together; the last key's rows of a fetch may go on in the next one. */
function openGroups<Fetched, Item>(
  nextRows: NextRows<Fetched>,
  keyOf: (row: Fetched) => string,
  assemble: (rows: Fetched[]) => Item[],
): NextRows<Item> {
  let open: Fetched[] = [];
  return async () => {
    const items: Item[] = [];
    for (let isEnd = false; items.length === 0 && !isEnd;) {
      const rows = await nextRows();
      isEnd = rows.length === 0;
      for (const row of rows) {
        if (open[0] !== undefined && keyOf(open[0]) !== keyOf(row)) {
          items.push(...assemble(open));
          open = [];
        }
        open.push(row);
      }
      if (isEnd && open.length > 0) items.push(...assemble(open.splice(0)));
    }
    return items;
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
    fulfillments: lastById<FulfillmentRecord>(rows, "fulfillment"),
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
