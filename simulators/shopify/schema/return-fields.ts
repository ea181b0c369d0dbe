import { childNumber, gid } from "../world/ids.ts";
import { returnFeeMinor } from "../world/ledger.ts";
import { unitsAmounts } from "../world/money.ts";
import { REASONS } from "../world/reasons.ts";
import { returnRefundedUnits } from "../world/units.ts";
import type { ExchangeItem, Order, ReturnItem } from "../world/types.ts";
import { fulfillmentLineSource } from "./fulfillment-fields.ts";
import { listOf } from "./listing.ts";
import { lineSource, orderSource, reasonSource, refundSource, returnFeeSource } from "./sources.ts";
import type { ReturnSource } from "./sources.ts";
import { isoTime, isoTimeOrNull, moneyBag, moneyV2, typeFields } from "./resolver.ts";
import type { ResolversByType, Source } from "./resolver.ts";

interface ReturnItemSource extends Source {
  order: Order;
  returnIndex: number;
  index: number;
  item: ReturnItem;
}

interface ExchangeSource extends Source {
  of: ReturnSource;
  index: number;
  item: ExchangeItem;
}

/** What is expected back of one of a return's items. */
interface ReverseItemSource extends Source {
  of: ReturnSource;
  itemIndex: number;
}

/** What is expected back together, or one of its parcels, counted through the return. */
interface ReverseSource extends Source {
  of: ReturnSource;
  index: number;
}

/** So many parcels come back together. */
const PARCELS_TOGETHER = 7;

export function reverseOrderSource(of: ReturnSource, index: number): ReverseSource {
  return { typeName: "ReverseFulfillmentOrder", of, index };
}

/** One at least of every return that was approved. */
export function reverseOrderCount({ request: { status, trackingNumbers } }: ReturnSource): number {
  if (status !== "OPEN" && status !== "CLOSED") return 0;
  return Math.max(1, Math.ceil(trackingNumbers.length / PARCELS_TOGETHER));
}

function parcelSources({ of, index }: ReverseSource): ReverseSource[] {
  const first = index * PARCELS_TOGETHER;
  const numbers = of.request.trackingNumbers.slice(first, first + PARCELS_TOGETHER);
  return numbers.map((_, place) => ({ typeName: "ReverseDelivery", of, index: first + place }));
}

function numberOf({ order, index }: ReturnSource): number {
  return childNumber(order.number, index);
}

function itemSources({ order, index: returnIndex, request }: ReturnSource): ReturnItemSource[] {
  return request.items.map((item, index) => ({
    typeName: item.lineIndex === null ? "UnverifiedReturnLineItem" : "ReturnLineItem",
    order,
    returnIndex,
    index,
    item,
  }));
}

const returnItself = typeFields<ReturnSource>({
  id: (source) => gid("Return", numberOf(source)),
  name: ({ order, index }) => `${order.name}-R${index + 1}`,
  order: ({ order }) => orderSource(order),
  status: ({ request }) => request.status,
  createdAt: ({ request }) => isoTime(request.createdAt),
  closedAt: ({ request }) => isoTimeOrNull(request.closedAt),
  requestApprovedAt: ({ request }) => isoTimeOrNull(request.approvedAt),
  totalQuantity: ({ request }) => request.items.reduce((sum, item) => sum + item.quantity, 0),
  decline: ({ request }) => (request.status === "DECLINED" ? { typeName: "ReturnDecline" } : null),
  returnShippingFees: ({ order, index }) =>
    returnFeeMinor(order, index) === 0 ? [] : [returnFeeSource(order, index)],
  returnLineItems: (source) => listOf(itemSources(source)),
  exchangeLineItems: (source) =>
    listOf(
      source.request.exchanges.map((item, index) => ({
        typeName: "ExchangeLineItem",
        of: source,
        index,
        item,
      })),
    ),
  transactions: () => listOf([]),
  refunds: ({ order, index }) =>
    listOf(
      order.refunds.flatMap((refund, refundIndex) =>
        refund.returnIndex === index ? [refundSource(order, refundIndex)] : [],
      ),
    ),
  reverseFulfillmentOrders: (source) =>
    listOf(
      Array.from({ length: reverseOrderCount(source) }, (_, index) => reverseOrderSource(source, index)),
    ),
});

const itemFields = {
  quantity: ({ item }: ReturnItemSource) => item.quantity,
  processedQuantity: ({ item }: ReturnItemSource) => item.processed,
  processableQuantity: ({ item }: ReturnItemSource) => item.quantity - item.processed,
  unprocessedQuantity: ({ item }: ReturnItemSource) => item.quantity - item.processed,
  refundedQuantity: (source: ReturnItemSource) => refundedOf(source),
  refundableQuantity: (source: ReturnItemSource) => source.item.quantity - refundedOf(source),
  returnReason: ({ item }: ReturnItemSource) =>
    item.reason === null ? "UNKNOWN" : REASONS[item.reason]?.legacy,
  returnReasonDefinition: ({ item }: ReturnItemSource) =>
    item.reason === null || item.legacyReason ? null : reasonSource(item.reason),
  returnReasonNote: () => "",
  customerNote: () => null,
};

/** Refunded units of the item's line through its return, given to the items in their order. */
function refundedOf({ order, returnIndex, index, item }: ReturnItemSource): number {
  if (item.lineIndex === null) return 0;
  const items = order.returns[returnIndex]?.items ?? [];
  const before = items
    .slice(0, index)
    .reduce((sum, other) => (other.lineIndex === item.lineIndex ? sum + other.quantity : sum), 0);
  const refunded = returnRefundedUnits(order, returnIndex, item.lineIndex);
  return Math.max(0, Math.min(item.quantity, refunded - before));
}

function itemId(type: string, { order, returnIndex, index }: ReturnItemSource): string {
  return gid(type, childNumber(childNumber(order.number, returnIndex), index));
}

const returnLineItem = typeFields<ReturnItemSource>({
  ...itemFields,
  id: (source) => itemId("ReturnLineItem", source),
  fulfillmentLineItem: ({ order, item }) => fulfillmentLineSource(order, item.fulfillment),
  restockingFee: () => null,
  totalWeight: () => null,
  withCodeDiscountedTotalPriceSet: ({ order, item }) => {
    const line = order.lines[item.lineIndex ?? 0];
    if (line === undefined) return moneyBag(0);
    const { netMinor, taxMinor } = unitsAmounts(line, order.taxesIncluded, item.quantity);
    return moneyBag(order.taxesIncluded ? netMinor + taxMinor : netMinor);
  },
});

const unverified = typeFields<ReturnItemSource>({
  ...itemFields,
  id: (source) => itemId("UnverifiedReturnLineItem", source),
  unitPrice: () => moneyV2(1000),
});

const exchangeItem = typeFields<ExchangeSource>({
  id: ({ of, index }) => gid("ExchangeLineItem", childNumber(numberOf(of), index)),
  quantity: ({ item }) => item.wanted.quantity,
  processedQuantity: ({ item }) => item.processed,
  processableQuantity: ({ item }) => item.wanted.quantity - item.processed,
  unprocessedQuantity: ({ item }) => item.wanted.quantity - item.processed,
  title: ({ item }) => item.wanted.title,
  variantTitle: ({ item }) => item.wanted.variant?.optionValues.join(" / ") ?? null,
  variantSku: ({ item }) => item.wanted.sku,
  productId: ({ item: { wanted } }) =>
    wanted.product === null ? null : gid("Product", wanted.product.number),
  variantId: ({ item: { wanted } }) =>
    wanted.product === null || wanted.variant === null
      ? null
      : gid("ProductVariant", childNumber(wanted.product.number, wanted.variant.position)),
  lineItems: ({ of, item }) => item.lineIndexes.map((lineIndex) => lineSource(of.order, lineIndex)),
});

const reverse = typeFields<ReverseSource>({
  id: ({ of, index }) => gid("ReverseFulfillmentOrder", childNumber(numberOf(of), index)),
  order: ({ of }) => orderSource(of.order),
  status: ({ of }) => (of.request.status === "CLOSED" ? "CLOSED" : "OPEN"),
  lineItems: ({ of }) =>
    listOf(
      of.request.items.map((_, itemIndex) => ({
        typeName: "ReverseFulfillmentOrderLineItem",
        of,
        itemIndex,
      })),
    ),
  reverseDeliveries: (source) => listOf(parcelSources(source)),
});

const reverseLine = typeFields<ReverseItemSource>({
  id: ({ of, itemIndex }) => gid("ReverseFulfillmentOrderLineItem", childNumber(numberOf(of), itemIndex)),
  totalQuantity: ({ of, itemIndex }) => of.request.items[itemIndex]?.quantity,
  fulfillmentLineItem: ({ of, itemIndex }) => {
    const item = of.request.items[itemIndex];
    if (item === undefined || item.lineIndex === null) return null;
    return fulfillmentLineSource(of.order, item.fulfillment);
  },
  dispositions: () => [],
});

const delivery = typeFields<ReverseSource>({
  id: ({ of, index }) => gid("ReverseDelivery", childNumber(numberOf(of), index)),
  reverseFulfillmentOrder: ({ of, index }) => reverseOrderSource(of, Math.floor(index / PARCELS_TOGETHER)),
  deliverable: (source) => ({ ...source, typeName: "ReverseDeliveryShippingDeliverable" }),
  reverseDeliveryLineItems: ({ of }) =>
    listOf(of.request.items.map((_, itemIndex) => ({ typeName: "ReverseDeliveryLineItem", of, itemIndex }))),
});

export const returnFields: ResolversByType = {
  Return: returnItself,
  ReturnLineItem: returnLineItem,
  UnverifiedReturnLineItem: unverified,
  ExchangeLineItem: exchangeItem,
  ReturnDecline: typeFields<Source>({ reason: () => "RETURN_PERIOD_ENDED", note: () => null }),
  ReturnShippingFee: typeFields<Source & { number: number; minor: number }>({
    id: ({ number }) => gid("ReturnShippingFee", number),
    amountSet: ({ minor }) => moneyBag(minor),
  }),
  ReturnReasonDefinition: typeFields<Source & { index: number }>({
    id: ({ index }) => gid("ReturnReasonDefinition", index + 1),
    handle: ({ index }) => REASONS[index]?.handle,
    name: ({ index }) => REASONS[index]?.name,
    deleted: ({ index }) => REASONS[index]?.deleted,
  }),
  ReverseFulfillmentOrder: reverse,
  ReverseFulfillmentOrderLineItem: reverseLine,
  ReverseDelivery: delivery,
  ReverseDeliveryLineItem: typeFields<ReverseItemSource>({
    id: ({ of, itemIndex }) => gid("ReverseDeliveryLineItem", childNumber(numberOf(of), itemIndex)),
    quantity: ({ of, itemIndex }) => of.request.items[itemIndex]?.quantity,
  }),
  ReverseDeliveryShippingDeliverable: typeFields<ReverseSource>({
    label: () => null,
    tracking: (source) => ({ ...source, typeName: "ReverseDeliveryTrackingV2" }),
  }),
  ReverseDeliveryTrackingV2: typeFields<ReverseSource>({
    carrierName: () => "UPS",
    number: ({ of, index }) => of.request.trackingNumbers[index] ?? null,
    url: () => null,
  }),
};
