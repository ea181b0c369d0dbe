import { childNumber, gid } from "../world/ids.ts";
import type { Agreement, Order, Sale } from "../world/types.ts";
import { listOf } from "./listing.ts";
import { isoTime, moneyBag, typeFields } from "./resolver.ts";
import type { ResolversByType, Source } from "./resolver.ts";
import { lineSource, orderSource, refundSource, returnFeeSource, returnSource } from "./sources.ts";

interface AgreementSource extends Source {
  order: Order;
  /** Place among the order's agreements. */
  index: number;
  agreement: Agreement;
}

interface SaleSource extends Source {
  of: AgreementSource;
  index: number;
  sale: Sale;
}

const TYPES = {
  ORDER: "OrderAgreement",
  ORDER_EDIT: "OrderEditAgreement",
  REFUND: "RefundAgreement",
  RETURN: "ReturnAgreement",
} as const;

export function agreementSources(order: Order): AgreementSource[] {
  if (!order.ledgerShown) return [];
  return order.agreements.map((agreement, index) => ({
    typeName: TYPES[agreement.reason],
    order,
    index,
    agreement,
  }));
}

function agreementNumber({ order, index }: AgreementSource): number {
  return childNumber(order.number, index);
}

const agreement = {
  id: (source: AgreementSource) => gid("SalesAgreement", agreementNumber(source)),
  happenedAt: ({ agreement: { at } }: AgreementSource) => isoTime(at),
  reason: ({ agreement: { reason } }: AgreementSource) => reason,
  sales: (of: AgreementSource) =>
    listOf(of.agreement.sales.map((sale, index): SaleSource => ({ typeName: sale.type, of, index, sale }))),
};

const sale = {
  id: (source: SaleSource) => gid("Sale", childNumber(agreementNumber(source.of), source.index)),
  actionType: (source: SaleSource) => source.sale.action,
  lineType: (source: SaleSource) => source.sale.lineType,
  quantity: (source: SaleSource) => source.sale.quantity,
  totalAmount: (source: SaleSource) => moneyBag(source.sale.netMinor + source.sale.taxMinor),
  totalTaxAmount: (source: SaleSource) => moneyBag(source.sale.taxMinor),
  totalDiscountAmountBeforeTaxes: (source: SaleSource) => moneyBag(source.sale.discountMinor),
  totalDiscountAmountAfterTaxes: (source: SaleSource) => moneyBag(source.sale.discountMinor),
};

const lineSale = typeFields<SaleSource>({
  ...sale,
  lineItem: (source) => lineSource(source.of.order, source.sale.lineIndex ?? 0),
});

export const ledgerFields: ResolversByType = {
  OrderAgreement: typeFields<AgreementSource>({ ...agreement, order: ({ order }) => orderSource(order) }),
  OrderEditAgreement: typeFields<AgreementSource>(agreement),
  RefundAgreement: typeFields<AgreementSource>({
    ...agreement,
    refund: ({ order, agreement: { subject } }) => refundSource(order, subject),
  }),
  ReturnAgreement: typeFields<AgreementSource>({
    ...agreement,
    return: ({ order, agreement: { subject } }) => returnSource(order, subject),
  }),
  ProductSale: lineSale,
  GiftCardSale: lineSale,
  TipSale: lineSale,
  AdjustmentSale: typeFields<SaleSource>(sale),
  FeeSale: typeFields<SaleSource>({
    ...sale,
    fee: ({ of }) => returnFeeSource(of.order, of.agreement.subject),
  }),
  ShippingLineSale: typeFields<SaleSource>({
    ...sale,
    shippingLine: ({ of }) => ({ typeName: "ShippingLine", order: of.order }),
  }),
  ShippingLine: typeFields<Source & { order: Order }>({
    id: ({ order }) => gid("ShippingLine", order.number),
    title: () => "Standard",
    code: () => "standard",
    custom: () => false,
    isRemoved: () => false,
    originalPriceSet: ({ order }) => moneyBag(order.shippingMinor),
    discountedPriceSet: ({ order }) => moneyBag(order.shippingMinor),
  }),
};
