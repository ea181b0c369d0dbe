import { childNumber, gid } from "../world/ids.ts";
import { lineOf, sumOf, unsentUnits } from "../world/units.ts";
import { REASONS, type WorldOrder, type Refund, type Return } from "../world/types.ts";
import { listOf } from "./listing.ts";
import { isoTime, moneyBag, pick, shopCurrency, times, type Shown } from "./nodes.ts";
import { productNode, variantNode } from "./product-nodes.ts";

type PageSize = { first?: number | null };

export function orderNode(order: WorldOrder): Shown {
  const { lines, returns, refunds, agreements } = order;
  return {
    typeName: "Order",
    id: gid("Order", order.number),
    ...pick(order, "name", "test", "taxesIncluded", "sourceName", "tags"),
    ...times(order, "processedAt", "updatedAt", "cancelledAt"),
    currencyCode: shopCurrency,
    displayFinancialStatus: () => financialStatusOf(order),
    originalTotalPriceSet: () => moneyBag(firstTotalMinor(order)),
    totalTipReceivedSet: () =>
      moneyBag(sumOf(lines, ({ kind, unitPriceMinor }) => (kind === "tip" ? unitPriceMinor : 0))),
    lineItems: () => listOf(lines.map((_, index) => lineNode(order, index))),
    returns: () => listOf(returns.map((_, index) => returnNode(order, index))),
    refunds: ({ first }: PageSize) =>
      refunds.map((_, index) => refundNode(order, index)).slice(0, first ?? undefined),
    fulfillments: ({ first }: PageSize) =>
      order.fulfillments.map((_, index) => fulfillmentNode(order, index)).slice(0, first ?? undefined),
    agreements: () =>
      listOf(order.ledgerShown ? agreements.map((_, index) => agreementNode(order, index)) : []),
  };
}

/** The status as used in searches, in lower case. */
export function returnStatusOf(order: WorldOrder): string {
  const statuses = new Set(order.returns.map(({ status }) => status));
  if (statuses.has("REQUESTED")) return "RETURN_REQUESTED";
  const open = order.returns.filter(({ status }) => status === "OPEN");
  if (open.length > 0)
    return open.every(({ inspected }) => inspected) ? "INSPECTION_COMPLETE" : "IN_PROGRESS";
  return statuses.has("CLOSED") ? "RETURNED" : "NO_RETURN";
}

function financialStatusOf({ payment, cancelledAt, refunds, lines }: WorldOrder): string {
  if (payment !== "PAID") return payment;
  if (refunds.every(({ ofEdit }) => ofEdit)) return cancelledAt === 0 ? "PAID" : "VOIDED";
  return lines.every(({ currentQuantity }) => currentQuantity === 0) ? "REFUNDED" : "PARTIALLY_REFUNDED";
}

/** The initial total, including tax. */
function firstTotalMinor({ agreements }: WorldOrder): number {
  return sumOf(agreements, ({ reason, sales }) =>
    reason === "ORDER" ? sumOf(sales, ({ netMinor, taxMinor }) => netMinor + taxMinor) : 0,
  );
}

function lineNode(order: WorldOrder, index: number): Shown {
  const line = lineOf(order, index);
  const { product, variant } = line;
  return {
    typeName: "LineItem",
    id: gid("LineItem", childNumber(order.number, index)),
    ...pick(line, "sku", "title", "vendor", "quantity", "currentQuantity", "requiresShipping"),
    // Tips are never fulfilled.
    unfulfilledQuantity: line.kind === "tip" ? 0 : unsentUnits(line),
    isGiftCard: line.kind === "giftCard",
    product: () => product && productNode(product),
    variant: () => product && variant && variantNode(product, variant),
    originalUnitPriceSet: () => moneyBag(line.unitPriceMinor),
  };
}

export function fulfillmentNode(order: WorldOrder, index: number): Shown | null {
  const fulfillment = order.fulfillments[index];
  if (fulfillment === undefined) return null;
  return {
    typeName: "Fulfillment",
    id: gid("Fulfillment", childNumber(order.number, index)),
    ...times(fulfillment, "createdAt", "updatedAt"),
    status: fulfillment.failed === true ? "FAILURE" : fulfillment.canceled ? "CANCELLED" : "SUCCESS",
    fulfillmentLineItems: () =>
      listOf(fulfillment.lines.map((_, place) => fulfillmentLineNode(order, [index, place]))),
  };
}

/** A line of one of the order's fulfilments, by its index in it. */
function fulfillmentLineNode(
  order: WorldOrder,
  [index, place]: readonly [index: number, place: number],
): Shown {
  const line = order.fulfillments[index]?.lines[place];
  if (line === undefined)
    throw new Error(`order ${order.number} has no line ${place} of fulfilment ${index}`);
  const lineItem = () => lineNode(order, line.lineIndex);
  return { typeName: "FulfillmentLineItem", quantity: line.quantity, lineItem };
}

export function returnNode(order: WorldOrder, index: number): Shown {
  const request = order.returns[index];
  if (request === undefined) throw new Error(`order ${order.number} has no return ${index}`);
  const number = childNumber(order.number, index);
  const reverseOrders = () =>
    Array.from({ length: reverseOrderCount(request) }, (_, place) =>
      reverseOrderNode(request, number, place),
    );
  return {
    typeName: "Return",
    id: gid("Return", number),
    order: () => orderNode(order),
    status: request.status,
    ...times(request, "createdAt", "closedAt"),
    returnLineItems: () => listOf(request.items.map((_, place) => itemNode(order, index, place))),
    exchangeLineItems: () =>
      listOf(
        request.exchanges.map(({ wanted, processed, lineIndexes }, place) => ({
          typeName: "ExchangeLineItem",
          id: gid("ExchangeLineItem", childNumber(number, place)),
          quantity: wanted.quantity,
          processedQuantity: processed,
          lineItems: () => lineIndexes.map((lineIndex) => lineNode(order, lineIndex)),
        })),
      ),
    reverseFulfillmentOrders: () => listOf(reverseOrders()),
  };
}

function itemNode(order: WorldOrder, returnIndex: number, index: number): Shown {
  const item = order.returns[returnIndex]?.items[index];
  if (item === undefined)
    throw new Error(`return ${returnIndex} of order ${order.number} has no item ${index}`);
  const { lineIndex, quantity, processed, reason, legacyReason } = item;
  const typeName = lineIndex === null ? "UnverifiedReturnLineItem" : "ReturnLineItem";
  return {
    typeName,
    id: gid(typeName, childNumber(childNumber(order.number, returnIndex), index)),
    quantity,
    processedQuantity: processed,
    returnReason: reason === null ? "UNKNOWN" : REASONS[reason]?.legacy,
    returnReasonDefinition: () => (reason === null || legacyReason ? null : reasonNode(reason)),
    fulfillmentLineItem: () => fulfillmentLineNode(order, item.fulfillment),
  };
}

export function reasonNode(index: number): Shown | null {
  const reason = REASONS[index];
  if (reason === undefined) return null;
  return {
    typeName: "ReturnReasonDefinition",
    id: gid("ReturnReasonDefinition", index + 1),
    handle: reason.handle,
  };
}

/** Parcels per reverse fulfilment order. */
const PARCELS_TOGETHER = 7;

/** The number of a return's reverse fulfilment orders: at least one if it was approved. */
function reverseOrderCount({ status, trackingNumbers }: Return): number {
  if (status !== "OPEN" && status !== "CLOSED") return 0;
  return Math.max(1, Math.ceil(trackingNumbers.length / PARCELS_TOGETHER));
}

/** A reverse fulfilment order by its index in a return. */
export function reverseOrderOf(order: WorldOrder, returnIndex: number, place: number): Shown | null {
  const request = order.returns[returnIndex];
  if (request === undefined || place >= reverseOrderCount(request)) return null;
  return reverseOrderNode(request, childNumber(order.number, returnIndex), place);
}

function reverseOrderNode({ trackingNumbers }: Return, returnNumber: number, place: number): Shown {
  const first = place * PARCELS_TOGETHER;
  const parcels = trackingNumbers.slice(first, first + PARCELS_TOGETHER).map((number) => ({
    typeName: "ReverseDelivery",
    deliverable: {
      typeName: "ReverseDeliveryShippingDeliverable",
      tracking: { typeName: "ReverseDeliveryTrackingV2", number },
    },
  }));
  return {
    typeName: "ReverseFulfillmentOrder",
    id: gid("ReverseFulfillmentOrder", childNumber(returnNumber, place)),
    reverseDeliveries: () => listOf(parcels),
  };
}

export function refundNode(order: WorldOrder, index: number): Shown {
  const refund = order.refunds[index];
  if (refund === undefined) throw new Error(`order ${order.number} has no refund ${index}`);
  const number = childNumber(order.number, index);
  const { returnIndex, totalMinor, lines } = refund;
  return {
    typeName: "Refund",
    id: gid("Refund", number),
    ...times(refund, "createdAt", "processedAt"),
    return: () => (returnIndex === null ? null : returnNode(order, returnIndex)),
    totalRefundedSet: () => moneyBag(totalMinor),
    refundLineItems: () => listOf(lines.map((line, place) => refundLineNode(order, number, line, place))),
  };
}

function refundLineNode(
  order: WorldOrder,
  refundNumber: number,
  { lineIndex, quantity, restockType, subtotalMinor, taxMinor }: Refund["lines"][number],
  place: number,
): Shown {
  return {
    typeName: "RefundLineItem",
    id: gid("RefundLineItem", childNumber(refundNumber, place)),
    quantity,
    restockType,
    lineItem: () => lineNode(order, lineIndex),
    // Including tax if the order's prices do.
    subtotalSet: () => moneyBag(order.taxesIncluded ? subtotalMinor + taxMinor : subtotalMinor),
    totalTaxSet: () => moneyBag(taxMinor),
  };
}

const AGREEMENTS = {
  ORDER: "OrderAgreement",
  ORDER_EDIT: "OrderEditAgreement",
  REFUND: "RefundAgreement",
  RETURN: "ReturnAgreement",
} as const;

function agreementNode(order: WorldOrder, index: number): Shown {
  const agreement = order.agreements[index];
  if (agreement === undefined) throw new Error(`order ${order.number} has no agreement ${index}`);
  const { reason, at, subject, sales } = agreement;
  const number = childNumber(order.number, index);
  return {
    typeName: AGREEMENTS[reason],
    id: gid("SalesAgreement", number),
    reason,
    happenedAt: isoTime(at),
    refund: () => refundNode(order, subject),
    return: () => returnNode(order, subject),
    sales: () =>
      listOf(
        sales.map(({ type, action, lineType, quantity, lineIndex, netMinor, taxMinor }, place) => ({
          typeName: type,
          id: gid("Sale", childNumber(number, place)),
          lineType,
          quantity,
          actionType: action,
          totalAmount: () => moneyBag(netMinor + taxMinor),
          totalTaxAmount: () => moneyBag(taxMinor),
          lineItem: () => lineNode(order, lineIndex ?? 0),
        })),
      ),
  };
}
