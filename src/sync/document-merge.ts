import { isDeepStrictEqual } from "node:util";
import type { DocumentLine, DocumentTracking, OrderDocument } from "../metrics/order.ts";
import { ORDER_DEFAULTS } from "./stored-document.ts";

/** What a source reports of one order; `removed` names rows that it reports as gone. */
export type DocumentPart = Omit<OrderDocument, "orderId"> & { removed?: RemovedRows };

/** The three kinds of rows of a document. */
export const ROW_KINDS = ["lines", "returns", "refunds"] as const;
export type RowKind = (typeof ROW_KINDS)[number];

/** The ids that a row is known by among those of its kind. */
export type RowIds = { lineId: string; returnId?: string | null; refundId?: string };

/** Rows by their ids. A line takes its returns and refunds with it. */
export type RemovedRows = Record<RowKind, readonly RowIds[]>;

/** The document that takes the stored one's place (null = none stored); null when nothing would change. */
export type DocumentMerge = (
  stored: OrderDocument | null,
  orderId: string,
  part: DocumentPart,
) => OrderDocument | null;

export function rowKey(kind: RowKind, { lineId, returnId, refundId }: RowIds): string {
  if (kind === "lines") return lineId;
  return `${kind === "returns" ? returnId : refundId}\n${lineId}`;
}

/** The units that a line ever had: those placed with the order, and those added later. */
export function unitsEver({ units, changes = [] }: Pick<DocumentLine, "units" | "changes">): number {
  return changes.reduce((sum, change) => sum + Math.max(0, change.units), units);
}

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
  const goneLines = new Set(part.removed?.lines.map(({ lineId }) => lineId));
  let isChanged = stored === null;
  const merge = <Row extends RowIds>(
    kind: RowKind,
    storedRows: readonly Row[],
    incoming: readonly Row[],
  ): Row[] => {
    const left = storedRows.filter(({ lineId }) => !goneLines.has(lineId));
    const rows = new Map(left.map((row) => [rowKey(kind, row), row]));
    for (const row of part.removed?.[kind] ?? []) rows.delete(rowKey(kind, row));
    isChanged ||= rows.size < storedRows.length;
    for (const row of incoming) {
      const before = rows.get(rowKey(kind, row));
      if (before !== undefined && isSameRow(before, row)) continue;
      rows.set(rowKey(kind, row), row);
      isChanged = true;
    }
    return [...rows].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
  };
  const lines = merge("lines", stored?.lines ?? [], part.lines);
  const returns = merge("returns", stored?.returns ?? [], part.returns);
  const refunds = merge("refunds", stored?.refunds ?? [], part.refunds);
  if (stored === null && part.removed !== undefined && lines.length === 0) return null;
  return isChanged ? { ...stored, orderId, lines, returns, refunds } : null;
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
  const { removed: _removed, ...members } = part;
  const { lines, returns, refunds } = document;
  const whole = { ...ORDER_DEFAULTS, ...members, orderId, lines, returns, refunds };
  whole.trackings = sortedTrackings(whole.trackings);
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

/** How many of the removed rows are not in the stored document (null = none stored). */
export function countUnknown(
  stored: OrderDocument | null,
  kind: RowKind,
  removed: readonly RowIds[],
): number {
  if (removed.length === 0) return 0;
  const known = new Set(stored?.[kind].map((row) => rowKey(kind, row)));
  return removed.filter((row) => !known.has(rowKey(kind, row))).length;
}

/** Rows are flat: every member is text, a number, a flag or null, except the changes of a line. */
function isSameRow<Row extends object>(left: Row, right: Row): boolean {
  const names = Object.keys(right) as (keyof Row)[];
  return (
    Object.keys(left).length === names.length &&
    names.every((name) => left[name] === right[name] || isDeepStrictEqual(left[name], right[name]))
  );
}
