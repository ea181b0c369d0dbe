import { childNumber, gid, legacyId } from "../world/ids.ts";
import { decimalOf, lineAmounts, unitsAmounts } from "../world/money.ts";
import { sumOf, unsentUnits } from "../world/units.ts";
import type { Line, Order } from "../world/types.ts";
import { fulfillmentSources } from "./fulfillment-fields.ts";
import { agreementSources } from "./ledger-fields.ts";
import { listOf } from "./listing.ts";
import { productSource, variantSource } from "./product-fields.ts";
import { isoTime, isoTimeOrNull, moneyBag, moneyV2, typeFields } from "./resolver.ts";
import type { MoneySource, ResolversByType, Source } from "./resolver.ts";
import { lineSource, refundSource, returnSource } from "./sources.ts";
import type { LineSource, OrderSource } from "./sources.ts";

/** As the search field and the enum in lower case. */
export function returnStatusOf(order: Order): string {
  const statuses = new Set(order.returns.map(({ status }) => status));
  if (statuses.has("REQUESTED")) return "RETURN_REQUESTED";
  if (statuses.has("OPEN")) return "IN_PROGRESS";
  return statuses.has("CLOSED") ? "RETURNED" : "NO_RETURN";
}

export function financialStatusOf({ payment, cancelledAt, refunds, lines }: Order): string {
  if (payment !== "PAID") return payment;
  if (refunds.every(({ ofEdit }) => ofEdit)) return cancelledAt === 0 ? "PAID" : "VOIDED";
  return lines.every(({ currentQuantity }) => currentQuantity === 0) ? "REFUNDED" : "PARTIALLY_REFUNDED";
}

export function fulfillmentStatusOf({ lines }: Order): string {
  if (lines.every(({ fulfilled }) => fulfilled === 0)) return "UNFULFILLED";
  return lines.some((line) => unfulfilledUnits(line) > 0) ? "PARTIALLY_FULFILLED" : "FULFILLED";
}

/** Tips are never fulfilled. */
function unfulfilledUnits(line: Line): number {
  return line.kind === "tip" ? 0 : unsentUnits(line);
}

/** What was agreed, after tax; before returns: without what refunds and returns took back. */
function totalMinor(order: Order, when: "at first" | "before returns" | "now"): number {
  return sumOf(order.agreements, ({ reason, sales }) => {
    if (when === "at first" && reason !== "ORDER") return 0;
    const back = when === "before returns" && (reason === "REFUND" || reason === "RETURN");
    return sumOf(sales, ({ action, netMinor, taxMinor }) =>
      back && action === "RETURN" ? 0 : netMinor + taxMinor,
    );
  });
}

function refundedMinor(order: Order): number {
  return sumOf(order.refunds, (refund) => refund.totalMinor);
}

const order = typeFields<OrderSource>({
  id: ({ order: { number } }) => gid("Order", number),
  legacyResourceId: ({ order: { number } }) => legacyId("Order", number),
  name: ({ order: { name } }) => name,
  number: ({ order: { number } }) => 1000 + number,
  createdAt: ({ order: { createdAt } }) => isoTime(createdAt),
  processedAt: ({ order: { processedAt } }) => isoTime(processedAt),
  updatedAt: ({ order: { updatedAt } }) => isoTime(updatedAt),
  cancelledAt: ({ order: { cancelledAt } }) => isoTimeOrNull(cancelledAt),
  cancelReason: ({ order: { cancelledAt } }) => (cancelledAt === 0 ? null : "CUSTOMER"),
  closed: ({ order: { closedAt } }) => closedAt !== 0,
  closedAt: ({ order: { closedAt } }) => isoTimeOrNull(closedAt),
  confirmed: () => true,
  test: ({ order: { test } }) => test,
  edited: ({ order: { agreements } }) => agreements.some(({ reason }) => reason === "ORDER_EDIT"),
  currencyCode: (_source, _args, { shop }) => shop.world.currencyCode,
  presentmentCurrencyCode: (_source, _args, { shop }) => shop.world.currencyCode,
  taxesIncluded: ({ order: { taxesIncluded } }) => taxesIncluded,
  dutiesIncluded: () => false,
  sourceName: ({ order: { sourceName } }) => sourceName,
  note: () => null,
  tags: ({ order: { tags } }) => tags,
  returnStatus: (source) => returnStatusOf(source.order),
  displayFinancialStatus: (source) => financialStatusOf(source.order),
  displayFulfillmentStatus: (source) => fulfillmentStatusOf(source.order),
  fullyPaid: ({ order: { payment } }) => payment === "PAID",
  unpaid: ({ order: { payment } }) => payment !== "PAID" && payment !== "PARTIALLY_PAID",
  refundable: (source) => financialStatusOf(source.order) !== "REFUNDED",
  subtotalLineItemsQuantity: ({ order: { lines } }) => lines.reduce((sum, line) => sum + line.quantity, 0),
  totalPriceSet: (source) => moneyBag(totalMinor(source.order, "before returns")),
  originalTotalPriceSet: (source) => moneyBag(totalMinor(source.order, "at first")),
  currentTotalPriceSet: (source) => moneyBag(totalMinor(source.order, "now")),
  totalRefundedSet: (source) => moneyBag(refundedMinor(source.order)),
  totalShippingPriceSet: ({ order: { shippingMinor } }) => moneyBag(shippingMinor),
  lineItems: (source) => listOf(source.order.lines.map((_, index) => lineSource(source.order, index))),
  returns: (source) => listOf(source.order.returns.map((_, index) => returnSource(source.order, index))),
  refunds: (source, { first }) =>
    source.order.refunds.map((_, index) => refundSource(source.order, index)).slice(0, first ?? undefined),
  fulfillments: (source, { first }) => fulfillmentSources(source.order).slice(0, first ?? undefined),
  agreements: (source) => listOf(agreementSources(source.order)),
  app: (source) => ({ ...source, typeName: "OrderApp" }),
  attribution: (source) => ({ ...source, typeName: "OrderAttribution" }),
});

const lineItem = typeFields<LineSource>({
  id: ({ order: { number }, index }) => gid("LineItem", childNumber(number, index)),
  sku: ({ line }) => line.sku,
  title: ({ line }) => line.title,
  name: ({ line }) => line.title,
  variantTitle: ({ line }) => line.variant?.optionValues.join(" / ") ?? null,
  vendor: ({ line }) => line.vendor,
  quantity: ({ line }) => line.quantity,
  currentQuantity: ({ line }) => line.currentQuantity,
  refundableQuantity: ({ line }) => line.currentQuantity,
  nonFulfillableQuantity: ({ line }) => line.quantity - line.fulfilled - unfulfilledUnits(line),
  unfulfilledQuantity: ({ line }) => unfulfilledUnits(line),
  isGiftCard: ({ line }) => line.kind === "giftCard",
  requiresShipping: ({ line }) => line.requiresShipping,
  restockable: ({ line }) => line.kind === "product",
  merchantEditable: () => false,
  taxable: ({ line }) => line.taxPerMille > 0,
  product: ({ line }) => (line.product === null ? null : productSource(line.product)),
  variant: ({ line }) => variantSource(line.product, line.variant),
  lineItemGroup: () => null,
  image: () => null,
  originalUnitPriceSet: ({ line }) => moneyBag(line.unitPriceMinor),
  originalTotalSet: ({ line }) => moneyBag(line.unitPriceMinor * line.quantity),
  totalDiscountSet: ({ line }) => moneyBag(line.discountMinor),
  discountedTotalSet: ({ line }) => moneyBag(line.unitPriceMinor * line.quantity - line.discountMinor),
  discountedUnitPriceSet: ({ line }) =>
    moneyBag(line.unitPriceMinor - Math.round(line.discountMinor / line.quantity)),
  discountedUnitPriceAfterAllDiscountsSet: ({ line }) =>
    moneyBag(line.unitPriceMinor - Math.round(line.discountMinor / line.quantity)),
  priceAfterAllDiscountsBeforeTaxesSet: ({ order: owner, line }) =>
    moneyBag(lineAmounts(line, owner.taxesIncluded).netMinor),
  taxLines: ({ order: owner, line }) =>
    line.taxPerMille === 0
      ? []
      : [
          {
            typeName: "TaxLine",
            perMille: line.taxPerMille,
            minor: unitsAmounts(line, owner.taxesIncluded, line.quantity).taxMinor,
          },
        ],
});

const taxLine = typeFields<Source & { perMille: number; minor: number }>({
  title: () => "VAT",
  rate: ({ perMille }) => perMille / 1000,
  ratePercentage: ({ perMille }) => perMille / 10,
  channelLiable: () => false,
  source: () => null,
  priceSet: ({ minor }) => moneyBag(minor),
});

const money = typeFields<MoneySource>({
  amount: ({ minor }, _args, { shop }) => decimalOf(minor, shop.world.exponent),
  currencyCode: (_source, _args, { shop }) => shop.world.currencyCode,
});

const bag = typeFields<MoneySource>({
  shopMoney: ({ minor }) => moneyV2(minor),
  presentmentMoney: ({ minor }) => moneyV2(minor),
});

/** The apps that place orders, by the name of the source that they give. */
const APPS: Record<string, readonly [number: number, name: string]> = {
  web: [580_111, "Online Store"],
  pos: [129_785, "Point of Sale"],
  shopify_draft_order: [1_354_745, "Draft Orders"],
  import: [770_001, "Store Mover"],
};

function appOf({ order: { sourceName } }: OrderSource): readonly [number: number, name: string] {
  return APPS[sourceName] ?? [Number(sourceName), `App ${sourceName}`];
}

const app = typeFields<OrderSource>({
  id: (source) => gid("App", appOf(source)[0]),
  name: (source) => appOf(source)[1],
});

const attribution = typeFields<OrderSource>({
  handle: (source) => appOf(source)[1].toLowerCase().replaceAll(" ", "_"),
  displayName: (source) => appOf(source)[1],
  icon: () => null,
});

export const orderFields: ResolversByType = {
  Order: order,
  OrderApp: app,
  OrderAttribution: attribution,
  LineItem: lineItem,
  TaxLine: taxLine,
  MoneyV2: money,
  MoneyBag: bag,
};
