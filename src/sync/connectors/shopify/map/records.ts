import type { Static, TObject, TProperties } from "typebox";
import { UnreadableAnswer } from "../../kit/foreign.ts";
import { cleanGroup, cleanKey, cleanLabel, timeOf } from "../../kit/text.ts";
import { TITLE } from "../api/objects.ts";
import type {
  AGREEMENT,
  LINE,
  ORDER,
  PRODUCT,
  REFUND,
  REFUND_LINE,
  RETURN,
  RETURN_LINE,
  REVERSE_DELIVERY,
  SALE,
  VARIANT,
} from "../api/objects.ts";

/**
 * What the platform states, checked by its schema and reduced to what counts; how it waits in `sync_record` until it is
 * applied. Times are ISO 8601 in UTC; amounts are decimal text in the shop's currency; ids are gids.
 */
export type OrderRecord = ReturnType<typeof toOrder>;
export type LineRecord = ReturnType<typeof toLine>;
export type ReturnRecord = ReturnType<typeof toReturn>;
export type ReturnLineRecord = ReturnType<typeof toReturnLine>;
export type RefundRecord = ReturnType<typeof toRefund>;
export type RefundLineRecord = ReturnType<typeof toRefundLine>;
export type ProductRecord = ReturnType<typeof toProduct>;
export type VariantRecord = ReturnType<typeof toVariant>;

/** An entry of the sales ledger about units or money; `refundId` null = an order edit. */
export type AgreementRecord = { id: string; refundId: string | null };

/** A sale of a product's units in such an agreement; removed and returned units are negative. */
export type SaleRecord = {
  id: string;
  agreementId: string;
  lineId: string;
  isReturn: boolean;
  quantity: number | null;
  amount: string;
  tax: string;
};

/** The tracking numbers of what comes back with a return. */
export type TrackingRecord = { returnId: string; trackingNumbers: string[] };

/** Everything the platform states about one order. */
export type ShopifyOrder = {
  order: OrderRecord;
  lines: LineRecord[];
  returns: ReturnRecord[];
  returnLines: ReturnLineRecord[];
  refunds: RefundRecord[];
  agreements: AgreementRecord[];
  sales: SaleRecord[];
  /** Lines that the ledger calls a tip. */
  tipLineIds: string[];
  trackings: TrackingRecord[];
};

export type ShopifyProduct = { product: ProductRecord; variants: VariantRecord[] };

/** An object of a schema, or of the members that a document adds to. */
type SourceObject<Schema> = Schema extends TObject
  ? Static<Schema>
  : Schema extends TProperties
    ? Static<TObject<Schema>>
    : never;

export function toOrder(order: SourceObject<typeof ORDER>) {
  return {
    id: order.id,
    name: cleanLabel(order.name) ?? "",
    processedAt: timeOf(order.processedAt),
    cancelledAt: timeOrNull(order.cancelledAt),
    test: order.test,
    currencyCode: order.currencyCode,
    taxesIncluded: order.taxesIncluded,
  };
}

export function toLine(line: SourceObject<typeof LINE>) {
  return {
    id: line.id,
    sku: cleanKey(line.sku ?? null),
    title: cleanLabel(line.title) ?? "",
    vendor: cleanLabel(line.vendor ?? null),
    /** Includes removed units. */
    quantity: Number(line.quantity),
    isGiftCard: line.isGiftCard,
    productId: line.product?.id ?? null,
    variantId: line.variant?.id ?? null,
    unitPrice: line.originalUnitPriceSet.shopMoney.amount,
  };
}

export function toReturn({ id, status, createdAt, closedAt }: SourceObject<typeof RETURN>) {
  return { id, status, createdAt: timeOf(createdAt), closedAt: timeOrNull(closedAt) };
}

/** `lineId` null: the platform does not know which line it is about. */
export function toReturnLine(line: SourceObject<typeof RETURN_LINE>, returnId: string) {
  const { __typename: type } = line;
  return {
    id: line.id,
    returnId,
    lineId: type === "UnverifiedReturnLineItem" ? null : lineIdOf(line, line.fulfillmentLineItem?.lineItem),
    quantity: Number(line.quantity),
    processedQuantity: numberOrNull(line.processedQuantity),
    reason: cleanGroup(line.returnReasonDefinition?.handle ?? null),
  };
}

/** A refund is dated by its processing, else by its creation. */
export function toRefund(
  refund: SourceObject<typeof REFUND>,
  lines: readonly SourceObject<typeof REFUND_LINE>[],
) {
  return {
    id: refund.id,
    refundedAt: timeOf(refund.processedAt ?? refund.createdAt),
    returnId: refund.return?.id ?? null,
    lines: lines.map(toRefundLine),
  };
}

export function toRefundLine(line: SourceObject<typeof REFUND_LINE>) {
  return {
    id: line.id ?? null,
    lineId: line.lineItem.id,
    quantity: Number(line.quantity),
    restockType: line.restockType,
    subtotal: line.subtotalSet.shopMoney.amount,
    tax: line.totalTaxSet.shopMoney.amount,
  };
}

/** null: an agreement without information about removed units or refunded money. */
export function toAgreement({
  __typename: type,
  id,
  refund,
}: SourceObject<typeof AGREEMENT>): AgreementRecord | null {
  if (refund !== undefined) return { id, refundId: refund.id };
  return type === "OrderEditAgreement" ? { id, refundId: null } : null;
}

/** A sale that takes units or money back, or one that marks a line as a tip; null for all others. */
export function toSale(
  sale: SourceObject<typeof SALE>,
  agreementId: string,
): { sale: SaleRecord } | { tip: { id: string; lineId: string } } | null {
  const { __typename: type, id, lineType, totalAmount, totalTaxAmount } = sale;
  if (lineType === "TIP" && type === "TipSale") return { tip: { id, lineId: lineIdOf(sale, sale.lineItem) } };
  if (lineType !== "PRODUCT" || type !== "ProductSale") return null;
  const isReturn = sale.actionType === "RETURN";
  const quantity = numberOrNull(sale.quantity);
  if (!isReturn && (quantity === null || quantity >= 0)) return null;
  const lineId = lineIdOf(sale, sale.lineItem);
  const [amount, tax] = [totalAmount.shopMoney.amount, totalTaxAmount.shopMoney.amount];
  return { sale: { id, agreementId, lineId, isReturn, quantity, amount, tax } };
}

/** null when it has none. */
export function toTrackingNumber({ deliverable }: SourceObject<typeof REVERSE_DELIVERY>): string | null {
  return cleanKey(deliverable?.tracking?.number ?? null);
}

export function toProduct(product: SourceObject<typeof PRODUCT>) {
  const { id, title, handle, vendor, productType, tags, featuredMedia } = product;
  return {
    id,
    title,
    handle,
    vendor,
    productType,
    tags,
    category: product.category?.fullName ?? null,
    imageUrl: featuredMedia?.preview?.image?.url ?? null,
    imageAlt: featuredMedia?.alt ?? null,
    /** Of the family; null unless a metafield names it. */
    metafield: product.metafield?.value ?? null,
  };
}

export function toVariant(variant: SourceObject<typeof VARIANT>) {
  const { id, title, inventoryItem, selectedOptions: options } = variant;
  const { unitCost = null } = inventoryItem;
  return { id, sku: variant.sku ?? null, title, position: Number(variant.position), options, unitCost };
}

/** Only some types of returned lines and sales have a line; those have to. */
function lineIdOf(holder: { __typename: string; id: string }, line: { id: string } | undefined): string {
  if (line !== undefined) return line.id;
  const { __typename: type, id } = holder;
  throw new UnreadableAnswer(
    TITLE,
    { field: `${type}.lineItem`, expected: "an object", found: "missing" },
    id,
  );
}

function timeOrNull(text: string | null | undefined): string | null {
  return text === null || text === undefined ? null : timeOf(text);
}

function numberOrNull(value: number | string | null | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}
