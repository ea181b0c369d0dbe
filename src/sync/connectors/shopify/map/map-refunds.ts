import type { DocumentRefund } from "../../../../metrics/order.ts";
import { minorOf, splitMinor } from "../../kit/money.ts";
import type { RefundLineRecord, RefundRecord, ShopifyOrder } from "./records.ts";
import { compareGids } from "../../kit/text.ts";

/** null: the order's money is in another currency than the shop's, and so none is given. */
export type OrderMoney = { currencyCode: string; taxesIncluded: boolean } | null;

/**
 * One row for each refund, line and restock type. The document knows a row by refund and line: of several restock
 * types the first keeps the refund's id, and the others get one of their own, so that nothing is lost.
 */
export function mapRefunds(sourceOrder: ShopifyOrder, money: OrderMoney): DocumentRefund[] {
  const ledger = money === null ? null : ledgerSubtotals(sourceOrder, money.currencyCode);
  return sourceOrder.refunds.flatMap((refund) =>
    [...Map.groupBy(refund.lines, (line) => line.lineId)].flatMap(([lineId, lines]) => {
      const byRestock = Map.groupBy(lines.toSorted(compareRefundLines), (line) => line.restockType);
      const groups = [...byRestock.values()];
      const ledgerMinor = ledger?.get(ledgerKey(refund.id, lineId));
      const subtotals = subtotalsOf(groups, money, ledgerMinor);
      return groups.map((group, index) => rowOf(refund, group, index, subtotals[index] ?? 0));
    }),
  );
}

function rowOf(
  refund: RefundRecord,
  group: RefundLineRecord[],
  index: number,
  subtotalMinor: number,
): DocumentRefund {
  const [{ lineId, restockType }] = group as [RefundLineRecord];
  return {
    refundId: index === 0 ? refund.id : `${refund.id}#${restockType}`,
    lineId,
    refundedAt: refund.refundedAt,
    units: group.reduce((sum, line) => sum + line.quantity, 0),
    subtotalMinor,
    restockType,
    returnId: refund.returnId,
  };
}

/** Tax excluded: what the ledger has of this refund's line, else the refund lines' own subtotals. */
function subtotalsOf(
  groups: readonly RefundLineRecord[][],
  money: OrderMoney,
  ledgerMinor: number | undefined,
): number[] {
  if (money === null) return groups.map(() => 0);
  const { currencyCode, taxesIncluded } = money;
  const own = groups.map((group) =>
    group.reduce((sum, line) => {
      const taxMinor = taxesIncluded ? minorOf(line.tax, currencyCode) : 0;
      return sum + minorOf(line.subtotal, currencyCode) - taxMinor;
    }, 0),
  );
  return ledgerMinor === undefined ? own : splitMinor(ledgerMinor, own);
}

/** M9: the sales ledger's amount without tax, by refund and line. */
function ledgerSubtotals({ agreements, sales }: ShopifyOrder, currencyCode: string): Map<string, number> {
  const refundIds = new Map(agreements.map((row) => [row.id, row.refundId]));
  const subtotals = new Map<string, number>();
  for (const { agreementId, lineId, isReturn, amount, tax } of sales) {
    const refundId = refundIds.get(agreementId) ?? null;
    if (refundId === null || !isReturn) continue;
    const key = ledgerKey(refundId, lineId);
    const subtotalMinor = minorOf(tax, currencyCode) - minorOf(amount, currencyCode);
    subtotals.set(key, (subtotals.get(key) ?? 0) + subtotalMinor);
  }
  return subtotals;
}

function ledgerKey(refundId: string, lineId: string): string {
  return `${refundId}\n${lineId}`;
}

function compareRefundLines(left: RefundLineRecord, right: RefundLineRecord): number {
  return compareGids(left.id ?? "", right.id ?? "");
}
