import type { BulkOperations } from "../bulk/operations.ts";
import type { Subscriptions } from "../webhooks.ts";
import type { Shop } from "../shop.ts";

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
export type FieldsOf<Item> = Record<
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
