/**
 * The actual state of the shop. Times are whole seconds since 1970; money is in integer minor units of the shop's currency.
 * Ids are small numbers, which `ids.ts` turns into the platform's gids.
 */
export interface World {
  seed: number;
  currencyCode: string;
  /** Decimals of the currency. */
  exponent: number;
  histories: "plain" | "full";
  /** Index 0 is product 1; a deleted product leaves a hole. */
  products: (WorldProduct | null)[];
  /** Index 0 is order 1; a deleted order leaves a hole. */
  orders: (WorldOrder | null)[];
  /** Increases with every change, so that sorted indexes know when they are stale. */
  version: number;
}

export interface WorldProduct {
  number: number;
  title: string;
  handle: string;
  vendor: string;
  productType: string;
  /** Full name of the taxonomy category, levels separated by " > "; null when uncategorised. */
  category: string | null;
  tags: string[];
  giftCard: boolean;
  image: boolean;
  createdAt: number;
  updatedAt: number;
  optionNames: string[];
  variants: WorldVariant[];
}

export interface WorldVariant {
  /** Position from 1; the variant's id consists of the product's number and this. */
  position: number;
  sku: string | null;
  optionValues: string[];
  priceMinor: number;
  unitCostMinor: number | null;
}

type LineKind = "product" | "custom" | "giftCard" | "tip";

export interface WorldLine {
  kind: LineKind;
  product: WorldProduct | null;
  variant: WorldVariant | null;
  sku: string | null;
  title: string;
  vendor: string | null;
  /** Units ordered, including those refunded and removed since. */
  quantity: number;
  /** Without units refunded and removed. */
  currentQuantity: number;
  /** Units in fulfilments that were not canceled, and how many of these were returned since. */
  fulfilled: number;
  sentBack: number;
  requiresShipping: boolean;
  unitPriceMinor: number;
  /** For the whole line. */
  discountMinor: number;
  /** Tax in tenths of a percent. */
  taxPerMille: number;
  /** Added by an edit or an exchange at this time, 0 for an original line. */
  addedAt: number;
}

/** Shopify's sales agreement. Agreements and sales never change. */
export interface Agreement {
  readonly reason: "ORDER" | "ORDER_EDIT" | "REFUND" | "RETURN";
  readonly at: number;
  /** Index of the refund or the return that it belongs to. */
  readonly subject: number;
  readonly sales: readonly Sale[];
}

/** Quantity and money are negative if something is taken back. */
export interface Sale {
  type: string;
  action: "ORDER" | "RETURN" | "UPDATE";
  lineType: string;
  lineIndex: number | null;
  quantity: number | null;
  netMinor: number;
  taxMinor: number;
}

export interface Fulfillment {
  createdAt: number;
  updatedAt: number;
  /** Its units are not sent; `failed`: they never were. */
  canceled: boolean;
  failed?: true;
  lines: { lineIndex: number; quantity: number }[];
}

type ReturnStatus = "REQUESTED" | "OPEN" | "CLOSED" | "DECLINED" | "CANCELED";

/** When the sales ledger takes the units of a return back; README.md says which shops do which. */
type ReturnSales = "refund" | "approval" | "processing";

export interface Return {
  createdAt: number;
  status: ReturnStatus;
  closedAt: number;
  approvedAt: number;
  items: ReturnItem[];
  exchanges: ExchangeItem[];
  trackingNumbers: string[];
  /** Whether the warehouse has inspected its parcels. */
  inspected?: true;
}

export interface ReturnItem {
  /** Null for an unverified return line item. */
  lineIndex: number | null;
  /** The fulfilment of the units, and the index of the line in it. */
  fulfillment: readonly [index: number, place: number];
  quantity: number;
  processed: number;
  /** Index into the reasons; null when none was given. */
  reason: number | null;
  /** The reason is from before reasons had definitions. */
  legacyReason: boolean;
}

/** An item sent in exchange: a line of the order once it is processed. */
export interface ExchangeItem {
  wanted: WorldLine;
  processed: number;
  lineIndexes: number[];
}

export type WorldRestockType = "RETURN" | "NO_RESTOCK" | "LEGACY_RESTOCK" | "CANCEL";

export interface Refund {
  createdAt: number;
  processedAt: number;
  returnIndex: number | null;
  lines: RefundLine[];
  shippingMinor: number;
  /** Over all its transactions. */
  totalMinor: number;
  /** Whether it was written together with an edit, whose agreement has the units. */
  ofEdit: boolean;
}

export interface RefundLine {
  lineIndex: number;
  quantity: number;
  /** Units of them that had been fulfilled. */
  sent: number;
  /** Without tax. */
  subtotalMinor: number;
  taxMinor: number;
  restockType: WorldRestockType;
}

type Payment = "PAID" | "PENDING" | "AUTHORIZED" | "PARTIALLY_PAID" | "EXPIRED" | "VOIDED";

/** What actually happened, in order; README.md explains each entry. */
export interface HistoryEvent {
  what:
    | "placed"
    | "added"
    | "removed"
    | "repriced"
    | "fulfilled"
    | "unfulfilled"
    | "requested"
    | "approved"
    | "declined"
    | "return canceled"
    | "processed"
    | "closed"
    | "reopened"
    | "refunded"
    | "amount refunded"
    | "shipping refunded"
    | "order canceled";
  at: number;
  line?: number;
  units?: number;
  /** How many of the units taken back had been fulfilled. */
  sent?: number;
  /** Without tax. */
  netMinor?: number;
  fulfillment?: number;
  return?: number;
  refund?: number;
  restockType?: WorldRestockType;
  reason?: string | null;
}

export interface WorldOrder {
  number: number;
  name: string;
  tags: string[];
  sourceName: string;
  payment: Payment;
  createdAt: number;
  processedAt: number;
  updatedAt: number;
  cancelledAt: number;
  test: boolean;
  taxesIncluded: boolean;
  shippingMinor: number;
  returnSales: ReturnSales;
  lines: WorldLine[];
  fulfillments: Fulfillment[];
  returns: Return[];
  refunds: Refund[];
  agreements: Agreement[];
  /** Whether the API shows the agreements. */
  ledgerShown: boolean;
  history: HistoryEvent[];
}

/** The shop's reasons: with a definition, one of them custom, and as they were before there were definitions. */
export const REASONS = [
  { handle: "size-too-small", legacy: "SIZE_TOO_SMALL" },
  { handle: "size-too-large", legacy: "SIZE_TOO_LARGE" },
  { handle: "unwanted", legacy: "UNWANTED" },
  { handle: "not-as-described", legacy: "NOT_AS_DESCRIBED" },
  { handle: "wrong-item", legacy: "WRONG_ITEM" },
  { handle: "defective", legacy: "DEFECTIVE" },
  { handle: "style", legacy: "STYLE" },
  { handle: "color", legacy: "COLOR" },
  { handle: "other", legacy: "OTHER" },
  { handle: "arrived-after-the-party", legacy: "OTHER" },
] as const;
