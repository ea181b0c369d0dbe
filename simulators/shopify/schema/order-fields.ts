import { childNumber, gid, legacyId, orderName } from "../world/ids.ts";
import { decimalOf, lineAmounts, unitsAmounts } from "../world/money.ts";
import { refundableUnits, refundedUnits, removedUnits } from "../world/units.ts";
import type { Order } from "../world/types.ts";
import { agreementsOf } from "./ledger-fields.ts";
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

export function financialStatusOf(order: Order): string {
  if (order.refunds.length === 0) return order.cancelledAt === 0 ? "PAID" : "VOIDED";
  return order.lines.every((_, index) => refundableUnits(order, index) === 0)
    ? "REFUNDED"
    : "PARTIALLY_REFUNDED";
}

export function fulfillmentStatusOf(order: Order): string {
  return order.cancelledAt === 0 ? "FULFILLED" : "UNFULFILLED";
}

function totalMinor(order: Order): number {
  return order.lines.reduce((sum, line) => {
    const { netMinor, taxMinor } = lineAmounts(line, order.taxesIncluded);
    return sum + netMinor + taxMinor;
  }, order.shippingMinor);
}

function refundedMinor(order: Order): number {
  return order.refunds.reduce(
    (sum, refund) =>
      sum +
      refund.adjustmentMinor +
      refund.lines.reduce((part, line) => part + line.subtotalMinor + line.taxMinor, 0),
    0,
  );
}

const order = typeFields<OrderSource>({
  id: ({ order: { number } }) => gid("Order", number),
  legacyResourceId: ({ order: { number } }) => legacyId("Order", number),
  name: ({ order: { number } }) => orderName(number),
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
  edited: ({ order: { edits, lines } }) => edits.length > 0 || lines.some(({ addedAt }) => addedAt !== 0),
  currencyCode: (_source, _args, { shop }) => shop.world.currencyCode,
  presentmentCurrencyCode: (_source, _args, { shop }) => shop.world.currencyCode,
  taxesIncluded: ({ order: { taxesIncluded } }) => taxesIncluded,
  dutiesIncluded: () => false,
  sourceName: ({ order: { createdAt, processedAt } }) => (createdAt === processedAt ? "web" : "import"),
  note: () => null,
  tags: () => [],
  returnStatus: (source) => returnStatusOf(source.order),
  displayFinancialStatus: (source) => financialStatusOf(source.order),
  displayFulfillmentStatus: (source) => fulfillmentStatusOf(source.order),
  fullyPaid: () => true,
  unpaid: () => false,
  refundable: (source) => financialStatusOf(source.order) !== "REFUNDED",
  subtotalLineItemsQuantity: ({ order: { lines } }) => lines.reduce((sum, line) => sum + line.quantity, 0),
  totalPriceSet: (source) => moneyBag(totalMinor(source.order)),
  totalRefundedSet: (source) => moneyBag(refundedMinor(source.order)),
  totalShippingPriceSet: ({ order: { shippingMinor } }) => moneyBag(shippingMinor),
  lineItems: (source) => listOf(source.order.lines.map((_, index) => lineSource(source.order, index))),
  returns: (source) => listOf(source.order.returns.map((_, index) => returnSource(source.order, index))),
  refunds: (source, { first }) =>
    source.order.refunds.map((_, index) => refundSource(source.order, index)).slice(0, first ?? undefined),
  agreements: (source) => listOf(agreementsOf(source.order)),
});

const lineItem = typeFields<LineSource>({
  id: ({ order: { number }, index }) => gid("LineItem", childNumber(number, index)),
  sku: ({ line }) => line.sku,
  title: ({ line }) => line.title,
  name: ({ line }) => line.title,
  variantTitle: ({ line }) => line.variant?.optionValues.join(" / ") ?? null,
  vendor: ({ line }) => line.vendor,
  quantity: ({ line }) => line.quantity,
  currentQuantity: ({ order: owner, index, line }) =>
    Math.max(0, line.quantity - removedUnits(owner, index) - refundedUnits(owner, index)),
  refundableQuantity: ({ order: owner, index }) => refundableUnits(owner, index),
  nonFulfillableQuantity: ({ order: owner, index }) => removedUnits(owner, index),
  unfulfilledQuantity: () => 0,
  isGiftCard: ({ line }) => line.kind === "giftCard",
  requiresShipping: ({ line }) => line.kind === "product",
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

export const orderFields: ResolversByType = {
  Order: order,
  LineItem: lineItem,
  TaxLine: taxLine,
  MoneyV2: money,
  MoneyBag: bag,
};
