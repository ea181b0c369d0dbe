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
} & Partial<OrderMembers>;

/** The members of a document beside its lines, returns and refunds. */
type OrderMembers = Required<Omit<OrderDocument, "orderId" | "lines" | "returns" | "refunds">>;

/** What they are when JSON leaves them out. */
export const USUAL_ORDER: OrderMembers = {
  orderName: null,
  trackings: [],
  amountRefunds: [],
  tags: [],
  channel: null,
  unpaidStatus: null,
  free: false,
};

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
    exchangedUnits: 0,
    keptMinor: 0,
  },
  refunds: { units: 1, restockType: "NO_RESTOCK", returnId: null },
} as const;

/** The JSON that is stored of a document. */
export function storedText(document: OrderDocument): string {
  const { orderId: _orderId, lines, returns, refunds, ...members } = document;
  const orderedAt = lines[0]?.orderedAt;
  const usualLine = { ...USUAL.lines, orderedAt };
  const stored: StoredDocument = {
    ...(orderedAt === undefined ? {} : { orderedAt }),
    lines: lines.map((line) => thinRow(line, usualLine)),
    ...(returns.length === 0 ? {} : { returns: returns.map((row) => thinRow(row, USUAL.returns)) }),
    ...(refunds.length === 0 ? {} : { refunds: refunds.map((row) => thinRow(row, USUAL.refunds)) }),
    ...thinMembers(members),
  };
  return JSON.stringify(stored);
}

/** The document of a stored JSON value, with all its members; also of one that was stored with them. */
export function readStored(orderId: string, value: unknown): OrderDocument {
  const { orderedAt, lines, returns = [], refunds = [], ...members } = value as StoredDocument;
  const usualLine = { ...USUAL.lines, orderedAt };
  return {
    ...USUAL_ORDER,
    ...members,
    orderId,
    lines: lines.map((line) => ({ ...usualLine, ...line }) as DocumentLine),
    returns: returns.map((row) => ({ ...USUAL.returns, ...row }) as DocumentReturn),
    refunds: refunds.map((row) => ({ ...USUAL.refunds, ...row }) as DocumentRefund),
  };
}

/** A row without the members that have their usual value. */
function thinRow<Row extends object>(row: Row, usual: Partial<Record<keyof Row, unknown>>): Partial<Row> {
  const thin: Partial<Row> = {};
  for (const name of Object.keys(row) as (keyof Row)[]) {
    if (row[name] !== usual[name]) thin[name] = row[name];
  }
  return thin;
}

function thinMembers(members: Partial<OrderMembers>): Partial<OrderMembers> {
  return Object.fromEntries(
    Object.entries(members).filter(([name, value]) =>
      Array.isArray(value) ? value.length > 0 : value !== USUAL_ORDER[name as keyof OrderMembers],
    ),
  );
}
