import { childNumber, gid } from "../world/ids.ts";
import { lineAmounts, unitsAmounts } from "../world/money.ts";
import type { Line, Order } from "../world/types.ts";
import { listOf } from "./listing.ts";
import { isoTime, moneyBag, typeFields } from "./resolver.ts";
import type { ResolversByType, Source } from "./resolver.ts";
import {
  lineSource,
  orderSource,
  refundSource,
  returnFeeMinor,
  returnFeeSource,
  returnSource,
} from "./sources.ts";

interface AgreementSource extends Source {
  order: Order;
  /** Place among the order's agreements. */
  index: number;
  at: number;
  reason: "ORDER" | "ORDER_EDIT" | "REFUND" | "RETURN";
  /** The refund's or the return's index. */
  subject: number;
  sales: Sale[];
}

interface Sale {
  type: string;
  action: "ORDER" | "RETURN";
  lineType: string;
  lineIndex: number | null;
  quantity: number | null;
  netMinor: number;
  taxMinor: number;
  discountMinor: number;
}

interface SaleSource extends Source {
  of: AgreementSource;
  index: number;
  sale: Sale;
}

type Draft = Omit<AgreementSource, "typeName" | "order" | "index">;

/** The sales ledger of an order: its sale, its edits, its returns' fees and its refunds, as far as they are in it. */
export function agreementsOf(order: Order): AgreementSource[] {
  const drafts = [placed(order), ...edits(order), ...returnFees(order), ...refunds(order)];
  return drafts.map((draft, index) => ({ ...draft, typeName: TYPES[draft.reason], order, index }));
}

const TYPES = {
  ORDER: "OrderAgreement",
  ORDER_EDIT: "OrderEditAgreement",
  REFUND: "RefundAgreement",
  RETURN: "ReturnAgreement",
} as const;

const SALE_TYPES: Record<Line["kind"], [type: string, lineType: string]> = {
  product: ["ProductSale", "PRODUCT"],
  custom: ["ProductSale", "PRODUCT"],
  giftCard: ["GiftCardSale", "GIFT_CARD"],
  tip: ["TipSale", "TIP"],
};

function placed(order: Order): Draft {
  const sales = order.lines.flatMap((line, index) => (line.addedAt === 0 ? [bought(order, index)] : []));
  if (order.shippingMinor > 0)
    sales.push(otherSale("ShippingLineSale", "SHIPPING", "ORDER", order.shippingMinor));
  return { at: order.processedAt, reason: "ORDER", subject: 0, sales };
}

function edits(order: Order): Draft[] {
  const times = new Set([...order.edits.map(({ at }) => at), ...order.lines.map(({ addedAt }) => addedAt)]);
  times.delete(0);
  return [...times]
    .toSorted((one, other) => one - other)
    .map((at) => ({
      at,
      reason: "ORDER_EDIT",
      subject: 0,
      sales: [
        ...order.edits.flatMap((edit) =>
          edit.at === at ? [takenBack(order, edit.lineIndex, edit.removedUnits)] : [],
        ),
        ...order.lines.flatMap((line, index) => (line.addedAt === at ? [bought(order, index)] : [])),
      ],
    }));
}

function returnFees(order: Order): Draft[] {
  return order.returns.flatMap((request, subject) => {
    const fee = returnFeeMinor(order, subject);
    if (fee === 0 || request.approvedAt === 0) return [];
    return [
      {
        at: request.approvedAt,
        reason: "RETURN",
        subject,
        sales: [otherSale("FeeSale", "FEE", "ORDER", fee)],
      },
    ];
  });
}

function refunds(order: Order): Draft[] {
  return order.refunds.flatMap((refund, subject) => {
    if (!refund.inLedger) return [];
    const sales = refund.lines.map((line) => ({
      ...takenBack(order, line.lineIndex, line.quantity),
      netMinor: -line.subtotalMinor,
      taxMinor: -line.taxMinor,
    }));
    if (refund.adjustmentMinor > 0) {
      sales.push(otherSale("AdjustmentSale", "ADJUSTMENT", "RETURN", -refund.adjustmentMinor));
    }
    return [{ at: refund.processedAt, reason: "REFUND", subject, sales }];
  });
}

function bought(order: Order, lineIndex: number): Sale {
  const line = lineSource(order, lineIndex).line;
  const [type, lineType] = SALE_TYPES[line.kind];
  const { netMinor, taxMinor } = lineAmounts(line, order.taxesIncluded);
  return {
    type,
    action: "ORDER",
    lineType,
    lineIndex,
    quantity: line.quantity,
    netMinor,
    taxMinor,
    discountMinor: line.discountMinor,
  };
}

function takenBack(order: Order, lineIndex: number, units: number): Sale {
  const line = lineSource(order, lineIndex).line;
  const [type, lineType] = SALE_TYPES[line.kind];
  const { netMinor, taxMinor } = unitsAmounts(line, order.taxesIncluded, units);
  const discountMinor = -Math.round((line.discountMinor * units) / line.quantity);
  return {
    type,
    action: "RETURN",
    lineType,
    lineIndex,
    quantity: -units,
    netMinor: -netMinor,
    taxMinor: -taxMinor,
    discountMinor,
  };
}

function otherSale(type: string, lineType: string, action: Sale["action"], netMinor: number): Sale {
  return { type, action, lineType, lineIndex: null, quantity: null, netMinor, taxMinor: 0, discountMinor: 0 };
}

function agreementNumber({ order, index }: AgreementSource): number {
  return childNumber(order.number, index);
}

const agreement = {
  id: (source: AgreementSource) => gid("SalesAgreement", agreementNumber(source)),
  happenedAt: ({ at }: AgreementSource) => isoTime(at),
  reason: ({ reason }: AgreementSource) => reason,
  sales: (source: AgreementSource) =>
    listOf(source.sales.map((sale, index): SaleSource => ({ typeName: sale.type, of: source, index, sale }))),
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
    refund: ({ order, subject }) => refundSource(order, subject),
  }),
  ReturnAgreement: typeFields<AgreementSource>({
    ...agreement,
    return: ({ order, subject }) => returnSource(order, subject),
  }),
  ProductSale: lineSale,
  GiftCardSale: lineSale,
  TipSale: lineSale,
  AdjustmentSale: typeFields<SaleSource>(sale),
  FeeSale: typeFields<SaleSource>({ ...sale, fee: ({ of }) => returnFeeSource(of.order, of.subject) }),
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
