import type { Static, TObject, TProperties } from "typebox";
import { UnreadableAnswer } from "../../shared/foreign.ts";
import type { ProductRecord, VariantRecord } from "../../shared/map-product.ts";
import { cleanGroup, cleanKey, cleanLabel, timeOf } from "../../shared/text.ts";
import {
  TITLE,
  type AGREEMENT,
  type FULFILLMENT,
  type FULFILLMENT_LINE,
  type LINE,
  type ORDER,
  type PRODUCT,
  type REFUND,
  type REFUND_LINE,
  type RETURN,
  type RETURN_LINE,
  type REVERSE_DELIVERY,
  type SALE,
  type VARIANT,
} from "../api/objects.ts";

/**
 * The platform's data, checked by its schema and reduced to the relevant parts, as stored in `sync_record` until it is applied.
 * Times are ISO 8601 in UTC; amounts are decimal text in the shop's currency; ids are gids.
 */
export type OrderRecord = ReturnType<typeof toOrder>;
export type LineRecord = ReturnType<typeof toLine>;
export type ReturnRecord = ReturnType<typeof toReturn>;
export type ReturnLineRecord = ReturnType<typeof toReturnLine>;
export type RefundRecord = ReturnType<typeof toRefund>;
export type RefundLineRecord = ReturnType<typeof toRefundLine>;

/** An entry of the sales ledger; `about` is the id of its refund or return. */
export type AgreementRecord = {
  id: string;
  at: string;
  kind: "order" | "edit" | "refund" | "return" | "unknown";
  about: string | null;
};

/** A sale of units in such an agreement; `lineId` null: an adjustment of the refunded amount. */
export type SaleRecord = {
  id: string;
  agreementId: string;
  lineId: string | null;
  action: string;
  /** Above 0 sold, below 0 taken back. */
  quantity: number | null;
  amount: string;
  tax: string;
};

/** Units of lines that were sent at a time; `until`: when that was canceled. */
export type FulfillmentRecord = {
  id: string;
  at: string;
  until: string | null;
  lines: { lineId: string; units: number }[];
};

/** The tracking numbers of a return's parcels. */
export type TrackingRecord = { returnId: string; trackingNumbers: string[] };

/** Everything the platform states about one order. */
export type ShopifyOrder = {
  order: OrderRecord;
  lines: LineRecord[];
  returns: ReturnRecord[];
  returnLines: ReturnLineRecord[];
  refunds: RefundRecord[];
  fulfillments: FulfillmentRecord[];
  agreements: AgreementRecord[];
  sales: SaleRecord[];
  /** Lines that the ledger calls a tip. */
  tipLineIds: string[];
  trackings: TrackingRecord[];
};

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
    tags: order.tags.flatMap((tag) => cleanLabel(tag) ?? []).toSorted(),
    channel: cleanLabel(order.sourceName ?? null),
    financialStatus: order.displayFinancialStatus ?? null,
    isFree: Number(order.originalTotalPriceSet.shopMoney.amount) === 0,
    tipsAmount: order.totalTipReceivedSet.shopMoney.amount,
  };
}

export function toLine(line: SourceObject<typeof LINE>) {
  return {
    id: line.id,
    sku: cleanKey(line.sku ?? null),
    title: cleanLabel(line.title) ?? "",
    vendor: cleanLabel(line.vendor ?? null),
    /** Includes removed and returned units. */
    quantity: Number(line.quantity),
    /** Without them. */
    currentQuantity: Number(line.currentQuantity),
    requiresShipping: line.requiresShipping,
    isGiftCard: line.isGiftCard,
    productId: line.product?.id ?? null,
    variantId: line.variant?.id ?? null,
    unitPrice: line.originalUnitPriceSet.shopMoney.amount,
  };
}

export function toReturn({ id, status, createdAt, closedAt }: SourceObject<typeof RETURN>) {
  return { id, status, createdAt: timeOf(createdAt), closedAt: timeOrNull(closedAt) };
}

/** `lineId` null: the platform does not know its line. */
export function toReturnLine(line: SourceObject<typeof RETURN_LINE>, returnId: string) {
  const { __typename: type } = line;
  return {
    id: line.id,
    returnId,
    lineId: type === "UnverifiedReturnLineItem" ? null : lineIdOf(line, line.fulfillmentLineItem?.lineItem),
    quantity: Number(line.quantity),
    processedQuantity: numberOrNull(line.processedQuantity),
    reason: cleanGroup(line.returnReasonDefinition?.handle ?? handleOf(line.returnReason)),
  };
}

/** A reason of the earlier list as the handle that it has become. */
function handleOf(reason: string | null | undefined): string | null {
  return reason === "UNKNOWN" ? null : (reason?.toLowerCase().replaceAll("_", "-") ?? null);
}

/** A refund is dated by its processing. */
export function toRefund(
  refund: SourceObject<typeof REFUND>,
  lines: readonly SourceObject<typeof REFUND_LINE>[],
) {
  return {
    id: refund.id,
    refundedAt: timeOf(refund.processedAt),
    /** By the platform's clock, as fulfillments are; imported history may have been processed earlier. */
    createdAt: timeOf(refund.createdAt ?? refund.processedAt),
    returnId: refund.return?.id ?? null,
    lines: lines.map(toRefundLine),
  };
}

function toRefundLine(line: SourceObject<typeof REFUND_LINE>) {
  return {
    id: line.id ?? null,
    lineId: line.lineItem.id,
    quantity: Number(line.quantity),
    restockType: line.restockType,
    subtotal: line.subtotalSet.shopMoney.amount,
    tax: line.totalTaxSet.shopMoney.amount,
  };
}

/** null: it was never sent. */
export function toFulfillment(
  { id, createdAt, updatedAt, status }: SourceObject<typeof FULFILLMENT>,
  lines: readonly SourceObject<typeof FULFILLMENT_LINE>[],
): FulfillmentRecord | null {
  if (status === "ERROR" || status === "FAILURE") return null;
  return {
    id,
    at: timeOf(createdAt),
    until: status === "CANCELLED" ? timeOf(updatedAt) : null,
    lines: lines.map(({ lineItem, quantity }) => ({ lineId: lineItem.id, units: Number(quantity ?? 0) })),
  };
}

const AGREEMENT_KINDS: Readonly<Record<string, AgreementRecord["kind"]>> = {
  OrderAgreement: "order",
  OrderEditAgreement: "edit",
  RefundAgreement: "refund",
  ReturnAgreement: "return",
};

export function toAgreement(agreement: SourceObject<typeof AGREEMENT>): AgreementRecord {
  const { __typename: type, id, happenedAt, refund, return: returned } = agreement;
  return {
    id,
    at: timeOf(happenedAt),
    kind: AGREEMENT_KINDS[type] ?? "unknown",
    about: (refund ?? returned)?.id ?? null,
  };
}

/** A sale of units or an adjustment of a refund, or one that marks a line as a tip; null for all others. */
export function toSale(
  sale: SourceObject<typeof SALE>,
  agreementId: string,
): { sale: SaleRecord } | { tip: { id: string; lineId: string } } | null {
  const { __typename: type, id, lineType, actionType: action, totalAmount, totalTaxAmount } = sale;
  if (lineType === "TIP" && type === "TipSale") return { tip: { id, lineId: lineIdOf(sale, sale.lineItem) } };
  const isProduct = lineType === "PRODUCT" && type === "ProductSale";
  if (!isProduct && lineType !== "ADJUSTMENT") return null;
  const lineId = isProduct ? lineIdOf(sale, sale.lineItem) : null;
  const [amount, tax] = [totalAmount.shopMoney.amount, totalTaxAmount.shopMoney.amount];
  return { sale: { id, agreementId, lineId, action, quantity: numberOrNull(sale.quantity), amount, tax } };
}

/** null when it has none. */
export function toTrackingNumber({ deliverable }: SourceObject<typeof REVERSE_DELIVERY>): string | null {
  return cleanKey(deliverable?.tracking?.number ?? null);
}

export function toProduct(product: SourceObject<typeof PRODUCT>): ProductRecord {
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
    metafield: product.metafield?.value ?? null,
  };
}

export function toVariant(variant: SourceObject<typeof VARIANT>): VariantRecord {
  const { id, title, inventoryItem, selectedOptions: options } = variant;
  const { unitCost = null } = inventoryItem;
  const [sku, position, imageUrl] = [
    variant.sku ?? null,
    Number(variant.position),
    variant.image?.url ?? null,
  ];
  return { id, sku, title, position, options, unitCost, imageUrl };
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
