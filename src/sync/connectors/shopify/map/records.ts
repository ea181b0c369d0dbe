import type { RestockType, ReturnStatus } from "../../../../metrics/order.ts";

/**
 * What the platform said, checked and reduced to what counts; how it waits in `sync_record` until it is applied.
 * Times are ISO 8601 in UTC; amounts are decimal text in the shop's currency; ids are gids.
 */
export type OrderRecord = {
  id: string;
  name: string;
  processedAt: string;
  cancelledAt: string | null;
  test: boolean;
  /** Of the shop when the order was placed. */
  currencyCode: string;
  taxesIncluded: boolean;
};

export type LineRecord = {
  id: string;
  sku: string | null;
  title: string;
  vendor: string | null;
  /** Includes removed units. */
  quantity: number;
  isGiftCard: boolean;
  productId: string | null;
  variantId: string | null;
  unitPrice: string;
};

export type ReturnRecord = { id: string; status: ReturnStatus; createdAt: string; closedAt: string | null };

export type ReturnLineRecord = {
  id: string;
  returnId: string;
  /** null: the platform does not know which line it is about. */
  lineId: string | null;
  quantity: number;
  processedQuantity: number | null;
  reason: string | null;
};

export type RefundRecord = {
  id: string;
  refundedAt: string;
  returnId: string | null;
  lines: RefundLineRecord[];
};

export type RefundLineRecord = {
  id: string | null;
  lineId: string;
  quantity: number;
  restockType: RestockType;
  subtotal: string;
  tax: string;
};

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

/** Everything the platform said about one order. */
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

export type ProductRecord = {
  id: string;
  title: string;
  handle: string;
  vendor: string;
  productType: string;
  tags: string[];
  category: string | null;
  imageUrl: string | null;
  imageAlt: string | null;
  /** Value of the metafield that names the family, if one does. */
  metafield: string | null;
};

export type VariantRecord = {
  id: string;
  sku: string | null;
  title: string;
  position: number;
  options: { name: string; value: string }[];
  unitCost: { amount: string; currencyCode: string } | null;
};

export type ShopifyProduct = { product: ProductRecord; variants: VariantRecord[] };
