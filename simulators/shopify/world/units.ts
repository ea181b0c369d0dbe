import type { Order, RestockType } from "./types.ts";

/** Units of a line taken off by order edits. */
export function removedUnits(order: Order, lineIndex: number): number {
  return order.edits.reduce((sum, edit) => (edit.lineIndex === lineIndex ? sum + edit.removedUnits : sum), 0);
}

/** Units of a line in refunds, of one restock type or of all. */
export function refundedUnits(order: Order, lineIndex: number, restockType?: RestockType): number {
  let units = 0;
  for (const refund of order.refunds) {
    for (const line of refund.lines) {
      if (line.lineIndex === lineIndex && (restockType ?? line.restockType) === line.restockType) {
        units += line.quantity;
      }
    }
  }
  return units;
}

/** Units of a line that can still be refunded. */
export function refundableUnits(order: Order, lineIndex: number): number {
  const quantity = order.lines[lineIndex]?.quantity ?? 0;
  return Math.max(0, quantity - removedUnits(order, lineIndex) - refundedUnits(order, lineIndex));
}

/** Units of a line that the customer has and that no live return asks for. */
export function returnableUnits(order: Order, lineIndex: number): number {
  const asked = order.returns.reduce((sum, request, index) => {
    if (request.status === "DECLINED" || request.status === "CANCELED") return sum;
    return sum + requestedUnits(order, index, lineIndex);
  }, 0);
  const unlinked = order.refunds.reduce((sum, refund) => {
    if (refund.returnIndex !== null) return sum;
    return (
      sum +
      refund.lines.reduce((units, line) => units + (line.lineIndex === lineIndex ? line.quantity : 0), 0)
    );
  }, 0);
  const quantity = order.lines[lineIndex]?.quantity ?? 0;
  return Math.max(0, quantity - removedUnits(order, lineIndex) - unlinked - asked);
}

/** Units of a line refunded through one return. */
export function returnRefundedUnits(order: Order, returnIndex: number, lineIndex: number): number {
  return order.refunds.reduce((sum, refund) => {
    if (refund.returnIndex !== returnIndex) return sum;
    return (
      sum +
      refund.lines.reduce((units, line) => units + (line.lineIndex === lineIndex ? line.quantity : 0), 0)
    );
  }, 0);
}

function requestedUnits(order: Order, returnIndex: number, lineIndex: number): number {
  const items = order.returns[returnIndex]?.items ?? [];
  return items.reduce((sum, item) => (item.lineIndex === lineIndex ? sum + item.quantity : sum), 0);
}
