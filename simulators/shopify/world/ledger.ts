/** The sales ledger of an order: what was agreed stays as it was written, later changes are agreements of their own. */
import { lineAmounts, unitsAmounts } from "./money.ts";
import type { LineAmounts } from "./money.ts";
import { lineOf } from "./units.ts";
import type { Agreement, Line, Order, Sale } from "./types.ts";

const SALE_TYPES: Record<Line["kind"], [type: string, lineType: string]> = {
  product: ["ProductSale", "PRODUCT"],
  custom: ["ProductSale", "PRODUCT"],
  giftCard: ["GiftCardSale", "GIFT_CARD"],
  tip: ["TipSale", "TIP"],
};

/** An agreement has one sale at least. */
export function agree(
  order: Order,
  reason: Agreement["reason"],
  at: number,
  sales: Sale[],
  subject = 0,
): void {
  if (sales.length === 0) return;
  for (const sale of sales) Object.freeze(sale);
  order.agreements.push(Object.freeze({ reason, at, subject, sales: Object.freeze(sales) }));
}

/** The last units of a line, as they are bought; `unitsBefore` are those that it had until then. */
export function bought(order: Order, lineIndex: number, unitsBefore = 0): Sale {
  const line = lineOf(order, lineIndex);
  const all = lineAmounts(line, order.taxesIncluded);
  const before = lineAmounts({ ...line, quantity: unitsBefore }, order.taxesIncluded);
  return lineSale(line, lineIndex, "ORDER", line.quantity - unitsBefore, {
    netMinor: all.netMinor - before.netMinor,
    taxMinor: all.taxMinor - before.taxMinor,
  });
}

/** Units of a line, as they are taken back: at what was paid for them unless told otherwise. */
export function takenBack(order: Order, lineIndex: number, units: number, amounts?: LineAmounts): Sale {
  const line = lineOf(order, lineIndex);
  const { netMinor, taxMinor } = amounts ?? unitsAmounts(line, order.taxesIncluded, units);
  return lineSale(line, lineIndex, "RETURN", -units, { netMinor: -netMinor, taxMinor: -taxMinor });
}

function lineSale(
  line: Line,
  lineIndex: number,
  action: Sale["action"],
  quantity: number,
  amounts: LineAmounts,
): Sale {
  const [type, lineType] = SALE_TYPES[line.kind];
  const discountMinor = line.quantity === 0 ? 0 : Math.round((line.discountMinor * quantity) / line.quantity);
  return { type, action, lineType, lineIndex, quantity, ...amounts, discountMinor };
}

/** Money without units: shipping, fees, adjustments. */
export function otherSale(type: string, lineType: string, action: Sale["action"], netMinor: number): Sale {
  return { type, action, lineType, lineIndex: null, quantity: null, netMinor, taxMinor: 0, discountMinor: 0 };
}

/** What the customer pays for sending back; some returns only. */
export function returnFeeMinor(order: Order, returnIndex: number): number {
  return (order.number + returnIndex) % 5 === 0 ? 495 : 0;
}

/** Some orders are read without their ledger; what edits did to an order shows nowhere else. */
export function hideLedger(order: Order, hidden: boolean): void {
  if (hidden && !order.agreements.some(({ reason }) => reason === "ORDER_EDIT")) order.ledgerShown = false;
}
