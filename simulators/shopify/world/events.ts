/** What can happen to an order. Each moves its updatedAt, as the platform does. */
import { unitsAmounts } from "./money.ts";
import { refundableUnits, removedUnits } from "./units.ts";
import type { Order, Refund, RefundLine, RestockType, Return, ReturnItem } from "./types.ts";

export type RefundRequest = {
  lines: { lineIndex: number; quantity: number; restockType: RestockType; subtotalMinor?: number }[];
  at: number;
  processedAt?: number;
  returnIndex?: number | null;
  inLedger?: boolean;
  adjustmentMinor?: number;
};

export function touch(order: Order, at: number): void {
  order.updatedAt = Math.max(order.updatedAt, at);
}

/** Refunds units at the price paid for them; never more than are left of a line. */
export function addRefund(order: Order, request: RefundRequest): Refund {
  const refund: Refund = {
    createdAt: request.at,
    processedAt: request.processedAt ?? request.at,
    updatedAt: request.at,
    returnIndex: request.returnIndex ?? null,
    lines: [],
    inLedger: request.inLedger ?? true,
    adjustmentMinor: request.adjustmentMinor ?? 0,
  };
  order.refunds.push(refund);
  for (const line of request.lines) {
    const made = refundLineOf(order, line);
    if (made !== undefined) refund.lines.push(made);
  }
  if (refund.lines.length === 0 && refund.adjustmentMinor === 0) order.refunds.pop();
  touch(order, request.at);
  return refund;
}

function refundLineOf(order: Order, asked: RefundRequest["lines"][number]): RefundLine | undefined {
  const { lineIndex, restockType, subtotalMinor } = asked;
  const line = order.lines[lineIndex];
  if (line === undefined) return undefined;
  if (subtotalMinor !== undefined) return { lineIndex, quantity: 0, subtotalMinor, taxMinor: 0, restockType };
  const quantity = Math.min(asked.quantity, refundableUnits(order, lineIndex));
  if (quantity <= 0) return undefined;
  const { netMinor, taxMinor } = unitsAmounts(line, order.taxesIncluded, quantity);
  return { lineIndex, quantity, subtotalMinor: netMinor, taxMinor, restockType };
}

export function openReturn(order: Order, items: ReturnItem[], at: number, approved: boolean): Return {
  const request: Return = {
    createdAt: at,
    status: approved ? "OPEN" : "REQUESTED",
    closedAt: 0,
    approvedAt: approved ? at : 0,
    items,
    trackingNumbers: [],
  };
  order.returns.push(request);
  touch(order, at);
  return request;
}

/** Closes a return; `processed` gives the processed units of each item, all units when it is left out. */
export function closeReturn(order: Order, request: Return, at: number, processed?: number[]): void {
  request.status = "CLOSED";
  request.closedAt = at;
  request.approvedAt ||= at;
  request.items.forEach((item, index) => {
    item.processed = Math.min(item.quantity, processed?.[index] ?? item.quantity);
  });
  touch(order, at);
}

export function endReturn(order: Order, request: Return, at: number, status: "DECLINED" | "CANCELED"): void {
  request.status = status;
  touch(order, at);
}

export function reopenReturn(order: Order, request: Return, at: number): void {
  request.status = "OPEN";
  request.closedAt = 0;
  touch(order, at);
}

/** Takes units off a line before they are fulfilled; never more than are left. */
export function removeUnits(order: Order, lineIndex: number, units: number, at: number): void {
  const left = Math.min(units, refundableUnits(order, lineIndex));
  if (left <= 0 || order.lines[lineIndex] === undefined) return;
  order.edits.push({ at, lineIndex, removedUnits: left });
  touch(order, at);
}

/** Cancels an order and refunds what is left of it as never sent. */
export function cancelOrder(order: Order, at: number): void {
  order.cancelledAt = at;
  order.closedAt = at;
  addRefund(order, {
    at,
    lines: order.lines.map((line, lineIndex) => ({
      lineIndex,
      quantity: line.quantity - removedUnits(order, lineIndex),
      restockType: "CANCEL" as const,
    })),
  });
  touch(order, at);
}
