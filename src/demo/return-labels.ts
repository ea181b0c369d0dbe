import { DAY_MS, timeText } from "./calendar.ts";
import type { ProductKind } from "./assortment.ts";
import { DEMO_STORE } from "./demo-store-facts.ts";
import type { ImportRow } from "./import-folder.ts";
import { amountText, optionalTimeText } from "./import-rows.ts";
import type { Order } from "./orders.ts";
import type { Random } from "./random.ts";
import type { ReturnCase } from "./returns.ts";

/** Shares of returns with a paid label; other parcels are brought to a shop or sent at the shopper's cost. */
const LABEL_SHARE = { CLOSED: 0.7, OPEN: 0.5, REQUESTED: 0.3, DECLINED: 0, CANCELED: 0.1 };

const COST_RANGE_MINOR: Record<ProductKind, readonly [low: number, high: number]> = {
  apparel: [295, 480],
  shoes: [380, 590],
  home: [490, 1150],
};

/** Simulates the labels of an order's returns up to endAt, and now and then one that belongs to nothing. */
export function simulateLabels(
  order: Order,
  returns: readonly ReturnCase[],
  endAt: number,
  nextLabelId: () => string,
  random: Random,
): ImportRow[] {
  return returns.flatMap((returnCase) => {
    if (!random.chance(LABEL_SHARE[returnCase.status])) return [];
    const chargedAt = chargeTime(returnCase, random);
    if (chargedAt >= endAt) return [];
    const label = {
      label_id: nextLabelId(),
      ...referencesOf(order.orderId, returnCase.returnId, random),
      tracking_number: trackingNumber(random),
      charged_at: timeText(chargedAt),
      amount: amountText(costOf(returnCase, random)),
      currency: DEMO_STORE.currency,
      voided_at: optionalTimeText(voidTime(chargedAt, returnCase, endAt, random)),
    };
    return random.chance(0.006) ? [label, strayLabel(label, nextLabelId(), random)] : [label];
  });
}

/** One to two days after the request, but never after the goods have arrived. */
function chargeTime({ requestedAt, closedAt }: ReturnCase, random: Random): number {
  const chargedAt = requestedAt + random.integer(2 * 3600, 44 * 3600) * 1000;
  return closedAt === null ? chargedAt : Math.min(chargedAt, closedAt);
}

/** What the carrier's bill names: the order, the return, or both. */
function referencesOf(
  orderId: string,
  returnId: string,
  random: Random,
): { order_id: string; return_id: string } {
  const point = random.fraction();
  const isOrderNamed = point < 0.6 || point >= 0.82;
  return { order_id: isOrderNamed ? orderId : "", return_id: point < 0.82 ? returnId : "" };
}

function costOf({ lines }: ReturnCase, random: Random): number {
  const kinds = new Set(lines.map(({ item }) => item.product.kind));
  const kind = (["home", "shoes", "apparel"] as const).find((candidate) => kinds.has(candidate)) ?? "apparel";
  const [lowMinor, highMinor] = COST_RANGE_MINOR[kind];
  return random.integer(lowMinor, highMinor) + 60 * (lines.length - 1);
}

/** Labels of canceled requests are voided, and a few others that were printed twice. */
function voidTime(chargedAt: number, { status }: ReturnCase, endAt: number, random: Random): number | null {
  const voidedAt = chargedAt + Math.round(random.between(0.5, 6) * (DAY_MS / 1000)) * 1000;
  const voided = status === "CANCELED" || random.chance(0.025);
  return voided && voidedAt < endAt ? voidedAt : null;
}

/** A label on the carrier's bill that no order of the store explains. */
function strayLabel(label: ImportRow, labelId: string, random: Random): ImportRow {
  const orderId = random.chance(0.5) ? `MKT-${random.integer(50_000, 59_999)}` : "";
  const references = { label_id: labelId, order_id: orderId, return_id: "" };
  return { ...label, ...references, tracking_number: trackingNumber(random), voided_at: "" };
}

function trackingNumber(random: Random): string {
  return `DS${String(random.integer(0, 999_999_999)).padStart(9, "0")}GB`;
}
