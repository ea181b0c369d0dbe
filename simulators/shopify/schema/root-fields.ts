import { financialStatusOf, fulfillmentStatusOf, returnStatusOf } from "./order-fields.ts";
import { compileSearch } from "./search.ts";
import type { SearchFields } from "./search.ts";
import { gid, legacyId, parentOf, parseGid } from "../world/ids.ts";
import { REASONS } from "../world/reasons.ts";
import type { Order, Product } from "../world/types.ts";
import { fulfillmentSources } from "./fulfillment-fields.ts";
import { listOf, sortedList } from "./listing.ts";
import type { Listing } from "./listing.ts";
import { productSource, variantSource } from "./product-fields.ts";
import { isoTime, typeFields } from "./resolver.ts";
import type { RequestContext, ResolversByType, Source } from "./resolver.ts";
import { reverseOrderCount, reverseOrderSource } from "./return-fields.ts";
import { orderSource, reasonSource, refundSource, returnSource } from "./sources.ts";
import type { ReturnSource } from "./sources.ts";

type ListArguments = { query?: string | null; sortKey: string };

const ORDER_SEARCH: SearchFields<Order> = {
  id: ({ number }) => Number(legacyId("Order", number)),
  name: ({ name }) => name,
  created_at: ({ createdAt }) => createdAt,
  updated_at: ({ updatedAt }) => updatedAt,
  processed_at: ({ processedAt }) => processedAt,
  return_status: returnStatusOf,
  financial_status: financialStatusOf,
  fulfillment_status: fulfillmentStatusOf,
  test: ({ test }) => test,
  source_name: ({ sourceName }) => sourceName,
  status: ({ cancelledAt, closedAt }) => (cancelledAt > 0 ? "cancelled" : closedAt > 0 ? "closed" : "open"),
};

const PRODUCT_SEARCH: SearchFields<Product> = {
  id: ({ number }) => Number(legacyId("Product", number)),
  title: ({ title }) => title,
  vendor: ({ vendor }) => vendor,
  product_type: ({ productType }) => productType,
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

function mapped<Item>(listing: Listing<Item>, map: (item: Item) => Source): Listing {
  return {
    *from(after, reverse) {
      for (const { item, cursor } of listing.from(after, reverse)) yield { item: map(item), cursor };
    },
  };
}

/** Any object of the shop by its gid; null when there is none, or none that the app may see. */
export function nodeOf(id: string, context: RequestContext): Source | null {
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

function productNode(product: Product | null): Source | null {
  return product === null ? null : productSource(product);
}

function variantNode(number: number, { shop }: RequestContext): Source | null {
  const { parent, index } = parentOf(number);
  const product = shop.product(parent);
  return variantSource(product, product?.variants[index - 1] ?? null);
}

function orderNode(type: string, number: number, context: RequestContext): Source | null {
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

function reverseOrderNode(number: number, context: RequestContext): Source | null {
  const { parent, index } = parentOf(number);
  const request = orderNode("Return", parent, context) as ReturnSource | null;
  return request !== null && index < reverseOrderCount(request) ? reverseOrderSource(request, index) : null;
}

function only(type: string, id: string, context: RequestContext): Source | null {
  const node = nodeOf(id, context);
  return node?.typeName === type ? node : null;
}

function countOf(listing: Listing): Source {
  let count = 0;
  for (const _ of listing.from(undefined, false)) count += 1;
  return { typeName: "Count", count } as Source;
}

const query = typeFields<undefined>({
  orders: (_source, args, context) => ordersOf(args as never, context),
  ordersCount: (_source, args, context) => countOf(ordersOf({ ...(args as object), sortKey: "ID" }, context)),
  order: (_source, { id }, context) => only("Order", id ?? "", context),
  return: (_source, { id }, context) => only("Return", id ?? "", context),
  refund: (_source, { id }, context) => only("Refund", id ?? "", context),
  products: (_source, args, context) => productsOf(args as never, context),
  productsCount: (_source, args, context) =>
    countOf(productsOf({ ...(args as object), sortKey: "ID" }, context)),
  product: (_source, { id }, context) => only("Product", id ?? "", context),
  productVariant: (_source, { id }, context) => only("ProductVariant", id ?? "", context),
  node: (_source, { id }, context) => nodeOf(id ?? "", context),
  nodes: (_source, { ids }, context) => (ids as unknown as string[]).map((id) => nodeOf(id, context)),
  shop: () => ({ typeName: "Shop" }),
  currentAppInstallation: () => ({ typeName: "AppInstallation" }),
  returnReasonDefinitions: () => listOf(REASONS.map((_, index) => reasonSource(index))),
  deletionEvents: (_source, { query: text }, { shop }) => {
    const matches = compileSearch<{ at: number }>(text ?? "", { occurred_at: ({ at }) => at });
    const deleted = shop.world.deletions.filter(
      (deletion) => deletion.subject === "PRODUCT" && matches(deletion),
    );
    return listOf(deleted.map((deletion) => ({ typeName: "DeletionEvent", ...deletion })));
  },
  bulkOperation: (_source, { id }, { bulk }) => bulk.find(id ?? ""),
  bulkOperations: (_source, _args, { bulk }) => listOf(bulk.list()),
  currentBulkOperation: (_source, _args, { bulk }) => bulk.list().at(-1) ?? null,
  webhookSubscriptions: (_source, { topics }, { subscriptions }) =>
    listOf(subscriptions.list((topics as string[] | undefined) ?? [])),
  webhookSubscription: (_source, { id }, { subscriptions }) => subscriptions.find(id ?? ""),
  publicApiVersions: () => [{ typeName: "ApiVersion" }],
});

const mutation = typeFields<undefined>({
  bulkOperationRunQuery: (_source, args, context) =>
    context.bulk.run((args as { query?: string }).query ?? "", context),
  bulkOperationCancel: (_source, { id }, { bulk }) => bulk.cancel(id ?? ""),
  webhookSubscriptionCreate: (_source, args, { subscriptions }) => subscriptions.create(args as never),
  webhookSubscriptionUpdate: (_source, args, { subscriptions }) => subscriptions.update(args as never),
  webhookSubscriptionDelete: (_source, { id }, { subscriptions }) => subscriptions.remove(id ?? ""),
});

const shop = typeFields<Source>({
  id: () => gid("Shop", 1),
  name: () => "Simulated Shop",
  myshopifyDomain: (_source, _args, context) => context.shop.options.domain,
  currencyCode: (_source, _args, context) => context.shop.options.currencyCode,
  ianaTimezone: () => "Europe/Berlin",
  timezoneOffset: () => "+0100",
  timezoneOffsetMinutes: () => 60,
  taxesIncluded: () => true,
  enabledPresentmentCurrencies: (_source, _args, context) => [context.shop.options.currencyCode],
  orderNumberFormatPrefix: () => "#",
  orderNumberFormatSuffix: () => "",
  plan: () => ({ typeName: "ShopPlan" }),
});

export const rootFields: ResolversByType = {
  QueryRoot: query,
  Mutation: mutation,
  Shop: shop,
  ShopPlan: typeFields<Source>({
    publicDisplayName: () => "Basic",
    displayName: () => "Basic",
    shopifyPlus: () => false,
    partnerDevelopment: () => true,
  }),
  ApiVersion: typeFields<Source>({
    handle: () => "2026-10",
    displayName: () => "2026-10",
    supported: () => true,
  }),
  AppInstallation: typeFields<Source>({
    id: () => gid("AppInstallation", 1),
    accessScopes: (_source, _args, { scopes }) =>
      scopes.map((handle) => ({ typeName: "AccessScope", handle })),
    activeSubscriptions: (_source, _args, context) =>
      context.shop.subscriptionStatus === "ACTIVE" ? [{ typeName: "AppSubscription" }] : [],
  }),
  AccessScope: typeFields<Source & { handle: string }>({
    handle: ({ handle }) => handle,
    description: ({ handle }) => handle,
  }),
  AppSubscription: typeFields<Source>({
    id: () => gid("AppSubscription", 1),
    name: () => "Returns analytics",
    status: (_source, _args, context) => context.shop.subscriptionStatus,
    test: () => true,
    trialDays: () => 0,
    createdAt: (_source, _args, context) => isoTime(context.shop.clock.now() - 86_400),
    currentPeriodEnd: (_source, _args, context) => isoTime(context.shop.clock.now() + 29 * 86_400),
    lineItems: () => [],
  }),
  DeletionEvent: typeFields<Source & { number: number; at: number }>({
    subjectId: ({ number }) => gid("Product", number),
    subjectType: () => "PRODUCT",
    occurredAt: ({ at }) => isoTime(at),
  }),
};
