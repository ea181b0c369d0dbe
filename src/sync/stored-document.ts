import type { DocumentLine, DocumentRefund, DocumentReturn, OrderDocument } from "../metrics/order.ts";

/**
 * The one place that knows how a document is stored: as JSON without the members whose value is the usual one, without
 * its order id, which is a column, and with the moment of its first line once for all lines that share it.
 */
type StoredDocument = {
  orderedAt?: string;
  lines: Partial<DocumentLine>[];
  returns?: Partial<DocumentReturn>[];
  refunds?: Partial<DocumentRefund>[];
} & Pick<OrderDocument, "orderName" | "trackings">;

/** What the members of a row are when JSON leaves them out; the rows of an import are staged in the same way. */
export const USUAL_LINE = {
  productId: null,
  variantId: null,
  sku: null,
  title: null,
  vendor: null,
  units: 1,
  removedUnits: 0,
  unitPriceMinor: null,
  test: false,
  canceledAt: null,
  giftCard: false,
} satisfies Partial<DocumentLine>;
export const USUAL_RETURN = {
  status: "CLOSED",
  units: 1,
  processedUnits: null,
  requestedAt: null,
  closedAt: null,
  reason: null,
} satisfies Partial<DocumentReturn>;
export const USUAL_REFUND = {
  units: 1,
  restockType: "NO_RESTOCK",
  returnId: null,
} satisfies Partial<DocumentRefund>;

/** The JSON that is stored of a document. */
export function storedText(document: OrderDocument): string {
  const { lines, returns, refunds, orderName = null, trackings = [] } = document;
  const orderedAt = lines[0]?.orderedAt;
  const usualLine = { ...USUAL_LINE, orderedAt };
  const stored: StoredDocument = {
    ...(orderedAt === undefined ? {} : { orderedAt }),
    lines: lines.map((line) => thinRow(line, usualLine)),
    ...(returns.length === 0 ? {} : { returns: returns.map((row) => thinRow(row, USUAL_RETURN)) }),
    ...(refunds.length === 0 ? {} : { refunds: refunds.map((row) => thinRow(row, USUAL_REFUND)) }),
    ...(orderName === null ? {} : { orderName }),
    ...(trackings.length === 0 ? {} : { trackings }),
  };
  return JSON.stringify(stored);
}

/** The document of a stored JSON value, with all its members; also of one that was stored with them. */
export function readStored(orderId: string, value: unknown): OrderDocument {
  const { orderedAt, lines, returns = [], refunds = [], ...names } = value as StoredDocument;
  const usualLine = { ...USUAL_LINE, orderedAt };
  return {
    orderId,
    lines: lines.map((line) => ({ ...usualLine, ...line }) as DocumentLine),
    returns: returns.map((row) => ({ ...USUAL_RETURN, ...row }) as DocumentReturn),
    refunds: refunds.map((row) => ({ ...USUAL_REFUND, ...row }) as DocumentRefund),
    orderName: names.orderName ?? null,
    trackings: names.trackings ?? [],
  };
}

/** JSON of a row without the members that have their usual value. */
export function thinText<Row extends object>(row: Row, usual: UsualValues<Row>): string {
  return JSON.stringify(thinRow(row, usual));
}

type UsualValues<Row> = Partial<Record<keyof Row, unknown>>;

function thinRow<Row extends object>(row: Row, usual: UsualValues<Row>): Partial<Row> {
  const thin: Partial<Row> = {};
  for (const name of Object.keys(row) as (keyof Row)[]) {
    if (row[name] !== usual[name]) thin[name] = row[name];
  }
  return thin;
}
