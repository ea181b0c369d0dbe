import type { Line, Order, ReturnItem } from "./types.ts";

export function lineOf(order: Order, lineIndex: number): Line {
  const line = order.lines[lineIndex];
  if (line === undefined) throw new Error(`order ${order.number} has no line ${lineIndex}`);
  return line;
}

/** Units of a line that are still to be sent. */
export function unsentUnits({ currentQuantity, fulfilled, sentBack }: Line): number {
  return currentQuantity - (fulfilled - sentBack);
}

/** Units of a line taken off by order edits. */
export function removedUnits(order: Order, lineIndex: number): number {
  let units = 0;
  for (const { reason, sales } of order.agreements) {
    if (reason !== "ORDER_EDIT") continue;
    for (const sale of sales) {
      if (sale.lineIndex === lineIndex && sale.action === "RETURN") units -= sale.quantity ?? 0;
    }
  }
  return units;
}

/** Units of a line that can still be refunded. */
export function refundableUnits(order: Order, lineIndex: number): number {
  return order.lines[lineIndex]?.currentQuantity ?? 0;
}

/** Units of a line that the customer has and that no live return asked for. */
export function returnableUnits(order: Order, lineIndex: number): number {
  const unlinked = order.refunds.reduce((sum, { returnIndex, ofEdit, lines }) => {
    if (returnIndex !== null || ofEdit) return sum;
    return sum + sumOf(lines, (line) => (line.lineIndex === lineIndex ? line.sent : 0));
  }, 0);
  const asked = sumOf(liveItems(order), (item) => (item.lineIndex === lineIndex ? item.quantity : 0));
  return Math.max(0, (order.lines[lineIndex]?.fulfilled ?? 0) - unlinked - asked);
}

/** Items of the returns that were neither declined nor canceled. */
export function liveItems(order: Order): ReturnItem[] {
  return order.returns.flatMap(({ status, items }) =>
    status === "DECLINED" || status === "CANCELED" ? [] : items,
  );
}

/** Units of a line refunded through one return. */
export function returnRefundedUnits(order: Order, returnIndex: number, lineIndex: number): number {
  return sumOf(order.refunds, (refund) =>
    refund.returnIndex === returnIndex
      ? sumOf(refund.lines, (line) => (line.lineIndex === lineIndex ? line.quantity : 0))
      : 0,
  );
}

export function sumOf<Item>(items: readonly Item[], value: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + value(item), 0);
}
