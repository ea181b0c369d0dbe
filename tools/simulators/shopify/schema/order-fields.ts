import { childNumber, gid } from "../world/ids.ts";
import { decimalOf, unitsAmounts, sumOf, unsentUnits, returnRefundedUnits } from "../world/units.ts";
import {
  REASONS,
  type WorldOrder,
  type Fulfillment,
  type ExchangeItem,
  type ReturnItem,
  type RefundLine,
  type Agreement,
  type Sale,
} from "../world/types.ts";
import { listOf } from "./listing.ts";
import { productSource, variantSource } from "./product-fields.ts";
import {
  isoTime,
  moneyBag,
  moneyV2,
  members,
  times,
  typeFields,
  lineSource,
  refundSource,
  returnSource,
  orderSource,
  reasonSource,
  type MoneySource,
  type ResolversByType,
  type ListingSource,
  type LineSource,
  type OrderSource,
  type ReturnSource,
  type RefundSource,
} from "./sources.ts";

/** As the search field and the enum in lower case. */
export function returnStatusOf(order: WorldOrder): string {
  const statuses = new Set(order.returns.map(({ status }) => status));
  if (statuses.has("REQUESTED")) return "RETURN_REQUESTED";
  if (statuses.has("OPEN")) return "IN_PROGRESS";
  return statuses.has("CLOSED") ? "RETURNED" : "NO_RETURN";
}

export function financialStatusOf({ payment, cancelledAt, refunds, lines }: WorldOrder): string {
  if (payment !== "PAID") return payment;
  if (refunds.every(({ ofEdit }) => ofEdit)) return cancelledAt === 0 ? "PAID" : "VOIDED";
  return lines.every(({ currentQuantity }) => currentQuantity === 0) ? "REFUNDED" : "PARTIALLY_REFUNDED";
}

/** What was agreed at first, after tax. */
function firstTotalMinor({ agreements }: WorldOrder): number {
  return sumOf(agreements, ({ reason, sales }) =>
    reason === "ORDER" ? sumOf(sales, ({ netMinor, taxMinor }) => netMinor + taxMinor) : 0,
  );
}

/** Of a child of an order. */
function numberOf({ order, index }: { order: WorldOrder; index: number }): number {
  return childNumber(order.number, index);
}

interface FulfillmentSource extends ListingSource {
  order: WorldOrder;
  index: number;
  fulfillment: Fulfillment;
}

interface FulfillmentLineSource extends ListingSource {
  order: WorldOrder;
  number: number;
  lineIndex: number;
  quantity: number;
}

export function fulfillmentSources(order: WorldOrder): FulfillmentSource[] {
  return order.fulfillments.map((fulfillment, index) => ({
    typeName: "Fulfillment",
    order,
    index,
    fulfillment,
  }));
}

/** A line of one of the order's fulfilments, by its place in it. */
function fulfillmentLineSource(
  order: WorldOrder,
  [index, place]: readonly [index: number, place: number],
): FulfillmentLineSource {
  const line = order.fulfillments[index]?.lines[place];
  if (line === undefined)
    throw new Error(`order ${order.number} has no line ${place} of fulfilment ${index}`);
  const number = childNumber(childNumber(order.number, index), place);
  return { typeName: "FulfillmentLineItem", order, number, ...line };
}

const fulfillmentFields: ResolversByType = {
  Fulfillment: typeFields<FulfillmentSource>({
    id: (source) => gid("Fulfillment", numberOf(source)),
    ...times("fulfillment", "createdAt", "updatedAt"),
    status: ({ fulfillment }) => (fulfillment.canceled ? "CANCELLED" : "SUCCESS"),
    fulfillmentLineItems: ({ order, index, fulfillment }) =>
      listOf(fulfillment.lines.map((_, place) => fulfillmentLineSource(order, [index, place]))),
  }),
  FulfillmentLineItem: typeFields<FulfillmentLineSource>({
    quantity: ({ quantity }) => quantity,
    lineItem: ({ order, lineIndex }) => lineSource(order, lineIndex),
  }),
};

interface ReturnItemSource extends ListingSource {
  order: WorldOrder;
  returnIndex: number;
  index: number;
  item: ReturnItem;
}

interface ExchangeSource extends ListingSource {
  of: ReturnSource;
  index: number;
  item: ExchangeItem;
}

/** What is expected back together, or one of its parcels, counted through the return. */
interface ReverseSource extends ListingSource {
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

function itemSources({ order, index: returnIndex, request }: ReturnSource): ReturnItemSource[] {
  return request.items.map((item, index) => ({
    typeName: item.lineIndex === null ? "UnverifiedReturnLineItem" : "ReturnLineItem",
    order,
    returnIndex,
    index,
    item,
  }));
}

const itemFields = {
  ...members("item", "quantity"),
  processedQuantity: ({ item }: ReturnItemSource) => item.processed,
  refundedQuantity: (source: ReturnItemSource) => refundedOf(source),
  returnReason: ({ item }: ReturnItemSource) =>
    item.reason === null ? "UNKNOWN" : REASONS[item.reason]?.legacy,
  returnReasonDefinition: ({ item }: ReturnItemSource) =>
    item.reason === null || item.legacyReason ? null : reasonSource(item.reason),
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

const returnFields: ResolversByType = {
  Return: typeFields<ReturnSource>({
    id: (source) => gid("Return", numberOf(source)),
    order: ({ order }) => orderSource(order),
    ...members("request", "status"),
    ...times("request", "createdAt", "closedAt"),
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
  }),
  ReturnLineItem: typeFields<ReturnItemSource>({
    ...itemFields,
    id: (source) => itemId("ReturnLineItem", source),
    fulfillmentLineItem: ({ order, item }) => fulfillmentLineSource(order, item.fulfillment),
  }),
  UnverifiedReturnLineItem: typeFields<ReturnItemSource>({
    ...itemFields,
    id: (source) => itemId("UnverifiedReturnLineItem", source),
  }),
  ExchangeLineItem: typeFields<ExchangeSource>({
    id: ({ of, index }) => gid("ExchangeLineItem", childNumber(numberOf(of), index)),
    quantity: ({ item }) => item.wanted.quantity,
    processedQuantity: ({ item }) => item.processed,
    lineItems: ({ of, item }) => item.lineIndexes.map((lineIndex) => lineSource(of.order, lineIndex)),
  }),
  ReverseFulfillmentOrder: typeFields<ReverseSource>({
    id: ({ of, index }) => gid("ReverseFulfillmentOrder", childNumber(numberOf(of), index)),
    reverseDeliveries: (source) => listOf(parcelSources(source)),
  }),
  ReverseDelivery: typeFields<ReverseSource>({
    deliverable: (source) => ({ ...source, typeName: "ReverseDeliveryShippingDeliverable" }),
  }),
  ReturnReasonDefinition: typeFields<ListingSource & { index: number }>({
    id: ({ index }) => gid("ReturnReasonDefinition", index + 1),
    handle: ({ index }) => REASONS[index]?.handle,
  }),
  ReverseDeliveryShippingDeliverable: typeFields<ReverseSource>({
    tracking: (source) => ({ ...source, typeName: "ReverseDeliveryTrackingV2" }),
  }),
  ReverseDeliveryTrackingV2: typeFields<ReverseSource>({
    number: ({ of, index }) => of.request.trackingNumbers[index] ?? null,
  }),
};

interface RefundLineSource extends ListingSource {
  of: RefundSource;
  index: number;
  line: RefundLine;
}

/** With tax where the order's prices hold it. */
function subtotalMinor({ of, line }: RefundLineSource): number {
  return of.order.taxesIncluded ? line.subtotalMinor + line.taxMinor : line.subtotalMinor;
}

const refundFields: ResolversByType = {
  Refund: typeFields<RefundSource>({
    id: (source) => gid("Refund", numberOf(source)),
    ...times("refund", "createdAt", "processedAt"),
    return: ({ order, refund }) =>
      refund.returnIndex === null ? null : returnSource(order, refund.returnIndex),
    totalRefundedSet: (source) => moneyBag(source.refund.totalMinor),
    refundLineItems: (source) =>
      listOf(
        source.refund.lines.map((line, index) => ({ typeName: "RefundLineItem", of: source, index, line })),
      ),
  }),
  RefundLineItem: typeFields<RefundLineSource>({
    id: ({ of, index }) => gid("RefundLineItem", childNumber(numberOf(of), index)),
    ...members("line", "quantity", "restockType"),
    lineItem: ({ of, line }) => lineSource(of.order, line.lineIndex),
    subtotalSet: (source) => moneyBag(subtotalMinor(source)),
    totalTaxSet: ({ line }) => moneyBag(line.taxMinor),
  }),
};

interface AgreementSource extends ListingSource {
  order: WorldOrder;
  /** Place among the order's agreements. */
  index: number;
  agreement: Agreement;
}

interface SaleSource extends ListingSource {
  of: AgreementSource;
  index: number;
  sale: Sale;
}

const TYPES = {
  ORDER: "OrderAgreement",
  ORDER_EDIT: "OrderEditAgreement",
  REFUND: "RefundAgreement",
  RETURN: "ReturnAgreement",
} as const;

function agreementSources(order: WorldOrder): AgreementSource[] {
  if (!order.ledgerShown) return [];
  return order.agreements.map((agreement, index) => ({
    typeName: TYPES[agreement.reason],
    order,
    index,
    agreement,
  }));
}

const agreement = {
  id: (source: AgreementSource) => gid("SalesAgreement", numberOf(source)),
  ...members("agreement", "reason"),
  happenedAt: ({ agreement: { at } }: AgreementSource) => isoTime(at),
  sales: (of: AgreementSource) =>
    listOf(of.agreement.sales.map((sale, index): SaleSource => ({ typeName: sale.type, of, index, sale }))),
};

const sale = {
  ...members("sale", "lineType", "quantity"),
  id: (source: SaleSource) => gid("Sale", childNumber(numberOf(source.of), source.index)),
  actionType: (source: SaleSource) => source.sale.action,
  totalAmount: (source: SaleSource) => moneyBag(source.sale.netMinor + source.sale.taxMinor),
  totalTaxAmount: (source: SaleSource) => moneyBag(source.sale.taxMinor),
};

const lineSale = typeFields<SaleSource>({
  ...sale,
  lineItem: (source) => lineSource(source.of.order, source.sale.lineIndex ?? 0),
});

const ledgerFields: ResolversByType = {
  OrderAgreement: typeFields<AgreementSource>({ ...agreement, order: ({ order }) => orderSource(order) }),
  OrderEditAgreement: typeFields<AgreementSource>(agreement),
  RefundAgreement: typeFields<AgreementSource>({
    ...agreement,
    refund: ({ order, agreement: { subject } }) => refundSource(order, subject),
  }),
  ReturnAgreement: typeFields<AgreementSource>({
    ...agreement,
    return: ({ order, agreement: { subject } }) => returnSource(order, subject),
  }),
  ProductSale: lineSale,
  GiftCardSale: lineSale,
  TipSale: lineSale,
  AdjustmentSale: typeFields<SaleSource>(sale),
  FeeSale: typeFields<SaleSource>(sale),
  ShippingLineSale: typeFields<SaleSource>(sale),
};

export const orderFields: ResolversByType = {
  Order: typeFields<OrderSource>({
    id: ({ order: { number } }) => gid("Order", number),
    ...members("order", "name", "test", "taxesIncluded", "sourceName", "tags"),
    ...times("order", "createdAt", "processedAt", "updatedAt", "cancelledAt"),
    currencyCode: (_source, _args, { shop }) => shop.world.currencyCode,
    returnStatus: (source) => returnStatusOf(source.order),
    displayFinancialStatus: (source) => financialStatusOf(source.order),
    originalTotalPriceSet: (source) => moneyBag(firstTotalMinor(source.order)),
    totalTipReceivedSet: ({ order: { lines } }) =>
      moneyBag(sumOf(lines, ({ kind, unitPriceMinor }) => (kind === "tip" ? unitPriceMinor : 0))),
    totalRefundedSet: (source) => moneyBag(sumOf(source.order.refunds, ({ totalMinor }) => totalMinor)),
    lineItems: (source) => listOf(source.order.lines.map((_, index) => lineSource(source.order, index))),
    returns: (source) => listOf(source.order.returns.map((_, index) => returnSource(source.order, index))),
    refunds: (source, { first }) =>
      source.order.refunds.map((_, index) => refundSource(source.order, index)).slice(0, first ?? undefined),
    fulfillments: (source, { first }) => fulfillmentSources(source.order).slice(0, first ?? undefined),
    agreements: (source) => listOf(agreementSources(source.order)),
  }),
  LineItem: typeFields<LineSource>({
    id: ({ order: { number }, index }) => gid("LineItem", childNumber(number, index)),
    ...members("line", "sku", "title", "vendor", "quantity", "currentQuantity", "requiresShipping"),
    // Tips are never fulfilled.
    unfulfilledQuantity: ({ line }) => (line.kind === "tip" ? 0 : unsentUnits(line)),
    isGiftCard: ({ line }) => line.kind === "giftCard",
    product: ({ line }) => (line.product === null ? null : productSource(line.product)),
    variant: ({ line }) => variantSource(line.product, line.variant),
    originalUnitPriceSet: ({ line }) => moneyBag(line.unitPriceMinor),
    taxLines: ({ order: owner, line }) =>
      line.taxPerMille === 0
        ? []
        : [
            {
              typeName: "TaxLine",
              perMille: line.taxPerMille,
              minor: unitsAmounts(line, owner.taxesIncluded, line.quantity).taxMinor,
            },
          ],
  }),
  TaxLine: typeFields<ListingSource & { perMille: number; minor: number }>({
    title: () => "VAT",
  }),
  MoneyV2: typeFields<MoneySource>({
    amount: ({ minor }, _args, { shop }) => decimalOf(minor, shop.world.exponent),
    currencyCode: (_source, _args, { shop }) => shop.world.currencyCode,
  }),
  MoneyBag: typeFields<MoneySource>({
    shopMoney: ({ minor }) => moneyV2(minor),
  }),
  ...fulfillmentFields,
  ...returnFields,
  ...refundFields,
  ...ledgerFields,
};
