import type { DocumentLine, DocumentRefund, DocumentReturn, OrderDocument } from "../metrics/order.ts";

/** Rows a source said about one order; what it leaves out stays as it is. */
export type DocumentPart = Omit<OrderDocument, "orderId">;

/**
 * Lays new rows over a stored document (null = none): a row replaces the stored one of its key. Rows stand in key
 * order, so that the same rows give the same document whatever way they came. Null when nothing would change.
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
  return isChanged ? { orderId, lines: lines.rows, returns: returns.rows, refunds: refunds.rows } : null;
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
