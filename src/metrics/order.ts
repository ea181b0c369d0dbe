/**
 * The canonical order document: one order as its source reports it, validated, before any rule is applied.
 * Times are ISO 8601 with offset; money is integer minor units of the shop's currency, tax excluded.
 */
export interface OrderDocument {
  orderId: string;
  lines: DocumentLine[];
  returns: DocumentReturn[];
  refunds: DocumentRefund[];
  /** What people and label sources call the order, such as #1001; absent where the source has no names. */
  orderName?: string | null;
  /** Parcels on their way back; absent if the source does not report them. */
  trackings?: DocumentTracking[];
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
  units: number;
  /** Units taken off by order edits before fulfilment, beside refunds of restock type CANCEL. */
  removedUnits: number;
  unitPriceMinor: number | null;
  test: boolean;
  canceledAt: string | null;
  /** Gift cards and tips. */
  giftCard: boolean;
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
}

export type RestockType = "RETURN" | "NO_RESTOCK" | "LEGACY_RESTOCK" | "CANCEL";

/** One line of a refund, known by `refundId` and `lineId`. */
export interface DocumentRefund {
  refundId: string;
  lineId: string;
  refundedAt: string;
  /** 0 for a refund of money only. */
  units: number;
  subtotalMinor: number;
  restockType: RestockType;
  /** The return this refund belongs to, if any. */
  returnId: string | null;
}
