import { parentOf, parseGid } from "../world/ids.ts";
import type { WorldOrder, WorldProduct } from "../world/types.ts";
import { listOf, sortedList } from "./listing.ts";
import type { Listing } from "./listing.ts";
import type { RequestContext, Shown } from "./nodes.ts";
import {
  fulfillmentNode,
  orderNode,
  reasonNode,
  refundNode,
  returnNode,
  returnStatusOf,
  reverseOrderOf,
} from "./order-nodes.ts";
import { productNode, variantNode } from "./product-nodes.ts";

type ListArguments = { query?: string | null; sortKey: string };

const ORDER_SEARCH: SearchFields<WorldOrder> = {
  updated_at: ({ updatedAt }) => updatedAt,
  return_status: returnStatusOf,
};

const PRODUCT_SEARCH: SearchFields<WorldProduct> = { updated_at: ({ updatedAt }) => updatedAt };

function ordersOf(args: ListArguments, { shop, scopes }: RequestContext): Listing {
  const matches = compileSearch(args.query ?? "", ORDER_SEARCH);
  const sorted = shop.sortedOrders(args.sortKey);
  return mapped(
    sortedList(sorted, (order) => shop.sees(scopes, order) && matches(order)),
    orderNode,
  );
}

function productsOf(args: ListArguments, { shop }: RequestContext): Listing {
  const matches = compileSearch(args.query ?? "", PRODUCT_SEARCH);
  return mapped(sortedList(shop.sortedProducts(args.sortKey), matches), productNode);
}

function mapped<Item>(listing: Listing<Item>, map: (item: Item) => Shown): Listing {
  return {
    *from(after) {
      for (const { item, place } of listing.from(after)) yield { item: map(item), place };
    },
  };
}

/** Any object of the shop by its gid; null when there is none, or none that the app may see. */
function nodeOf(id: string, context: RequestContext): Shown | null {
  const parsed = parseGid(id);
  if (parsed === undefined) return null;
  const { type, number } = parsed;
  const { shop, bulk, subscriptions } = context;
  const product = shop.product(type === "ProductVariant" ? parentOf(number).parent : number);
  if (type === "Product") return product && productNode(product);
  if (type === "ProductVariant") {
    const variant = product?.variants[parentOf(number).index - 1];
    return product === null || variant === undefined ? null : variantNode(product, variant);
  }
  if (type === "BulkOperation") return bulk.find(id);
  if (type === "WebhookSubscription") return subscriptions.find(id);
  if (type === "ReturnReasonDefinition") return reasonNode(number - 1);
  return nodeOfOrder(type, number, context);
}

function nodeOfOrder(type: string, number: number, { shop, scopes }: RequestContext): Shown | null {
  const isReverse = type === "ReverseFulfillmentOrder";
  const child = isReverse ? parentOf(number).parent : number;
  const { parent, index } = type === "Order" ? { parent: number, index: 0 } : parentOf(child);
  const order = shop.order(parent);
  if (order === null || !shop.sees(scopes, order)) return null;
  if (isReverse) return reverseOrderOf(order, index, parentOf(number).index);
  if (type === "Order") return orderNode(order);
  if (type === "Return" && index < order.returns.length) return returnNode(order, index);
  if (type === "Refund" && index < order.refunds.length) return refundNode(order, index);
  return type === "Fulfillment" ? fulfillmentNode(order, index) : null;
}

type BulkQuery = { query: string };
type Subscriptions = RequestContext["subscriptions"];

/** The fields of the schema's own types. */
export const ROOTS: Record<string, Record<string, unknown>> = {
  QueryRoot: {
    orders: ordersOf,
    order: ({ id }: { id: string }, context: RequestContext) => {
      const node = nodeOf(id, context);
      return node?.typeName === "Order" ? node : null;
    },
    products: productsOf,
    node: ({ id }: { id: string }, context: RequestContext) => nodeOf(id, context),
    nodes: ({ ids }: { ids: string[] }, context: RequestContext) => ids.map((id) => nodeOf(id, context)),
    shop: (_args: unknown, { shop: { options } }: RequestContext) => ({
      typeName: "Shop",
      myshopifyDomain: options.domain,
      currencyCode: options.currencyCode,
    }),
    currentAppInstallation: (_args: unknown, { scopes, shop: { subscription } }: RequestContext) => ({
      typeName: "AppInstallation",
      accessScopes: scopes.map((handle) => ({ typeName: "AccessScope", handle })),
      activeSubscriptions: subscription?.status === "ACTIVE" ? [subscription] : [],
    }),
    bulkOperation: ({ id }: { id: string }, { bulk }: RequestContext) => bulk.find(id),
    webhookSubscriptions: ({ topics = [] }: { topics?: string[] }, { subscriptions }: RequestContext) =>
      listOf(subscriptions.list(topics)),
  },
  Mutation: {
    bulkOperationRunQuery: ({ query }: BulkQuery, context: RequestContext) =>
      context.bulk.run(query, context),
    bulkOperationCancel: ({ id }: { id: string }, { bulk }: RequestContext) => bulk.cancel(id),
    webhookSubscriptionCreate: (
      asked: Parameters<Subscriptions["create"]>[0],
      { subscriptions }: RequestContext,
    ) => subscriptions.create(asked),
    webhookSubscriptionUpdate: (
      asked: Parameters<Subscriptions["update"]>[0],
      { subscriptions }: RequestContext,
    ) => subscriptions.update(asked),
  },
};

/**
 * The platform's search syntax, as far as syncs use it: `field:value` with < <= > >=, joined by OR in parentheses, and these by
 * AND. A field that the list does not know is refused, where the platform would silently match everything.
 */
type SearchFields<Item> = Record<string, (item: Item) => number | string>;

type Predicate<Item> = (item: Item) => boolean;

function compileSearch<Item>(query: string, fields: SearchFields<Item>): Predicate<Item> {
  const groups = query === "" ? [] : query.split(" AND ");
  const all = groups.map((group) =>
    group
      .replace(/^\((.*)\)$/u, "$1")
      .split(" OR ")
      .map((term) => termOf(term, fields)),
  );
  return (item) => all.every((any) => any.some((matches) => matches(item)));
}

const COMPARE: Record<string, (left: number, right: number) => boolean> = {
  ">": (left, right) => left > right,
  ">=": (left, right) => left >= right,
  "<": (left, right) => left < right,
  "<=": (left, right) => left <= right,
};

/** Numbers are times in seconds; text is compared ignoring case. */
function termOf<Item>(term: string, fields: SearchFields<Item>): Predicate<Item> {
  const [, field = "", operator = "", given = ""] =
    /^([a-z_]+):(>=|<=|>|<)?'?([^'\s()]+)'?$/u.exec(term) ?? [];
  const read = Object.hasOwn(fields, field) ? fields[field] : undefined;
  if (read === undefined) throw new Error(`The simulator cannot search for ${term}`);
  const seconds = Date.parse(given) / 1000;
  return (item) => {
    const value = read(item);
    if (typeof value === "number") return COMPARE[operator]?.(value, seconds) ?? value === seconds;
    return operator === "" && value.toLowerCase() === given.toLowerCase();
  };
}
