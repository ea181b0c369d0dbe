import { decimalOf } from "../world/units.ts";
import type { BulkOperations } from "../bulk/operations.ts";
import type { Shop } from "../shop.ts";
import type { Subscriptions } from "../webhooks.ts";

/** The context of a request. */
export interface RequestContext {
  shop: Shop;
  bulk: BulkOperations;
  subscriptions: Subscriptions;
  scopes: readonly string[];
  /** For a bulk operation: connections are read completely. */
  isWhole?: boolean;
}

/**
 * An object as the schema shows it: its type, and its fields by name. A field that is another object, or depends on arguments or the
 * shop, is a function of both.
 */
export type Shown = { typeName: string; [field: string]: unknown };

/** Members of an object under their own names. */
export function pick<Name extends string>(source: Record<Name, unknown>, ...names: Name[]) {
  return Object.fromEntries(names.map((name) => [name, source[name]]));
}

/** The same for times in seconds, 0 = never. */
export function times<Name extends string>(source: Record<Name, number>, ...names: Name[]) {
  return Object.fromEntries(names.map((name) => [name, isoTime(source[name])]));
}

export function isoTime(seconds: number): string | null {
  return seconds === 0 ? null : `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}

export const shopCurrency = (_args: unknown, { shop }: RequestContext): string => shop.world.currencyCode;

export function moneyBag(minor: number): Shown {
  return { typeName: "MoneyBag", shopMoney: () => moneyNode(minor) };
}

export function moneyNode(minor: number): Shown {
  const amount = (_args: unknown, { shop }: RequestContext): string => decimalOf(minor, shop.world.exponent);
  return { typeName: "MoneyV2", amount, currencyCode: shopCurrency };
}
