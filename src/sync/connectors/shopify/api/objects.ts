import Type, { type TSchema } from "typebox";
import type { RestockType, ReturnStatus } from "../../../../metrics/order.ts";
import { choice, Flag, nullable, object, Text, Time, Whole } from "../../shared/foreign.ts";

/**
 * The platform's objects as requested and checked: a document selects the members of these schemas, and its answer must match
 * them. Objects with connections have only their members here; documents add the connections.
 */

/** The platform's name in sentences. */
export const TITLE = "Shopify";

const PAGE_INFO = object("PageInfo", { hasNextPage: Flag, endCursor: nullable(Text) });

/** A page of items, and where the next one begins. `itemField` "edges": the items are edges, with their cursors. */
export function connection<Item extends TSchema>(
  item: Item,
  args: string,
  { field, itemField = "nodes" }: { field?: string; itemField?: string } = {},
) {
  const nodes = Type.Array(item, itemField === "nodes" ? {} : { field: itemField });
  return object(
    "Connection",
    { pageInfo: PAGE_INFO, nodes },
    { args, ...(field === undefined ? {} : { field }) },
  );
}

export function id(type: string) {
  return object(type, { id: Text });
}

/** A MoneyBag, of which only the shop's currency counts. */
const MONEY = object("MoneyBag", { shopMoney: object("MoneyV2", { amount: Text }) });

const RETURN_STATUSES = [
  "REQUESTED",
  "OPEN",
  "CLOSED",
  "DECLINED",
  "CANCELED",
] as const satisfies readonly ReturnStatus[];
const RESTOCK_TYPES = [
  "RETURN",
  "NO_RESTOCK",
  "LEGACY_RESTOCK",
  "CANCEL",
] as const satisfies readonly RestockType[];

export const ORDER = {
  id: Text,
  name: Text,
  processedAt: Time,
  cancelledAt: nullable(Time),
  test: Flag,
  /** Of the shop when the order was placed. */
  currencyCode: Text,
  taxesIncluded: Flag,
  tags: Type.Array(Text),
  sourceName: nullable(Text),
  displayFinancialStatus: nullable(Text),
  /** When it was placed: edits do not change it. */
  originalTotalPriceSet: MONEY,
  totalTipReceivedSet: MONEY,
};

export const LINE = object("LineItem", {
  id: Text,
  sku: nullable(Text),
  title: Text,
  vendor: nullable(Text),
  quantity: Whole,
  currentQuantity: Whole,
  requiresShipping: Flag,
  isGiftCard: Flag,
  product: nullable(id("Product")),
  variant: nullable(id("ProductVariant")),
  originalUnitPriceSet: MONEY,
});

export const RETURN = {
  id: Text,
  status: choice(RETURN_STATUSES),
  createdAt: Time,
  closedAt: nullable(Time),
};

/** A ReturnLineItem, or an UnverifiedReturnLineItem, which has no line. */
export const RETURN_LINE = object("ReturnLineItemType", {
  __typename: Text,
  id: Text,
  quantity: Whole,
  processedQuantity: nullable(Whole),
  returnReasonDefinition: nullable(object("ReturnReasonDefinition", { handle: Text })),
  /** Of returns of before there were definitions. */
  returnReason: nullable(Text),
  fulfillmentLineItem: Type.Optional(
    object("FulfillmentLineItem", { lineItem: id("LineItem") }, { on: ["ReturnLineItem"] }),
  ),
});

export const REFUND = {
  id: Text,
  createdAt: nullable(Time),
  processedAt: Time,
  return: nullable(id("Return")),
};

export const REFUND_LINE = object("RefundLineItem", {
  id: nullable(Text),
  quantity: Whole,
  restockType: choice(RESTOCK_TYPES),
  lineItem: id("LineItem"),
  subtotalSet: MONEY,
  totalTaxSet: MONEY,
});

/** A shipment; the last change of a canceled one is the end of its validity. */
export const FULFILLMENT = {
  id: Text,
  createdAt: Time,
  updatedAt: Time,
  status: Text,
};

export const FULFILLMENT_LINE = object("FulfillmentLineItem", {
  quantity: nullable(Whole),
  lineItem: id("LineItem"),
});

export const AGREEMENT = {
  __typename: Text,
  id: Text,
  happenedAt: Time,
  return: Type.Optional(object("Return", { id: Text }, { on: ["ReturnAgreement"] })),
  refund: Type.Optional(object("Refund", { id: Text }, { on: ["RefundAgreement"] })),
};

export const SALE = object("Sale", {
  __typename: Text,
  id: Text,
  actionType: Text,
  lineType: Text,
  quantity: nullable(Whole),
  totalAmount: MONEY,
  totalTaxAmount: MONEY,
  lineItem: Type.Optional(object("LineItem", { id: Text }, { on: ["ProductSale", "TipSale"] })),
});

export const REVERSE_DELIVERY = object("ReverseDelivery", {
  deliverable: nullable(
    object(
      "ReverseDeliveryShippingDeliverable",
      { tracking: nullable(object("ReverseDeliveryTrackingV2", { number: nullable(Text) })) },
      { cast: true },
    ),
  ),
});

export const PRODUCT = {
  id: Text,
  title: Text,
  handle: Text,
  vendor: Text,
  productType: Text,
  tags: Type.Array(Text),
  category: nullable(object("TaxonomyCategory", { fullName: Text })),
  featuredMedia: nullable(
    object("Media", {
      alt: nullable(Text),
      preview: nullable(object("MediaPreviewImage", { image: nullable(object("Image", { url: Text })) })),
    }),
  ),
  /** Of the family; absent unless a metafield names it. */
  metafield: nullable(object("Metafield", { value: Text })),
};

export const VARIANT = object("ProductVariant", {
  id: Text,
  sku: nullable(Text),
  title: Text,
  position: Whole,
  // Deprecated in favour of media, a connection: its pages would cost more than those of the variants themselves.
  image: nullable(object("Image", { url: Text })),
  selectedOptions: Type.Array(object("SelectedOption", { name: Text, value: Text })),
  inventoryItem: object("InventoryItem", {
    unitCost: nullable(object("MoneyV2", { amount: Text, currencyCode: Text })),
  }),
});
