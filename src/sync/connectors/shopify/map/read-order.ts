import {
  choiceAt,
  flagAt,
  idAt,
  idOrNullAt,
  objectAt,
  objectOrNullAt,
  shopMoneyAt,
  textAt,
  textOrNullAt,
  timeAt,
  timeOrNullAt,
  wholeAt,
  wholeOrNullAt,
} from "../../kit/json.ts";
import type { Json } from "../../kit/json.ts";
import type {
  AgreementRecord,
  LineRecord,
  OrderRecord,
  RefundLineRecord,
  RefundRecord,
  ReturnLineRecord,
  ReturnRecord,
  SaleRecord,
} from "./records.ts";
import { cleanGroup, cleanKey, cleanLabel } from "../../kit/text.ts";

const RETURN_STATUSES = ["REQUESTED", "OPEN", "CLOSED", "DECLINED", "CANCELED"] as const;
const RESTOCK_TYPES = ["RETURN", "NO_RESTOCK", "LEGACY_RESTOCK", "CANCEL"] as const;

/** The nodes of the schema as records; each throws SourceFailed for a node that is not as the schema says. */
export function readOrder(node: Json): OrderRecord {
  return {
    id: textAt(node, "id", "Order"),
    name: cleanLabel(textAt(node, "name", "Order")) ?? "",
    processedAt: timeAt(node, "processedAt", "Order"),
    cancelledAt: timeOrNullAt(node, "cancelledAt", "Order"),
    test: flagAt(node, "test", "Order"),
    currencyCode: textAt(node, "currencyCode", "Order"),
    taxesIncluded: flagAt(node, "taxesIncluded", "Order"),
  };
}

export function readLine(node: Json): LineRecord {
  return {
    id: textAt(node, "id", "LineItem"),
    sku: cleanKey(textOrNullAt(node, "sku", "LineItem")),
    title: cleanLabel(textAt(node, "title", "LineItem")) ?? "",
    vendor: cleanLabel(textOrNullAt(node, "vendor", "LineItem")),
    quantity: wholeAt(node, "quantity", "LineItem"),
    isGiftCard: flagAt(node, "isGiftCard", "LineItem"),
    productId: idOrNullAt(node, "product", "LineItem"),
    variantId: idOrNullAt(node, "variant", "LineItem"),
    unitPrice: shopMoneyAt(node, "originalUnitPriceSet", "LineItem"),
  };
}

export function readReturn(node: Json): ReturnRecord {
  return {
    id: textAt(node, "id", "Return"),
    status: choiceAt(node, "status", "Return", RETURN_STATUSES),
    createdAt: timeAt(node, "createdAt", "Return"),
    closedAt: timeOrNullAt(node, "closedAt", "Return"),
  };
}

/** A ReturnLineItem, or an UnverifiedReturnLineItem, which has no line. */
export function readReturnLine(node: Json, returnId: string): ReturnLineRecord {
  const type = textAt(node, "__typename", "ReturnLineItemType");
  const reason = objectOrNullAt(node, "returnReasonDefinition", type);
  return {
    id: textAt(node, "id", type),
    returnId,
    lineId:
      type === "UnverifiedReturnLineItem"
        ? null
        : idAt(objectAt(node, "fulfillmentLineItem", type), "lineItem", "FulfillmentLineItem"),
    quantity: wholeAt(node, "quantity", type),
    processedQuantity: wholeOrNullAt(node, "processedQuantity", type),
    reason: reason === null ? null : cleanGroup(textAt(reason, "handle", "ReturnReasonDefinition")),
  };
}

/** Without its lines. A refund is dated by its processing, else by its creation. */
export function readRefund(node: Json): RefundRecord {
  return {
    id: textAt(node, "id", "Refund"),
    refundedAt: timeOrNullAt(node, "processedAt", "Refund") ?? timeAt(node, "createdAt", "Refund"),
    returnId: idOrNullAt(node, "return", "Refund"),
    lines: [],
  };
}

export function readRefundLine(node: Json): RefundLineRecord {
  return {
    id: textOrNullAt(node, "id", "RefundLineItem"),
    lineId: idAt(node, "lineItem", "RefundLineItem"),
    quantity: wholeAt(node, "quantity", "RefundLineItem"),
    restockType: choiceAt(node, "restockType", "RefundLineItem", RESTOCK_TYPES),
    subtotal: shopMoneyAt(node, "subtotalSet", "RefundLineItem"),
    tax: shopMoneyAt(node, "totalTaxSet", "RefundLineItem"),
  };
}

/** null: an agreement without information about removed units or refunded money. */
export function readAgreement(node: Json): AgreementRecord | null {
  const type = textAt(node, "__typename", "SalesAgreement");
  const id = textAt(node, "id", type);
  if (type === "RefundAgreement") return { id, refundId: idAt(node, "refund", type) };
  return type === "OrderEditAgreement" ? { id, refundId: null } : null;
}

/** A sale that takes units or money back, or one that marks a line as a tip; null for all others. */
export function readSale(
  node: Json,
  agreementId: string,
): { sale: SaleRecord } | { tip: { id: string; lineId: string } } | null {
  const type = textAt(node, "__typename", "Sale");
  const id = textAt(node, "id", type);
  const lineType = textAt(node, "lineType", type);
  if (lineType === "TIP" && type === "TipSale") return { tip: { id, lineId: idAt(node, "lineItem", type) } };
  if (lineType !== "PRODUCT" || type !== "ProductSale") return null;
  const isReturn = textAt(node, "actionType", type) === "RETURN";
  const quantity = wholeOrNullAt(node, "quantity", type);
  if (!isReturn && (quantity === null || quantity >= 0)) return null;
  const lineId = idAt(node, "lineItem", type);
  const amount = shopMoneyAt(node, "totalAmount", type);
  const tax = shopMoneyAt(node, "totalTaxAmount", type);
  return { sale: { id, agreementId, lineId, isReturn, quantity, amount, tax } };
}

/** Of a ReverseDelivery; null when it has none. */
export function readTrackingNumber(node: Json): string | null {
  const deliverable = objectOrNullAt(node, "deliverable", "ReverseDelivery");
  const tracking = objectOrNullAt(deliverable ?? {}, "tracking", "ReverseDeliveryShippingDeliverable");
  return cleanKey(textOrNullAt(tracking ?? {}, "number", "ReverseDeliveryTrackingV2"));
}
