/** The objects that the schema shows, each with what its fields are read from. */
import type { BulkOperations } from "../bulk/operations.ts";
import type { Shop } from "../shop.ts";
import type { Subscriptions } from "../webhooks.ts";
import type { WorldLine, WorldOrder, Refund, Return } from "../world/types.ts";

/** What a request may see, beside the shop itself. */
export interface RequestContext {
  shop: Shop;
  bulk: BulkOperations;
  subscriptions: Subscriptions;
  scopes: readonly string[];
  /** Of a bulk operation: connections are read whole. */
  isWhole?: boolean;
}

export type Resolver = (source: never, args: never, context: RequestContext) => unknown;

export type ResolversByType = Record<string, Record<string, Resolver>>;

/** Any object that the schema shows carries the name of its type. */
export interface ListingSource {
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

/** Fields that are members of a part of their source, under the same names. */
export function members<Part extends string, Name extends string>(part: Part, ...names: Name[]) {
  const read = (name: Name) => (source: Record<Part, Record<Name, unknown>>) => source[part][name];
  return Object.fromEntries(names.map((name) => [name, read(name)])) as Record<Name, ReturnType<typeof read>>;
}

/** The same of times: seconds, 0 = never. */
export function times<Part extends string, Name extends string>(part: Part, ...names: Name[]) {
  const read = (name: Name) => (source: Record<Part, Record<Name, number>>) => isoTime(source[part][name]);
  return Object.fromEntries(names.map((name) => [name, read(name)])) as Record<Name, ReturnType<typeof read>>;
}

export function isoTime(seconds: number): string | null {
  return seconds === 0 ? null : `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}

export interface MoneySource extends ListingSource {
  minor: number;
}

export function moneyBag(minor: number): MoneySource {
  return { typeName: "MoneyBag", minor };
}

export function moneyV2(minor: number): MoneySource {
  return { typeName: "MoneyV2", minor };
}

export interface OrderSource extends ListingSource {
  order: WorldOrder;
}

export interface LineSource extends ListingSource {
  order: WorldOrder;
  index: number;
  line: WorldLine;
}

export function orderSource(order: WorldOrder): OrderSource {
  return { typeName: "Order", order };
}

export function lineSource(order: WorldOrder, index: number): LineSource {
  const line = order.lines[index];
  if (line === undefined) throw new Error(`order ${order.number} has no line ${index}`);
  return { typeName: "LineItem", order, index, line };
}

export interface ReturnSource extends ListingSource {
  order: WorldOrder;
  index: number;
  request: Return;
}

export function returnSource(order: WorldOrder, index: number): ReturnSource {
  const request = order.returns[index];
  if (request === undefined) throw new Error(`order ${order.number} has no return ${index}`);
  return { typeName: "Return", order, index, request };
}

export function reasonSource(index: number): ListingSource & { index: number } {
  return { typeName: "ReturnReasonDefinition", index };
}

export interface RefundSource extends ListingSource {
  order: WorldOrder;
  index: number;
  refund: Refund;
}

export function refundSource(order: WorldOrder, index: number): RefundSource {
  const refund = order.refunds[index];
  if (refund === undefined) throw new Error(`order ${order.number} has no refund ${index}`);
  return { typeName: "Refund", order, index, refund };
}
