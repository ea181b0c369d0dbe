/** The objects that the schema shows, each with what its fields are read from. */
import type { BulkOperations } from "../bulk/operations.ts";
import type { Shop } from "../shop.ts";
import type { Subscriptions } from "../webhooks.ts";
import type { Line, Order, Refund, Return } from "../world/types.ts";

/** What a request may see, beside the shop itself. */
export interface RequestContext {
  shop: Shop;
  bulk: BulkOperations;
  subscriptions: Subscriptions;
  scopes: readonly string[];
}

export type Resolver = (source: never, args: never, context: RequestContext) => unknown;

export type ResolversByType = Record<string, Record<string, Resolver>>;

/** Any object that the schema shows carries the name of its type. */
export interface Source {
  typeName: string;
}

/** The resolvers of one type, which all take the same source. */
type FieldsOf<Item> = Record<
  string,
  (source: Item, args: Record<string, never>, context: RequestContext) => unknown
>;

export function typeFields<Item>(fields: FieldsOf<Item>): FieldsOf<Item> {
  return fields;
}

export function isoTime(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}

export function isoTimeOrNull(seconds: number): string | null {
  return seconds === 0 ? null : isoTime(seconds);
}

export interface MoneySource extends Source {
  minor: number;
}

export function moneyBag(minor: number): MoneySource {
  return { typeName: "MoneyBag", minor };
}

export function moneyV2(minor: number): MoneySource {
  return { typeName: "MoneyV2", minor };
}

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
