import type { DocumentLine, DocumentRefund, DocumentReturn, OrderDocument } from "../metrics/order.ts";

/**
 * The only place that knows the stored format of a document: JSON without the members that have default values, without its order
 * id, which is a column, and with the time of its first line once for all lines that share it.
 */
type StoredDocument = {
  orderedAt?: string;
  lines: Partial<DocumentLine>[];
  returns?: Partial<DocumentReturn>[];
  refunds?: Partial<DocumentRefund>[];
} & Partial<OrderMembers>;

/** The members of a document besides its lines, returns and refunds. */
type OrderMembers = Required<Omit<OrderDocument, "orderId" | "lines" | "returns" | "refunds">>;

/** Their values when JSON omits them. */
export const ORDER_DEFAULTS: OrderMembers = {
  orderName: null,
  trackings: [],
  amountRefunds: [],
  tags: [],
  channel: null,
  unpaidStatus: null,
  free: false,
};

/** The values of a row's members when JSON omits them. */
export const ROW_DEFAULTS = {
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

export function storedText(document: OrderDocument): string {
  const { orderId: _orderId, lines, returns, refunds, ...members } = document;
  const orderedAt = lines[0]?.orderedAt;
  const lineDefaults = { ...ROW_DEFAULTS.lines, orderedAt };
  const stored: StoredDocument = {
    ...(orderedAt === undefined ? {} : { orderedAt }),
    lines: lines.map((line) => withoutDefaults(line, lineDefaults)),
    ...(returns.length === 0
      ? {}
      : { returns: returns.map((row) => withoutDefaults(row, ROW_DEFAULTS.returns)) }),
    ...(refunds.length === 0
      ? {}
      : { refunds: refunds.map((row) => withoutDefaults(row, ROW_DEFAULTS.refunds)) }),
    ...membersWithoutDefaults(members),
  };
  return JSON.stringify(stored);
}

/** The document of a stored JSON value, with all its members; also of a value stored with them. */
export function readStored(orderId: string, value: unknown): OrderDocument {
  const { orderedAt, lines, returns = [], refunds = [], ...members } = value as StoredDocument;
  const lineDefaults = { ...ROW_DEFAULTS.lines, orderedAt };
  return {
    ...ORDER_DEFAULTS,
    ...members,
    orderId,
    lines: lines.map((line) => ({ ...lineDefaults, ...line }) as DocumentLine),
    returns: returns.map((row) => ({ ...ROW_DEFAULTS.returns, ...row }) as DocumentReturn),
    refunds: refunds.map((row) => ({ ...ROW_DEFAULTS.refunds, ...row }) as DocumentRefund),
  };
}

/** A row without the members that have their default. */
function withoutDefaults<Row extends object>(
  row: Row,
  defaults: Partial<Record<keyof Row, unknown>>,
): Partial<Row> {
  const rest: Partial<Row> = {};
  for (const name of Object.keys(row) as (keyof Row)[]) {
    if (row[name] !== defaults[name]) rest[name] = row[name];
  }
  return rest;
}

function membersWithoutDefaults(members: Partial<OrderMembers>): Partial<OrderMembers> {
  return Object.fromEntries(
    Object.entries(members).filter(([name, value]) =>
      Array.isArray(value) ? value.length > 0 : value !== ORDER_DEFAULTS[name as keyof OrderMembers],
    ),
  );
}

/** A product's id on the wire: the platform's own gid where the source has one, else one of the import. */
export function productGidOf(productId: string): string {
  return productId.startsWith("gid://") ? productId : `gid://import/Product/${productId}`;
}
