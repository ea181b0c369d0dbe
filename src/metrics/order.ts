/**
 * The canonical order document: one order as its source reports it, validated, before any rule is applied.
 * Times are ISO 8601 with offset; money is integer minor units of the shop's currency, tax excluded.
 */
export interface OrderDocument {
  orderId: string;
  lines: DocumentLine[];
  returns: DocumentReturn[];
  refunds: DocumentRefund[];
  /** The order's name for people and label sources, such as #1001; absent if the source has no names. */
  orderName?: string | null;
  /** Parcels on their way back; absent if the source does not report them. */
  trackings?: DocumentTracking[];
  /** Refunds of an amount that names no line. */
  amountRefunds?: DocumentAmountRefund[];
  tags?: string[];
  /** Where the order was placed, in the platform's word, such as web or pos. */
  channel?: string | null;
  /** The platform's word for an order that is not paid in full, such as PENDING or VOIDED; null = paid, or not stated. */
  unpaidStatus?: string | null;
  /** Placed at a total of 0. */
  free?: boolean;
}

/** Known by `refundId`. */
export interface DocumentAmountRefund {
  refundId: string;
  refundedAt: string;
  amountMinor: number;
}

/** Known by `returnId` and `trackingNumber`. */
export interface DocumentTracking {
  returnId: string;
  trackingNumber: string;
}

/** Known by `lineId`. */
export interface DocumentLine {
  lineId: string;
  orderedAt: string;
  productId: string | null;
  variantId: string | null;
  sku: string | null;
  title: string | null;
  vendor: string | null;
  /** Units placed with the order; those added later are changes. */
  units: number;
  /** Units taken off by order edits before fulfilment, from a source that does not date them as changes. */
  removedUnits: number;
  /** Before discounts; times the units, it stands for an absent `soldMinor`, except for Shopify's lines. */
  unitPriceMinor: number | null;
  /** After all discounts: the value of the units placed and added, less those removed; null = the source does not say. */
  soldMinor?: number | null;
  test: boolean;
  canceledAt: string | null;
  /** Gift cards and tips. */
  giftCard: boolean;
  /** Units added to and removed from the line after the order was placed, in order of time; absent: none. */
  changes?: LineChange[];
  /** Units that the source books as taken back by refunds and returns, in order of time; absent: according to its refunds. */
  reversals?: LineReversal[];
}

export interface LineReversal {
  reversedAt: string;
  /** Below 0 restored, as when a return is canceled. */
  units: number;
}

export interface LineChange {
  changedAt: string;
  /** Above 0 added, below 0 removed. */
  units: number;
  by: "edit" | "exchange";
}

export type ReturnStatus = "REQUESTED" | "OPEN" | "CLOSED" | "DECLINED" | "CANCELED";

/** One line of a return request, known by `returnId` and `lineId`. */
export interface DocumentReturn {
  returnId: string;
  lineId: string;
  status: ReturnStatus;
  /** Requested units. */
  units: number;
  processedUnits: number | null;
  requestedAt: string | null;
  closedAt: string | null;
  reason: string | null;
  /** Units of other lines that the whole return sent out instead: above 0, it was an exchange. */
  exchangedUnits?: number;
  /** The part of these units' value that an exchange kept, and that was not paid back. */
  keptMinor?: number;
}

export type RestockType = "RETURN" | "NO_RESTOCK" | "LEGACY_RESTOCK" | "CANCEL";

/** One line of a refund, known by `refundId` and `lineId`. */
export interface DocumentRefund {
  refundId: string;
  lineId: string;
  refundedAt: string;
  /** 0 for a refund of money only. */
  units: number;
  /** Without the value kept by an exchange. */
  subtotalMinor: number;
  restockType: RestockType;
  /** The return this refund belongs to, if any. */
  returnId: string | null;
}
