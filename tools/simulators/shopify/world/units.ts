import type { WorldLine, WorldOrder, ReturnItem, Agreement, Sale } from "./types.ts";

export function lineOf(order: WorldOrder, lineIndex: number): WorldLine {
  const line = order.lines[lineIndex];
  if (line === undefined) throw new Error(`order ${order.number} has no line ${lineIndex}`);
  return line;
}

/** Unsent units of a line. */
export function unsentUnits({ currentQuantity, fulfilled, sentBack }: WorldLine): number {
  return currentQuantity - (fulfilled - sentBack);
}

/** Units of a line removed by order edits. */
export function removedUnits(order: WorldOrder, lineIndex: number): number {
  let units = 0;
  for (const { reason, sales } of order.agreements) {
    if (reason !== "ORDER_EDIT") continue;
    for (const sale of sales) {
      if (sale.lineIndex === lineIndex && sale.action === "RETURN") units -= sale.quantity ?? 0;
    }
  }
  return units;
}

/** Units of a line that can still be refunded. */
export function refundableUnits(order: WorldOrder, lineIndex: number): number {
  return order.lines[lineIndex]?.currentQuantity ?? 0;
}

/** Units of a line that the customer has and that are in no return, except declined and canceled ones. */
export function returnableUnits(order: WorldOrder, lineIndex: number): number {
  const unlinked = order.refunds.reduce((sum, { returnIndex, ofEdit, lines }) => {
    if (returnIndex !== null || ofEdit) return sum;
    return sum + sumOf(lines, (line) => (line.lineIndex === lineIndex ? line.sent : 0));
  }, 0);
  const asked = sumOf(liveItems(order), (item) => (item.lineIndex === lineIndex ? item.quantity : 0));
  return Math.max(0, (order.lines[lineIndex]?.fulfilled ?? 0) - unlinked - asked);
}

/**
 * Items of the returns that were neither declined nor canceled. Where the ledger records processing, units of a closed return that
 * were not processed stay with the customer.
 */
export function liveItems({ returns, returnSales }: WorldOrder): ReturnItem[] {
  return returns.flatMap(({ status, items }) => {
    if (status === "DECLINED" || status === "CANCELED") return [];
    if (status !== "CLOSED" || returnSales !== "processing") return items;
    return items.map((item) => ({ ...item, quantity: item.processed }));
  });
}

/** Units of a line refunded through one return. */
export function returnRefundedUnits(order: WorldOrder, returnIndex: number, lineIndex: number): number {
  return sumOf(order.refunds, (refund) =>
    refund.returnIndex === returnIndex
      ? sumOf(refund.lines, (line) => (line.lineIndex === lineIndex ? line.quantity : 0))
      : 0,
  );
}

export function sumOf<Item>(items: readonly Item[], value: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + value(item), 0);
}

type LineAmounts = { netMinor: number; taxMinor: number };

/** The price of a whole line after discounts: without tax, and the tax. */
export function lineAmounts(line: WorldLine, taxesIncluded: boolean): LineAmounts {
  const paid = Math.max(0, line.unitPriceMinor * line.quantity - line.discountMinor);
  const rate = line.taxPerMille / 1000;
  if (!taxesIncluded) return { netMinor: paid, taxMinor: Math.round(paid * rate) };
  const netMinor = Math.round(paid / (1 + rate));
  return { netMinor, taxMinor: paid - netMinor };
}

/** The amounts of some units of a line. */
export function unitsAmounts(line: WorldLine, taxesIncluded: boolean, units: number): LineAmounts {
  const { netMinor, taxMinor } = lineAmounts(line, taxesIncluded);
  if (line.quantity === 0) return { netMinor: 0, taxMinor: 0 };
  return {
    netMinor: Math.round((netMinor * units) / line.quantity),
    taxMinor: Math.round((taxMinor * units) / line.quantity),
  };
}

/** A decimal string as the platform writes money: at least one decimal, no trailing zeros beyond that. */
export function decimalOf(minor: number, exponent: number): string {
  const sign = minor < 0 ? "-" : "";
  const digits = String(Math.abs(minor)).padStart(exponent + 1, "0");
  if (exponent === 0) return `${sign}${digits}.0`;
  const whole = digits.slice(0, -exponent);
  const fraction = digits.slice(-exponent).replace(/0+$/, "");
  return `${sign}${whole}.${fraction === "" ? "0" : fraction}`;
}

const EXPONENTS: Record<string, number> = { JPY: 0, KRW: 0, CLP: 0, VND: 0, KWD: 3, BHD: 3, TND: 3, JOD: 3 };

export function exponentOf(currencyCode: string): number {
  return EXPONENTS[currencyCode] ?? 2;
}

const SALE_TYPES: Record<WorldLine["kind"], [type: string, lineType: string]> = {
  product: ["ProductSale", "PRODUCT"],
  custom: ["ProductSale", "PRODUCT"],
  giftCard: ["GiftCardSale", "GIFT_CARD"],
  tip: ["TipSale", "TIP"],
};

/** Adds an agreement, which has at least one sale. */
export function agree(
  order: WorldOrder,
  reason: Agreement["reason"],
  at: number,
  sales: Sale[],
  subject = 0,
): void {
  if (sales.length === 0) return;
  for (const sale of sales) Object.freeze(sale);
  order.agreements.push(Object.freeze({ reason, at, subject, sales: Object.freeze(sales) }));
}

/** The sale of a line's units after its first `unitsBefore`. */
export function bought(order: WorldOrder, lineIndex: number, unitsBefore = 0): Sale {
  const line = lineOf(order, lineIndex);
  const all = lineAmounts(line, order.taxesIncluded);
  const before = lineAmounts({ ...line, quantity: unitsBefore }, order.taxesIncluded);
  return lineSale(line, lineIndex, "ORDER", line.quantity - unitsBefore, {
    netMinor: all.netMinor - before.netMinor,
    taxMinor: all.taxMinor - before.taxMinor,
  });
}

/** The sale that takes back units of a line, by default at the price paid. */
export function takenBack(order: WorldOrder, lineIndex: number, units: number, amounts?: LineAmounts): Sale {
  const line = lineOf(order, lineIndex);
  const { netMinor, taxMinor } = amounts ?? unitsAmounts(line, order.taxesIncluded, units);
  return lineSale(line, lineIndex, "RETURN", -units, { netMinor: -netMinor, taxMinor: -taxMinor });
}

/** Lowers the price of a line of which nothing was taken back: as one change of the price, or as the units taken back and sold again. */
export function discounted(order: WorldOrder, lineIndex: number, discountMinor: number): Sale[] {
  const line = lineOf(order, lineIndex);
  const before = takenBack(order, lineIndex, line.quantity);
  line.discountMinor += discountMinor;
  const after = bought(order, lineIndex);
  if (discountMinor % 2 === 0) return [before, after];
  const netMinor = after.netMinor + before.netMinor;
  return [
    { ...after, action: "UPDATE", quantity: null, netMinor, taxMinor: after.taxMinor + before.taxMinor },
  ];
}

function lineSale(
  line: WorldLine,
  lineIndex: number,
  action: Sale["action"],
  quantity: number,
  amounts: LineAmounts,
): Sale {
  const [type, lineType] = SALE_TYPES[line.kind];
  return { type, action, lineType, lineIndex, quantity, ...amounts };
}

/** Money without units: shipping, fees, adjustments. */
export function otherSale(type: string, lineType: string, action: Sale["action"], netMinor: number): Sale {
  return { type, action, lineType, lineIndex: null, quantity: null, netMinor, taxMinor: 0 };
}

/** The customer's fee for some returns. */
export function returnFeeMinor(order: WorldOrder, returnIndex: number): number {
  return (order.number + returnIndex) % 5 === 0 ? 495 : 0;
}

/** Some orders are shown without their ledger, but never edited ones: edits only show there. */
export function hideLedger(order: WorldOrder, hidden: boolean): void {
  if (hidden && !order.agreements.some(({ reason }) => reason === "ORDER_EDIT")) order.ledgerShown = false;
}
