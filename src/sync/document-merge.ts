import { isDeepStrictEqual } from "node:util";
import type {
  DocumentLine,
  DocumentRefund,
  DocumentReturn,
  DocumentTracking,
  OrderDocument,
} from "../metrics/order.ts";

/** What a source said about one order. */
export type DocumentPart = Omit<OrderDocument, "orderId">;

/** The document that takes the stored one's place (null = none stored); null when nothing would change. */
export type DocumentMerge = (
  stored: OrderDocument | null,
  orderId: string,
  part: DocumentPart,
) => OrderDocument | null;

/**
 * For a source that tells only what changed: lays its rows over the stored document; a row replaces the one of its
 * key, and what it leaves out stays. Rows stand in key order, so that the same rows give the same document whatever way they came. Null when nothing would change.
 */
export function mergeDocument(
  stored: OrderDocument | null,
  orderId: string,
  part: DocumentPart,
): OrderDocument | null {
  const lines = mergeRows(stored?.lines ?? [], part.lines, (row: DocumentLine) => row.lineId);
  const returns = mergeRows(
    stored?.returns ?? [],
    part.returns,
    (row: DocumentReturn) => `${row.returnId}\n${row.lineId}`,
  );
  const refunds = mergeRows(
    stored?.refunds ?? [],
    part.refunds,
    (row: DocumentRefund) => `${row.refundId}\n${row.lineId}`,
  );
  const isChanged = stored === null || lines.isChanged || returns.isChanged || refunds.isChanged;
  return isChanged
    ? { ...stored, orderId, lines: lines.rows, returns: returns.rows, refunds: refunds.rows }
    : null;
}

/**
 * For a source that always tells the whole order: what it leaves out is gone. An order without lines is one that the
 * source no longer has. A line keeps its product and variant when the source has deleted them.
 */
export function replaceDocument(
  stored: OrderDocument | null,
  orderId: string,
  part: DocumentPart,
): OrderDocument | null {
  const document = mergeDocument(null, orderId, part) as OrderDocument;
  const { orderName = null, trackings = [] } = part;
  const whole = { ...document, orderName, trackings: sortedTrackings(trackings) };
  if (stored === null) return whole.lines.length === 0 ? null : whole;
  whole.lines = keepProducts(stored.lines, whole.lines);
  return isDeepStrictEqual(stored, whole) ? null : whole;
}

/** What was sold stays sold by its product, whose history would end otherwise. */
function keepProducts(stored: readonly DocumentLine[], lines: readonly DocumentLine[]): DocumentLine[] {
  const storedById = new Map(stored.map((line) => [line.lineId, line]));
  return lines.map((line) => {
    const known = storedById.get(line.lineId);
    if (known === undefined) return line;
    const productId = line.productId ?? known.productId;
    const isSameProduct = productId === known.productId;
    return { ...line, productId, variantId: line.variantId ?? (isSameProduct ? known.variantId : null) };
  });
}

function sortedTrackings(trackings: readonly DocumentTracking[]): DocumentTracking[] {
  const byKey = new Map(trackings.map((row) => [`${row.returnId}\n${row.trackingNumber}`, row]));
  return [...byKey].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, row]) => row);
}

function mergeRows<Row extends object>(
  stored: readonly Row[],
  incoming: readonly Row[],
  keyOf: (row: Row) => string,
): { rows: Row[]; isChanged: boolean } {
  const byKey = new Map(stored.map((row) => [keyOf(row), row]));
  let isChanged = false;
  for (const row of incoming) {
    const before = byKey.get(keyOf(row));
    if (before !== undefined && isSameRow(before, row)) continue;
    byKey.set(keyOf(row), row);
    isChanged = true;
  }
  const rows = [...byKey].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, row]) => row);
  return { rows, isChanged };
}

/** Rows are flat: every member is text, a number, a flag or null. */
function isSameRow<Row extends object>(left: Row, right: Row): boolean {
  const names = Object.keys(right) as (keyof Row)[];
  return Object.keys(left).length === names.length && names.every((name) => left[name] === right[name]);
}
