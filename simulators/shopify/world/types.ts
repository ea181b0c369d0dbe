/**
 * The shop as it truly is. Times are whole seconds since 1970; money is integer minor units of the shop's currency.
 * Ids are small numbers; `ids.ts` makes the platform's gids of them.
 */
export interface World {
  seed: number;
  currencyCode: string;
  /** Decimals of the currency. */
  exponent: number;
  domain: string;
  /** Index 0 is product 1; a deleted product leaves a hole. */
  products: (Product | null)[];
  /** Index 0 is order 1; a deleted order leaves a hole. */
  orders: (Order | null)[];
  deletions: Deletion[];
  /** Moves with every change, so that sorted indexes know when they are stale. */
  version: number;
}

export interface Deletion {
  subject: "PRODUCT" | "ORDER";
  number: number;
  at: number;
}

export interface Product {
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
  variants: Variant[];
}

export interface Variant {
  /** Position from 1; the variant's id is made of the product's number and this. */
  position: number;
  sku: string | null;
  optionValues: string[];
  priceMinor: number;
  unitCostMinor: number | null;
}

export type LineKind = "product" | "custom" | "giftCard" | "tip";

export interface Line {
  kind: LineKind;
  product: Product | null;
  variant: Variant | null;
  sku: string | null;
  title: string;
  vendor: string | null;
  /** Includes units that were removed later. */
  quantity: number;
  unitPriceMinor: number;
  /** For the whole line. */
  discountMinor: number;
  /** Tax in tenths of a percent. */
  taxPerMille: number;
  /** Added by an order edit at this time, 0 for an original line. */
  addedAt: number;
}

export interface Edit {
  at: number;
  lineIndex: number;
  removedUnits: number;
}

export type ReturnStatus = "REQUESTED" | "OPEN" | "CLOSED" | "DECLINED" | "CANCELED";

export interface Return {
  createdAt: number;
  status: ReturnStatus;
  closedAt: number;
  approvedAt: number;
  items: ReturnItem[];
  trackingNumbers: string[];
}

export interface ReturnItem {
  /** Null for an unverified return line item. */
  lineIndex: number | null;
  quantity: number;
  processed: number;
  /** Index into the reasons; null when none was given. */
  reason: number | null;
}

export type RestockType = "RETURN" | "NO_RESTOCK" | "LEGACY_RESTOCK" | "CANCEL";

export interface Refund {
  createdAt: number;
  processedAt: number;
  updatedAt: number;
  returnIndex: number | null;
  lines: RefundLine[];
  /** Whether the sales ledger has this refund. */
  inLedger: boolean;
  /** Refunded beside the lines: shipping, goodwill. */
  adjustmentMinor: number;
}

export interface RefundLine {
  lineIndex: number;
  quantity: number;
  /** Without tax. */
  subtotalMinor: number;
  taxMinor: number;
  restockType: RestockType;
}

export interface Order {
  number: number;
  createdAt: number;
  processedAt: number;
  updatedAt: number;
  cancelledAt: number;
  closedAt: number;
  test: boolean;
  taxesIncluded: boolean;
  shippingMinor: number;
  lines: Line[];
  edits: Edit[];
  returns: Return[];
  refunds: Refund[];
}
