import { dayToText } from "../lib/month.ts";
import { timeText } from "./calendar.ts";
import type { Product, Variant } from "./catalogue.ts";
import { DEMO_STORE } from "./demo-store-facts.ts";
import type { ImportRow } from "./import-folder.ts";
import type { Order, OrderLine } from "./orders.ts";
import type { RefundLine } from "./refunds.ts";
import type { ReturnLabel } from "./return-labels.ts";
import type { ReturnCase, ReturnedLine } from "./returns.ts";
import { skusOnSale } from "./sale-events.ts";
import type { SaleEvent } from "./sale-events.ts";

export function productRow(product: Product): ImportRow<"products"> {
  return {
    product_id: product.productId,
    title: product.title,
    handle: product.handle,
    vendor: product.vendor,
    family: product.family,
    analytics_category: product.analyticsCategory,
    image_url: `https://images.${DEMO_STORE.domain}/products/${product.handle}.jpg`,
    image_alt: `${product.title}, photographed on a plain background`,
  };
}

/** A product outside the catalogue, of which nothing is known but its name. */
export function plainProductRow(product: {
  productId: string;
  title: string;
  vendor: string;
}): ImportRow<"products"> {
  return {
    product_id: product.productId,
    title: product.title,
    handle: "",
    vendor: product.vendor,
    family: "",
    analytics_category: "",
    image_url: "",
    image_alt: "",
  };
}

export function variantRow(product: Product, variant: Variant): ImportRow<"variants"> {
  return {
    variant_id: variant.variantId,
    product_id: product.productId,
    sku: variant.sku,
    title: variant.title,
    condition: variant.condition,
    counterpart_sku: variant.counterpartSku,
    unit_cost: variant.unitCostMinor === null ? "" : amountText(variant.unitCostMinor),
  };
}

export function orderLineRow(order: Order, line: OrderLine): ImportRow<"order_lines"> {
  return {
    order_id: order.orderId,
    line_id: line.lineId,
    ordered_at: timeText(order.orderedAt),
    product_id: line.productId,
    variant_id: line.variantId,
    sku: line.sku,
    title: line.title,
    vendor: line.vendor,
    units: line.units,
    unit_price: amountText(line.unitPriceMinor),
    test: String(order.test),
    canceled_at: optionalTimeText(order.canceledAt),
    removed_units: line.removedUnits,
    gift_card: String(line.giftCard),
  };
}

export function returnRow(
  order: Order,
  returnCase: ReturnCase,
  returned: ReturnedLine,
): ImportRow<"returns"> {
  const processedKnown = returnCase.status === "CLOSED" && returned.processedReported;
  return {
    return_id: returnCase.returnId,
    order_id: order.orderId,
    line_id: returned.line.lineId,
    status: returnCase.status,
    units: returned.units,
    processed_units: processedKnown ? returned.acceptedUnits : "",
    requested_at: timeText(returnCase.requestedAt),
    closed_at: optionalTimeText(returnCase.closedAt),
    reason: returned.reason,
  };
}

export function refundRow(order: Order, refund: RefundLine): ImportRow<"refunds"> {
  return {
    refund_id: refund.refundId,
    order_id: order.orderId,
    line_id: refund.lineId,
    refunded_at: timeText(refund.refundedAt),
    units: refund.units,
    subtotal: amountText(refund.subtotalMinor),
    restock_type: refund.restockType,
    return_id: refund.returnId,
  };
}

export function returnLabelRow(label: ReturnLabel): ImportRow<"return_labels"> {
  return {
    label_id: label.labelId,
    order_id: label.orderId,
    return_id: label.returnId,
    tracking_number: label.trackingNumber,
    charged_at: timeText(label.chargedAt),
    amount: amountText(label.amountMinor),
    currency: DEMO_STORE.currency,
    voided_at: optionalTimeText(label.voidedAt),
  };
}

export function saleEventRow(event: SaleEvent): ImportRow<"sale_events"> {
  return {
    slug: event.slug,
    label: event.label,
    starts_on: dayToText(event.startsOnDay),
    ends_on: dayToText(event.endsOnDay),
    skus: skusOnSale(event).join(";"),
  };
}

function amountText(amountMinor: number): string {
  return (amountMinor / 100).toFixed(2);
}

function optionalTimeText(time: number | null): string {
  return time === null ? "" : timeText(time);
}
