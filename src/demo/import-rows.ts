import { dayToText } from "../lib/month.ts";
import { timeText } from "./calendar.ts";
import type { Product, Variant } from "./catalogue.ts";
import { DEMO_STORE } from "./demo-store-facts.ts";
import type { ImportRow } from "./import-folder.ts";
import type { Order, OrderLine } from "./orders.ts";
import { PICTURES_PATH, pictureName } from "./pictures.ts";
import type { ReturnCase, ReturnedLine } from "./returns.ts";
import { skusOnSale } from "./sale-events.ts";
import type { SaleEvent } from "./sale-events.ts";

/** Of a product outside the catalogue nothing is known but its name and its vendor. */
export function productRow(
  product: Pick<Product, "productId" | "title" | "vendor"> & Partial<Product>,
): ImportRow {
  const { handle = "", family = "", analyticsCategory = "", silhouette = "", colour = "" } = product;
  const picture = `${PICTURES_PATH}${pictureName(silhouette, colour)}.svg`;
  return {
    product_id: product.productId,
    title: product.title,
    handle,
    vendor: product.vendor,
    family,
    analytics_category: analyticsCategory,
    image_url: handle && `https://${DEMO_STORE.domain}${picture}`,
    image_alt: handle && `${product.title} in ${colour.toLowerCase()}`,
  };
}

export function variantRow(product: Product, variant: Variant): ImportRow {
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

export function orderLineRow(order: Order, line: OrderLine): ImportRow {
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

export function returnRow(order: Order, returnCase: ReturnCase, returned: ReturnedLine): ImportRow {
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

export function saleEventRow(event: SaleEvent): ImportRow {
  return {
    slug: event.slug,
    label: event.label,
    starts_on: dayToText(event.startsOnDay),
    ends_on: dayToText(event.endsOnDay),
    skus: skusOnSale(event).join(";"),
  };
}

export function amountText(amountMinor: number): string {
  return (amountMinor / 100).toFixed(2);
}

export function optionalTimeText(time: number | null): string {
  return time === null ? "" : timeText(time);
}
