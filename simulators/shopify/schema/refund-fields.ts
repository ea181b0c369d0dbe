import { childNumber, gid, legacyId } from "../world/ids.ts";
import { unitsAmounts } from "../world/money.ts";
import type { RefundLine } from "../world/types.ts";
import { listOf } from "./listing.ts";
import { isoTime, moneyBag, typeFields } from "./resolver.ts";
import type { ResolversByType, Source } from "./resolver.ts";
import { lineSource, orderSource, returnSource } from "./sources.ts";
import type { RefundSource } from "./sources.ts";

interface RefundLineSource extends Source {
  of: RefundSource;
  index: number;
  line: RefundLine;
}

function numberOf({ order, index }: RefundSource): number {
  return childNumber(order.number, index);
}

/** With tax where the order's prices hold it. */
function subtotalMinor({ of, line }: RefundLineSource): number {
  return of.order.taxesIncluded ? line.subtotalMinor + line.taxMinor : line.subtotalMinor;
}

function priceMinor({ of, line }: RefundLineSource): number {
  const bought = of.order.lines[line.lineIndex];
  if (bought === undefined) return 0;
  const { netMinor, taxMinor } = unitsAmounts(bought, of.order.taxesIncluded, 1);
  return of.order.taxesIncluded ? netMinor + taxMinor : netMinor;
}

export const refundFields: ResolversByType = {
  Refund: typeFields<RefundSource>({
    id: (source) => gid("Refund", numberOf(source)),
    legacyResourceId: (source) => legacyId("Refund", numberOf(source)),
    order: ({ order }) => orderSource(order),
    createdAt: ({ refund }) => isoTime(refund.createdAt),
    processedAt: ({ refund }) => isoTime(refund.processedAt),
    updatedAt: ({ refund }) => isoTime(refund.updatedAt),
    note: () => null,
    duties: () => [],
    return: ({ order, refund }) =>
      refund.returnIndex === null ? null : returnSource(order, refund.returnIndex),
    totalRefundedSet: (source) => moneyBag(source.refund.totalMinor),
    refundLineItems: (source) =>
      listOf(
        source.refund.lines.map((line, index) => ({ typeName: "RefundLineItem", of: source, index, line })),
      ),
    refundShippingLines: (source) =>
      listOf(source.refund.shippingMinor === 0 ? [] : [{ ...source, typeName: "RefundShippingLine" }]),
    orderAdjustments: (source) =>
      listOf(source.refund.adjustmentMinor === 0 ? [] : [{ ...source, typeName: "OrderAdjustment" }]),
    transactions: (source) =>
      listOf(source.refund.totalMinor === 0 ? [] : [{ ...source, typeName: "OrderTransaction" }]),
  }),
  RefundLineItem: typeFields<RefundLineSource>({
    id: ({ of, index }) => gid("RefundLineItem", childNumber(numberOf(of), index)),
    quantity: ({ line }) => line.quantity,
    restockType: ({ line }) => line.restockType,
    restocked: ({ line }) => line.restockType === "RETURN" || line.restockType === "LEGACY_RESTOCK",
    lineItem: ({ of, line }) => lineSource(of.order, line.lineIndex),
    location: ({ line }) => (line.restockType === "NO_RESTOCK" ? null : { typeName: "Location" }),
    priceSet: (source) => moneyBag(priceMinor(source)),
    subtotalSet: (source) => moneyBag(subtotalMinor(source)),
    totalTaxSet: ({ line }) => moneyBag(line.taxMinor),
  }),
  RefundShippingLine: typeFields<RefundSource>({
    id: (source) => gid("RefundShippingLine", numberOf(source)),
    shippingLine: ({ order }) => ({ typeName: "ShippingLine", order }),
    subtotalAmountSet: ({ refund }) => moneyBag(refund.shippingMinor),
    taxAmountSet: () => moneyBag(0),
  }),
  OrderAdjustment: typeFields<RefundSource>({
    id: (source) => gid("OrderAdjustment", numberOf(source)),
    reason: () => "REFUND_DISCREPANCY",
    amountSet: ({ refund }) => moneyBag(-refund.adjustmentMinor),
    taxAmountSet: () => moneyBag(0),
  }),
  OrderTransaction: typeFields<RefundSource>({
    id: (source) => gid("OrderTransaction", numberOf(source)),
    kind: () => "REFUND",
    status: () => "SUCCESS",
    test: ({ order }) => order.test,
    createdAt: ({ refund }) => isoTime(refund.createdAt),
    processedAt: ({ refund }) => isoTime(refund.processedAt),
    amountSet: (source) => moneyBag(source.refund.totalMinor),
  }),
  Location: typeFields<Source>({
    id: () => gid("Location", 1),
    legacyResourceId: () => legacyId("Location", 1),
    name: () => "Warehouse",
    isActive: () => true,
  }),
};
