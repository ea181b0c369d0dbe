import { DAY_MS, HOUR_MS, timeText } from "./calendar.ts";
import type { ImportRow } from "./import-folder.ts";
import { amountText } from "./import-rows.ts";
import { soldUnits } from "./orders.ts";
import type { Order, OrderLine } from "./orders.ts";
import type { Random } from "./random.ts";
import type { ReturnCase, ReturnedLine } from "./returns.ts";

const RESTOCKING_FEE = 0.1;

/**
 * Simulates the refunds of an order up to endAt, a row for each line: cancellations, settled returns, and goodwill. Rows
 * of the same refund share its id and time.
 */
export function simulateRefunds(
  order: Order,
  returns: readonly ReturnCase[],
  endAt: number,
  nextRefundId: () => string,
  random: Random,
): ImportRow[] {
  const cancellations = refundCancellations(order, nextRefundId);
  const settlements = returns.flatMap((returnCase) =>
    refundReturn(order, returnCase, endAt, nextRefundId, random),
  );
  const requested = new Set(returns.flatMap((returnCase) => returnCase.lines.map(({ line }) => line)));
  const goodwill = order.lines
    .filter((line) => !requested.has(line) && line.item !== null && soldUnits(order, line) > 0)
    .flatMap((line) => refundGoodwill(order, line, endAt, nextRefundId, random));
  return [...cancellations, ...settlements, ...goodwill];
}

/** Units taken out before fulfilment are paid back in one refund per moment. */
function refundCancellations(order: Order, nextRefundId: () => string): ImportRow[] {
  const refundIdByTime = new Map<number, string>();
  return order.lines
    .filter((line) => line.canceledUnits > 0)
    .map((line) => {
      const refundedAt = line.canceledUnitsAt;
      const refundId = refundIdByTime.get(refundedAt) ?? nextRefundId();
      refundIdByTime.set(refundedAt, refundId);
      return {
        refund_id: refundId,
        order_id: order.orderId,
        line_id: line.lineId,
        refunded_at: timeText(refundedAt),
        units: line.canceledUnits,
        subtotal: amountText(line.unitPriceMinor * line.canceledUnits),
        restock_type: "CANCEL",
        return_id: "",
      };
    });
}

/** Paid shortly before or after the return is closed; exchanges are never paid back. */
function refundReturn(
  order: Order,
  returnCase: ReturnCase,
  endAt: number,
  nextRefundId: () => string,
  random: Random,
): ImportRow[] {
  const { closedAt, requestedAt, returnId } = returnCase;
  if (closedAt === null || returnCase.exchange) return [];
  const earliest = requestedAt + HOUR_MS;
  const refundedAt = Math.max(earliest, closedAt + Math.round(random.between(-86_400, 86_400)) * 1000);
  const restockingFee = random.chance(0.06);
  if (refundedAt >= endAt) return [];
  const refundId = nextRefundId();
  return returnCase.lines.map((returned) => {
    const { line, acceptedUnits: units } = returned;
    const paidMinor = line.unitPriceMinor * units;
    return {
      refund_id: refundId,
      order_id: order.orderId,
      line_id: line.lineId,
      refunded_at: timeText(refundedAt),
      units,
      subtotal: amountText(restockingFee ? Math.round(paidMinor * (1 - RESTOCKING_FEE)) : paidMinor),
      restock_type: restockTypeOf(returned, random),
      return_id: returnId,
    };
  });
}

function restockTypeOf({ reason }: ReturnedLine, random: Random): string {
  if (reason === "defective") return "NO_RESTOCK";
  const point = random.fraction();
  if (point < 0.92) return "RETURN";
  if (point < 0.95) return "LEGACY_RESTOCK";
  return point < 0.98 ? "NO_RESTOCK" : "";
}

/** Money for lost or flawed goods that nobody wants back; often only a part of it, for no units at all. */
function refundGoodwill(
  order: Order,
  line: OrderLine,
  endAt: number,
  nextRefundId: () => string,
  random: Random,
): ImportRow[] {
  if (!random.chance(0.013)) return [];
  const refundedAt = order.orderedAt + Math.round(random.between(3, 24) * (DAY_MS / 1000)) * 1000;
  if (refundedAt >= endAt) return [];
  const moneyOnly = random.chance(0.6);
  const units = moneyOnly ? 0 : random.integer(1, soldUnits(order, line));
  const part = moneyOnly ? random.pick([0.1, 0.15, 0.25]) : units;
  const row = {
    refund_id: nextRefundId(),
    order_id: order.orderId,
    line_id: line.lineId,
    refunded_at: timeText(refundedAt),
    units,
    subtotal: amountText(Math.round(line.unitPriceMinor * part)),
    // The platform may name none, which stands for NO_RESTOCK.
    restock_type: moneyOnly && random.chance(0.3) ? "" : "NO_RESTOCK",
    return_id: "",
  };
  return [row];
}
