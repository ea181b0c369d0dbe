import { isDeepStrictEqual } from "node:util";
import type {
  DocumentLine,
  DocumentRefund,
  DocumentReturn,
  DocumentTracking,
  OrderDocument,
} from "../metrics/order.ts";

/** What a source reports of one order; `removed` names rows that it reports as gone. */
export type DocumentPart = Omit<OrderDocument, "orderId"> & { removed?: RemovedRows };

/** Rows by the ids they are known by. A line takes its returns and refunds with it. */
export type RemovedRows = {
  lines: readonly Pick<DocumentLine, "lineId">[];
  returns: readonly Pick<DocumentReturn, "returnId" | "lineId">[];
  refunds: readonly Pick<DocumentRefund, "refundId" | "lineId">[];
};

/** How many removed rows name nothing that is stored. */
export type UnknownRemovals = Record<keyof RemovedRows, number>;

/** The document that takes the stored one's place (null = none stored); null when nothing would change. */
export type DocumentMerge = (
  stored: OrderDocument | null,
  orderId: string,
  part: DocumentPart,
) => OrderDocument | null;

export const lineKey = ({ lineId }: Pick<DocumentLine, "lineId">): string => lineId;
export const returnKey = ({ returnId, lineId }: Pick<DocumentReturn, "returnId" | "lineId">): string =>
  `${returnId}\n${lineId}`;
export const refundKey = ({ refundId, lineId }: Pick<DocumentRefund, "refundId" | "lineId">): string =>
  `${refundId}\n${lineId}`;

/**
 * For a source that sends only what changed: lays its rows over the stored document; a row replaces the one of its
 * key, and what it leaves out stays, unless it is among those removed. Rows stand in key order, so that the same rows
 * give the same document whatever way they came. A document without lines is of an order that is gone. Null when
 * nothing would change.
 */
export function mergeDocument(
  stored: OrderDocument | null,
  orderId: string,
  part: DocumentPart,
): OrderDocument | null {
  const left = remainingRows(stored, part.removed);
  const lines = mergeRows(left.lines, part.lines, lineKey);
  const returns = mergeRows(left.returns, part.returns, returnKey);
  const refunds = mergeRows(left.refunds, part.refunds, refundKey);
  if (stored === null && part.removed !== undefined && lines.rows.length === 0) return null;
  const isChanged =
    stored === null || left.isChanged || lines.isChanged || returns.isChanged || refunds.isChanged;
  return isChanged
    ? { ...stored, orderId, lines: lines.rows, returns: returns.rows, refunds: refunds.rows }
    : null;
}

/**
 * For a source that always sends the whole order: what it omits is removed. An order without lines is one that the
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

/** Of the removed rows those that are not in the stored document (null = none stored). */
export function countUnknownRemovals(stored: OrderDocument | null, removed: RemovedRows): UnknownRemovals {
  const countOf = <Row>(known: readonly Row[], gone: readonly Row[], keyOf: (row: Row) => string): number => {
    const keys = new Set(known.map(keyOf));
    return gone.filter((row) => !keys.has(keyOf(row))).length;
  };
  return {
    lines: countOf(stored?.lines ?? [], removed.lines, lineKey),
    returns: countOf(stored?.returns ?? [], removed.returns, returnKey),
    refunds: countOf(stored?.refunds ?? [], removed.refunds, refundKey),
  };
}

type Rows = Pick<OrderDocument, "lines" | "returns" | "refunds">;

/** The stored rows without those removed. */
function remainingRows(stored: OrderDocument | null, removed?: RemovedRows): Rows & { isChanged: boolean } {
  const { lines = [], returns = [], refunds = [] } = stored ?? {};
  if (removed === undefined) return { lines, returns, refunds, isChanged: false };
  const goneLines = new Set(removed.lines.map(lineKey));
  const goneReturns = new Set(removed.returns.map(returnKey));
  const goneRefunds = new Set(removed.refunds.map(refundKey));
  const left = {
    lines: lines.filter((row) => !goneLines.has(row.lineId)),
    returns: returns.filter((row) => !goneLines.has(row.lineId) && !goneReturns.has(returnKey(row))),
    refunds: refunds.filter((row) => !goneLines.has(row.lineId) && !goneRefunds.has(refundKey(row))),
  };
  const countOf = (rows: Rows): number => rows.lines.length + rows.returns.length + rows.refunds.length;
  return { ...left, isChanged: countOf(left) < countOf({ lines, returns, refunds }) };
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
