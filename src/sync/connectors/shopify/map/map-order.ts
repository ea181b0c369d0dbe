import type { DocumentLine, DocumentReturn } from "../../../../metrics/order.ts";
import type { DocumentPart } from "../../../document-merge.ts";
import { mapRefunds } from "./map-refunds.ts";
import { minorOf } from "../../kit/money.ts";
import type { ReturnLineRecord, ReturnRecord, ShopifyOrder } from "./records.ts";
import { compareGids } from "../../kit/text.ts";

export type MappedOrder = { part: DocumentPart; anomalies: OrderAnomalies };

/** What of an order cannot be counted, for the notes of a run. */
export type OrderAnomalies = {
  /** Units of returns of which the platform does not know the line. */
  unverifiedReturnLines: number;
  /** Returns that are closed without a time. */
  undatedClosedReturns: number;
  /** 1 when the order was placed in another currency than the shop's: its money is left out. */
  foreignOrders: number;
};

export const NO_ANOMALIES: OrderAnomalies = {
  unverifiedReturnLines: 0,
  undatedClosedReturns: 0,
  foreignOrders: 0,
};

/** The canonical document of an order; `currencyCode` is the shop's. */
export function mapOrder(sourceOrder: ShopifyOrder, currencyCode: string): MappedOrder {
  const { order, returnLines, returns } = sourceOrder;
  const isForeign = order.currencyCode !== currencyCode;
  const money = isForeign ? null : { currencyCode, taxesIncluded: order.taxesIncluded };
  const trackings = sourceOrder.trackings.flatMap(({ returnId, trackingNumbers }) =>
    trackingNumbers.map((trackingNumber) => ({ returnId, trackingNumber })),
  );
  return {
    part: {
      orderName: order.name === "" ? null : order.name,
      lines: mapLines(sourceOrder, isForeign ? null : currencyCode),
      returns: mapReturns(returns, returnLines),
      refunds: mapRefunds(sourceOrder, money),
      trackings,
    },
    anomalies: {
      unverifiedReturnLines: returnLines
        .filter((line) => line.lineId === null)
        .reduce((sum, line) => sum + line.quantity, 0),
      undatedClosedReturns: returns.filter((row) => row.status === "CLOSED" && row.closedAt === null).length,
      foreignOrders: isForeign ? 1 : 0,
    },
  };
}

/** M1: units include the removed ones; gift cards and tips are marked. */
function mapLines(sourceOrder: ShopifyOrder, currencyCode: string | null): DocumentLine[] {
  const { order, lines } = sourceOrder;
  const removedUnits = removedUnitsByLine(sourceOrder);
  const tips = new Set(sourceOrder.tipLineIds);
  return lines.map((line) => ({
    lineId: line.id,
    orderedAt: order.processedAt,
    productId: line.productId,
    variantId: line.variantId,
    sku: line.sku,
    title: line.title === "" ? null : line.title,
    vendor: line.vendor,
    units: line.quantity,
    removedUnits: removedUnits.get(line.id) ?? 0,
    unitPriceMinor: currencyCode === null ? null : minorOf(line.unitPrice, currencyCode),
    test: order.test,
    canceledAt: order.cancelledAt,
    giftCard: line.isGiftCard || tips.has(line.id),
  }));
}

/** Units that order edits took off, by the sales ledger. */
function removedUnitsByLine({ agreements, sales }: ShopifyOrder): Map<string, number> {
  const edits = new Set(agreements.filter((row) => row.refundId === null).map((row) => row.id));
  const units = new Map<string, number>();
  for (const { agreementId, lineId, quantity } of sales) {
    if (!edits.has(agreementId) || quantity === null || quantity >= 0) continue;
    units.set(lineId, (units.get(lineId) ?? 0) - quantity);
  }
  return units;
}

/** One row for each line of a return: the platform may ask for one line several times, for different reasons. */
function mapReturns(
  returns: readonly ReturnRecord[],
  returnLines: readonly ReturnLineRecord[],
): DocumentReturn[] {
  const byReturn = Map.groupBy(returnLines, (line) => line.returnId);
  return returns.flatMap((request) => {
    const known = (byReturn.get(request.id) ?? []).filter((line) => line.lineId !== null);
    const byLine = Map.groupBy(known, (line) => line.lineId as string);
    return [...byLine].map(([lineId, rows]) => ({
      returnId: request.id,
      lineId,
      status: request.status,
      units: rows.reduce((sum, row) => sum + row.quantity, 0),
      processedUnits: processedUnitsOf(request, rows),
      requestedAt: request.createdAt,
      closedAt: request.closedAt,
      reason: reasonOfMost(rows),
    }));
  });
}

/** M2: the platform counts processed units from 0, so before the close they mean nothing: null. */
function processedUnitsOf({ status }: ReturnRecord, rows: readonly ReturnLineRecord[]): number | null {
  if (status !== "CLOSED" || rows.every((row) => row.processedQuantity === null)) return null;
  return rows.reduce((sum, row) => sum + (row.processedQuantity ?? 0), 0);
}

/** M8: the reason of the row with the most units, ties to the smaller id. */
function reasonOfMost(rows: readonly ReturnLineRecord[]): string | null {
  const [most] = rows.toSorted(
    (left, right) => right.quantity - left.quantity || compareGids(left.id, right.id),
  );
  return most?.reason ?? null;
}
