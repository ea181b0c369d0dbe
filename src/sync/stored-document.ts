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

/** What the members of a row are when JSON leaves them out. */
export const USUAL = {
  lines: {
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
  },
  returns: {
    status: "CLOSED",
    units: 1,
    processedUnits: null,
    requestedAt: null,
    closedAt: null,
    reason: null,
  },
  refunds: { units: 1, restockType: "NO_RESTOCK", returnId: null },
} as const;

/** The JSON that is stored of a document. */
export function storedText(document: OrderDocument): string {
  const { lines, returns, refunds, orderName = null, trackings = [] } = document;
  const orderedAt = lines[0]?.orderedAt;
  const usualLine = { ...USUAL.lines, orderedAt };
  const stored: StoredDocument = {
    ...(orderedAt === undefined ? {} : { orderedAt }),
    lines: lines.map((line) => thinRow(line, usualLine)),
    ...(returns.length === 0 ? {} : { returns: returns.map((row) => thinRow(row, USUAL.returns)) }),
    ...(refunds.length === 0 ? {} : { refunds: refunds.map((row) => thinRow(row, USUAL.refunds)) }),
    ...(orderName === null ? {} : { orderName }),
    ...(trackings.length === 0 ? {} : { trackings }),
  };
  return JSON.stringify(stored);
}

/** The document of a stored JSON value, with all its members; also of one that was stored with them. */
export function readStored(orderId: string, value: unknown): OrderDocument {
  const { orderedAt, lines, returns = [], refunds = [], ...names } = value as StoredDocument;
  const usualLine = { ...USUAL.lines, orderedAt };
  return {
    orderId,
    lines: lines.map((line) => ({ ...usualLine, ...line }) as DocumentLine),
    returns: returns.map((row) => ({ ...USUAL.returns, ...row }) as DocumentReturn),
    refunds: refunds.map((row) => ({ ...USUAL.refunds, ...row }) as DocumentRefund),
    orderName: names.orderName ?? null,
    trackings: names.trackings ?? [],
  };
}

/** A row without the members that have their usual value. */
export function thinRow<Row extends object>(
  row: Row,
  usual: Partial<Record<keyof Row, unknown>>,
): Partial<Row> {
  const thin: Partial<Row> = {};
  for (const name of Object.keys(row) as (keyof Row)[]) {
    if (row[name] !== usual[name]) thin[name] = row[name];
  }
  return thin;
}
