import type { BulkOperation } from "../bulk/operations.ts";
import type { AppSubscription } from "../shop.ts";
import type { Subscription } from "../webhooks.ts";
import { gid, legacyId, parentOf, parseGid } from "../world/ids.ts";
import { REASONS } from "../world/types.ts";
import type { WorldOrder, WorldProduct } from "../world/types.ts";
import { listOf, sortedList } from "./listing.ts";
import type { Listing } from "./listing.ts";
import {
  financialStatusOf,
  returnStatusOf,
  fulfillmentSources,
  reverseOrderCount,
  reverseOrderSource,
} from "./order-fields.ts";
import { productSource, variantSource } from "./product-fields.ts";
import { typeFields, orderSource, reasonSource, refundSource, returnSource } from "./sources.ts";
import type { RequestContext, ResolversByType, ListingSource, ReturnSource } from "./sources.ts";

type ListArguments = { query?: string | null; sortKey: string };

const ORDER_SEARCH: SearchFields<WorldOrder> = {
  id: ({ number }) => Number(legacyId("Order", number)),
  name: ({ name }) => name,
  created_at: ({ createdAt }) => createdAt,
  updated_at: ({ updatedAt }) => updatedAt,
  return_status: returnStatusOf,
  financial_status: financialStatusOf,
  test: ({ test }) => test,
  status: ({ cancelledAt, closedAt }) => (cancelledAt > 0 ? "cancelled" : closedAt > 0 ? "closed" : "open"),
};

const PRODUCT_SEARCH: SearchFields<WorldProduct> = {
  id: ({ number }) => Number(legacyId("Product", number)),
  title: ({ title }) => title,
  vendor: ({ vendor }) => vendor,
  created_at: ({ createdAt }) => createdAt,
  updated_at: ({ updatedAt }) => updatedAt,
  gift_card: ({ giftCard }) => giftCard,
  status: () => "active",
};

function ordersOf(args: ListArguments, { shop, scopes }: RequestContext): Listing {
  const matches = compileSearch(args.query ?? "", ORDER_SEARCH);
  const sorted = shop.sortedOrders(args.sortKey);
  return mapped(
    sortedList(sorted, (order) => shop.sees(scopes, order) && matches(order)),
    orderSource,
  );
}

function productsOf(args: ListArguments, { shop }: RequestContext): Listing {
  const matches = compileSearch(args.query ?? "", PRODUCT_SEARCH);
  return mapped(sortedList(shop.sortedProducts(args.sortKey), matches), productSource);
}

function mapped<Item>(listing: Listing<Item>, map: (item: Item) => ListingSource): Listing {
  return {
    *from(after, reverse) {
      for (const { item, cursor } of listing.from(after, reverse)) yield { item: map(item), cursor };
    },
  };
}

/** Any object of the shop by its gid; null when there is none, or none that the app may see. */
function nodeOf(id: string, context: RequestContext): ListingSource | null {
  const parsed = parseGid(id);
  if (parsed === undefined) return null;
  const { type, number } = parsed;
  if (type === "Product") return productNode(context.shop.product(number));
  if (type === "ProductVariant") return variantNode(number, context);
  if (type === "BulkOperation") return context.bulk.find(id);
  if (type === "WebhookSubscription") return context.subscriptions.find(id);
  if (type === "ReturnReasonDefinition")
    return REASONS[number - 1] === undefined ? null : reasonSource(number - 1);
  return orderNode(type, number, context);
}

function productNode(product: WorldProduct | null): ListingSource | null {
  return product === null ? null : productSource(product);
}

function variantNode(number: number, { shop }: RequestContext): ListingSource | null {
  const { parent, index } = parentOf(number);
  const product = shop.product(parent);
  return variantSource(product, product?.variants[index - 1] ?? null);
}

function orderNode(type: string, number: number, context: RequestContext): ListingSource | null {
  if (type === "ReverseFulfillmentOrder") return reverseOrderNode(number, context);
  const { shop, scopes } = context;
  const { parent, index } = type === "Order" ? { parent: number, index: 0 } : parentOf(number);
  const order = shop.order(parent);
  if (order === null || !shop.sees(scopes, order)) return null;
  if (type === "Order") return orderSource(order);
  if (type === "Return" && index < order.returns.length) return returnSource(order, index);
  if (type === "Refund" && index < order.refunds.length) return refundSource(order, index);
  if (type === "Fulfillment") return fulfillmentSources(order)[index] ?? null;
  return null;
}

function reverseOrderNode(number: number, context: RequestContext): ListingSource | null {
  const { parent, index } = parentOf(number);
  const request = orderNode("Return", parent, context) as ReturnSource | null;
  return request !== null && index < reverseOrderCount(request) ? reverseOrderSource(request, index) : null;
}

function only(type: string, id: string, context: RequestContext): ListingSource | null {
  const node = nodeOf(id, context);
  return node?.typeName === type ? node : null;
}

function countOf(listing: Listing): ListingSource {
  let count = 0;
  for (const _ of listing.from(undefined, false)) count += 1;
  return { typeName: "Count", count } as ListingSource;
}

export const rootFields: ResolversByType = {
  QueryRoot: typeFields<undefined>({
    orders: (_source, args, context) => ordersOf(args as never, context),
    ordersCount: (_source, args, context) =>
      countOf(ordersOf({ ...(args as object), sortKey: "ID" }, context)),
    order: (_source, { id }, context) => only("Order", id ?? "", context),
    return: (_source, { id }, context) => only("Return", id ?? "", context),
    refund: (_source, { id }, context) => only("Refund", id ?? "", context),
    products: (_source, args, context) => productsOf(args as never, context),
    product: (_source, { id }, context) => only("Product", id ?? "", context),
    node: (_source, { id }, context) => nodeOf(id ?? "", context),
    nodes: (_source, { ids }, context) => (ids as unknown as string[]).map((id) => nodeOf(id, context)),
    shop: () => ({ typeName: "Shop" }),
    currentAppInstallation: () => ({ typeName: "AppInstallation" }),
    bulkOperation: (_source, { id }, { bulk }) => bulk.find(id ?? ""),
    webhookSubscriptions: (_source, { topics }, { subscriptions }) =>
      listOf(subscriptions.list((topics as string[] | undefined) ?? [])),
  }),
  Mutation: typeFields<undefined>({
    bulkOperationRunQuery: (_source, args, context) =>
      context.bulk.run((args as { query?: string }).query ?? "", context),
    bulkOperationCancel: (_source, { id }, { bulk }) => bulk.cancel(id ?? ""),
    webhookSubscriptionCreate: (_source, args, { subscriptions }) => subscriptions.create(args as never),
  }),
  Shop: typeFields<ListingSource>({
    name: () => "Simulated Shop",
    myshopifyDomain: (_source, _args, context) => context.shop.options.domain,
    currencyCode: (_source, _args, context) => context.shop.options.currencyCode,
  }),
  AppInstallation: typeFields<ListingSource>({
    accessScopes: (_source, _args, { scopes }) =>
      scopes.map((handle) => ({ typeName: "AccessScope", handle })),
    activeSubscriptions: (_source, _args, { shop: { subscription } }) =>
      subscription?.status === "ACTIVE" ? [subscription] : [],
  }),
  AccessScope: typeFields<ListingSource & { handle: string }>({
    handle: ({ handle }) => handle,
  }),
  AppSubscription: typeFields<AppSubscription>({
    id: ({ number }) => gid("AppSubscription", number),
    name: ({ name }) => name,
    status: ({ status }) => status,
    currentPeriodEnd: ({ currentPeriodEnd }) => currentPeriodEnd,
    trialDays: ({ trialDays }) => trialDays,
  }),
  BulkOperation: typeFields<BulkOperation>({
    ...Object.fromEntries(
      (["id", "status", "errorCode", "url", "partialDataUrl"] as const).map((name) => [
        name,
        (one) => one[name],
      ]),
    ),
    objectCount: ({ objectCount }) => String(objectCount),
    fileSize: ({ fileSize }) => (fileSize === null ? null : String(fileSize)),
  }),
  WebhookSubscription: typeFields<Subscription>({
    id: ({ number }) => gid("WebhookSubscription", number),
    topic: ({ topic }) => topic,
    uri: ({ uri }) => uri,
  }),
};

/**
 * The platform's search syntax, as far as syncs use it: `field:value`, the operators < <= > >=, quotes, AND, OR,
 * NOT, a leading minus and parentheses. A field that the list does not know is refused, where the platform would
 * silently match everything.
 */
type SearchFields<Item> = Record<string, (item: Item) => number | string | boolean>;

type Predicate<Item> = (item: Item) => boolean;

const PIECE =
  /\s*(?:(\(|\)|-(?=[a-z_(])|(?:AND|OR|NOT)(?=[\s()]))|([a-z_]+):(>=|<=|>|<)?(?:'([^']*)'|"([^"]*)"|([^\s()]+)))\s*/y;

const COMPARE: Record<string, (left: number, right: number) => boolean> = {
  ">": (left, right) => left > right,
  ">=": (left, right) => left >= right,
  "<": (left, right) => left < right,
  "<=": (left, right) => left <= right,
};

function compileSearch<Item>(query: string, fields: SearchFields<Item>): Predicate<Item> {
  const tokens: (string | Predicate<Item>)[] = [];
  for (PIECE.lastIndex = 0; PIECE.lastIndex < query.trimEnd().length;) {
    const from = PIECE.lastIndex;
    const match = PIECE.exec(query);
    if (match === null) throw new Error(`Cannot read the search from: ${query.slice(from)}`);
    const [, word, field = "", operator, ...values] = match;
    tokens.push(word ?? termOf(field, operator, values.find((value) => value !== undefined) ?? "", fields));
  }
  const any = (): Predicate<Item> => {
    let left = all();
    while (tokens[0] === "OR") {
      tokens.shift();
      const [one, other] = [left, all()];
      left = (item) => one(item) || other(item);
    }
    return left;
  };
  const all = (): Predicate<Item> => {
    let left = part();
    while (tokens.length > 0 && tokens[0] !== "OR" && tokens[0] !== ")") {
      if (tokens[0] === "AND") tokens.shift();
      const [one, other] = [left, part()];
      left = (item) => one(item) && other(item);
    }
    return left;
  };
  const part = (): Predicate<Item> => {
    const token = tokens.shift();
    if (typeof token === "function") return token;
    if (token === "NOT" || token === "-") {
      const inner = part();
      return (item) => !inner(item);
    }
    if (token !== "(") throw new Error(`Unexpected end or operator in ${query}`);
    const inner = any();
    if (tokens.shift() !== ")") throw new Error(`Missing ) in ${query}`);
    return inner;
  };
  if (tokens.length === 0) return () => true;
  const predicate = any();
  if (tokens.length > 0) throw new Error(`Unexpected ) in ${query}`);
  return predicate;
}

/** Numbers stand for times in seconds and for ids; text is compared without case. */
function termOf<Item>(
  field: string,
  operator: string | undefined,
  given: string,
  fields: SearchFields<Item>,
): Predicate<Item> {
  const read = Object.hasOwn(fields, field) ? fields[field] : undefined;
  if (read === undefined) throw new Error(`The search field ${field} is not known here`);
  const number = /^\d+$/.test(given) ? Number(given) : Date.parse(given) / 1000;
  return (item) => {
    const value = read(item);
    if (typeof value !== "number")
      return operator === undefined && String(value).toLowerCase() === given.toLowerCase();
    if (Number.isNaN(number)) throw new Error(`${field} needs a number or a time, not ${given}`);
    return operator === undefined ? value === number : (COMPARE[operator]?.(value, number) ?? false);
  };
}
