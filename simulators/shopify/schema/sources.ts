/** The objects that the schema shows, each with what its fields are read from. */
import { childNumber } from "../world/ids.ts";
import { returnFeeMinor } from "../world/ledger.ts";
import type { Line, Order, Refund, Return } from "../world/types.ts";
import type { Source } from "./resolver.ts";

export interface OrderSource extends Source {
  order: Order;
}

export interface LineSource extends Source {
  order: Order;
  index: number;
  line: Line;
}

export function orderSource(order: Order): OrderSource {
  return { typeName: "Order", order };
}

export function lineSource(order: Order, index: number): LineSource {
  const line = order.lines[index];
  if (line === undefined) throw new Error(`order ${order.number} has no line ${index}`);
  return { typeName: "LineItem", order, index, line };
}

export interface ReturnSource extends Source {
  order: Order;
  index: number;
  request: Return;
}

export function returnSource(order: Order, index: number): ReturnSource {
  const request = order.returns[index];
  if (request === undefined) throw new Error(`order ${order.number} has no return ${index}`);
  return { typeName: "Return", order, index, request };
}

export function reasonSource(index: number): Source & { index: number } {
  return { typeName: "ReturnReasonDefinition", index };
}

export function returnFeeSource(
  order: Order,
  returnIndex: number,
): Source & { number: number; minor: number } {
  const minor = returnFeeMinor(order, returnIndex);
  return { typeName: "ReturnShippingFee", number: childNumber(order.number, returnIndex), minor };
}

export interface RefundSource extends Source {
  order: Order;
  index: number;
  refund: Refund;
}

export function refundSource(order: Order, index: number): RefundSource {
  const refund = order.refunds[index];
  if (refund === undefined) throw new Error(`order ${order.number} has no refund ${index}`);
  return { typeName: "Refund", order, index, refund };
}
