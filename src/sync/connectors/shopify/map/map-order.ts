import type {
  DocumentAmountRefund,
  DocumentLine,
  DocumentRefund,
  DocumentReturn,
} from "../../../../metrics/order.ts";
import type { OrderRecordRow, ProductRecordRow } from "../../../../store/queries/sync-record.ts";
import type { DocumentPart } from "../../../document-merge.ts";
import { minorOf } from "../../shared/money.ts";
import type { ProductRecord, SourceProduct, VariantRecord } from "../../shared/map-product.ts";
import { compareGids } from "../../shared/text.ts";
import { exchangesOf, keptByExchanges, keptKey, NO_ODDITIES, readLedger } from "./ledger.ts";
import type { Ledger } from "./ledger.ts";
import { mapRefunds } from "./map-refunds.ts";
import type {
  AgreementRecord,
  FulfillmentRecord,
  LineRecord,
  OrderRecord,
  RefundRecord,
  ReturnLineRecord,
  ReturnRecord,
  SaleRecord,
  ShopifyOrder,
  TrackingRecord,
} from "./records.ts";

type MappedOrder = { part: DocumentPart; anomalies: OrderAnomalies };

/** Parts of an order that cannot be counted or differ from the documentation, for a run's notes. */
export type OrderAnomalies = typeof NO_ODDITIES & {
  /** Returned units whose line the platform does not know. */
  unverifiedReturnLines: number;
  /** Returns that are closed without a time. */
  undatedClosedReturns: number;
  /** 1 when the order was placed in another currency than the shop's: its money is left out. */
  foreignOrders: number;
  /** 1 when lines of the order are in no sales ledger. */
  ordersWithoutLedger: number;
  unbookedRefundUnits: number;
  /** Lines whose ledger takes back a different number of units than the platform reports as gone: "#1001 Dress". */
  unbalancedLines: string[];
};

export const NO_ANOMALIES: OrderAnomalies = {
  ...NO_ODDITIES,
  unverifiedReturnLines: 0,
  undatedClosedReturns: 0,
  foreignOrders: 0,
  ordersWithoutLedger: 0,
  unbookedRefundUnits: 0,
  unbalancedLines: [],
};

export function addAnomalies(sum: OrderAnomalies, { unbalancedLines, ...found }: OrderAnomalies): void {
  sum.unbalancedLines.push(...unbalancedLines);
  for (const [name, count] of Object.entries(found)) sum[name as keyof typeof found] += count;
}

/** States of an order's payment in which it is not paid in full. */
const UNPAID: ReadonlySet<string | null> = new Set([
  "AUTHORIZED",
  "EXPIRED",
  "PARTIALLY_PAID",
  "PENDING",
  "VOIDED",
]);

/** The canonical document of an order; `currencyCode` is the shop's. */
export function mapOrder(sourceOrder: ShopifyOrder, currencyCode: string): MappedOrder {
  const { order, returnLines, refunds } = sourceOrder;
  const isForeign = order.currencyCode !== currencyCode;
  const money = isForeign ? null : { currencyCode, taxesIncluded: order.taxesIncluded };
  const { ledger, oddities } = readLedger(sourceOrder, isForeign ? null : currencyCode);
  const lines = mapLines(sourceOrder, ledger, isForeign ? null : currencyCode);
  const returned = mapReturns(sourceOrder.returns, returnLines);
  const refundsWith = (kept: ReadonlyMap<string, number>) =>
    mapRefunds(sourceOrder, { ledger, kept, money, returns: returned });
  // The units of refunds do not depend on what exchanges keep, but exchanges on which units were not sent.
  const unpaid = refundsWith(new Map());
  const booked: Ledger["lines"] = ledger?.lines ?? new Map();
  const exchanges = exchangesOf(booked, canceledUnits(unpaid.refunds));
  const kept = keptByExchanges(booked, exchanges);
  const mapped = kept.size === 0 ? unpaid : refundsWith(kept);
  const returns = returned.map((row) => ({
    ...row,
    exchangedUnits: exchanges.get(row.returnId)?.units ?? 0,
    keptMinor: kept.get(keptKey(row.returnId, row.lineId)) ?? 0,
  }));
  const selling = sourceOrder.lines.filter((_, index) => lines[index]?.giftCard === false);
  const trackings = sourceOrder.trackings.flatMap(({ returnId, trackingNumbers }) =>
    trackingNumbers.map((trackingNumber) => ({ returnId, trackingNumber })),
  );
  return {
    part: {
      orderName: order.name === "" ? null : order.name,
      lines,
      returns,
      refunds: mapped.refunds,
      trackings,
      amountRefunds: ledger === null ? [] : refunds.flatMap((refund) => amountRefund(refund, ledger)),
      tags: order.tags,
      channel: order.channel,
      unpaidStatus: UNPAID.has(order.financialStatus) ? order.financialStatus : null,
      free: order.isFree,
    },
    anomalies: {
      ...oddities,
      unverifiedReturnLines: returnLines
        .filter((line) => line.lineId === null)
        .reduce((sum, line) => sum + line.quantity, 0),
      undatedClosedReturns: sourceOrder.returns.filter(
        (row) => row.status === "CLOSED" && row.closedAt === null,
      ).length,
      foreignOrders: isForeign ? 1 : 0,
      ordersWithoutLedger: selling.some((line) => !ledger?.lines.has(line.id)) ? 1 : 0,
      unbookedRefundUnits: mapped.unbookedUnits,
      unbalancedLines: selling
        .filter((line) => isUnbalanced(line, ledger))
        .map((line) => `${order.name} ${line.title}`.trim()),
    },
  };
}

/** By line. */
function canceledUnits(refunds: readonly DocumentRefund[]): Map<string, number> {
  const canceled = new Map<string, number>();
  for (const { lineId, restockType, units } of refunds) {
    if (restockType === "CANCEL") canceled.set(lineId, (canceled.get(lineId) ?? 0) + units);
  }
  return canceled;
}

/** By the platform's definitions `quantity − currentQuantity` is the number of removed and returned units. */
function isUnbalanced(line: LineRecord, ledger: Ledger | null): boolean {
  const booked = ledger?.lines.get(line.id);
  if (booked === undefined) return false;
  const takenBack = [...booked.reversals.values()].reduce((sum, { units }) => sum + units, 0);
  return line.quantity - line.currentQuantity !== booked.removedUnits + takenBack;
}

/** A refund that names no line and takes back none. */
function amountRefund({ id, refundedAt, lines }: RefundRecord, ledger: Ledger): DocumentAmountRefund[] {
  const amountMinor = ledger.adjustments.get(id) ?? 0;
  const isBooked = [...ledger.lines.values()].some(({ reversals }) => reversals.has(id));
  return amountMinor === 0 || isBooked || lines.length > 0 ? [] : [{ refundId: id, refundedAt, amountMinor }];
}

/** M1: units and their days by the ledger, else all that the line ever had; gift cards and tips are marked. */
function mapLines(
  sourceOrder: ShopifyOrder,
  ledger: Ledger | null,
  currencyCode: string | null,
): DocumentLine[] {
  const { order, lines } = sourceOrder;
  const tips = tipsOf(sourceOrder, ledger);
  return lines.map((line) => {
    const ofLedger = ledger?.lines.get(line.id);
    const { placedUnits, changes = [] } = ofLedger ?? { placedUnits: line.quantity };
    const reversals = ofLedger?.booked ?? [];
    return {
      lineId: line.id,
      orderedAt: order.processedAt,
      productId: line.productId,
      variantId: line.variantId,
      sku: line.sku,
      title: line.title === "" ? null : line.title,
      vendor: line.vendor,
      units: placedUnits,
      removedUnits: 0,
      unitPriceMinor: currencyCode === null ? null : minorOf(line.unitPrice, currencyCode),
      soldMinor: currencyCode === null ? null : (ofLedger?.soldMinor ?? null),
      test: order.test,
      canceledAt: order.cancelledAt,
      giftCard: line.isGiftCard || tips.has(line.id),
      ...(changes.length === 0 ? {} : { changes }),
      ...(reversals.length === 0 ? {} : { reversals }),
    };
  });
}

/**
 * M1: the lines that the ledger marks as tips. If it marks none, the lines outside it whose value equals the order's tips:
 * nothing else distinguishes a tip from a sale without a product. Records of an earlier version do not contain the tips.
 */
function tipsOf({ order, lines, tipLineIds }: ShopifyOrder, ledger: Ledger | null): ReadonlySet<string> {
  if (tipLineIds.length > 0 || !(Number(order.tipsAmount) > 0)) return new Set(tipLineIds);
  const minor = (amount: string): number => minorOf(amount, order.currencyCode);
  const possible = lines.filter(
    ({ id, productId, sku, requiresShipping, isGiftCard }) =>
      productId === null && sku === null && !requiresShipping && !isGiftCard && !ledger?.lines.has(id),
  );
  const areTips = (some: readonly LineRecord[]): boolean =>
    some.reduce((sum, { quantity, unitPrice }) => sum + quantity * minor(unitPrice), 0) ===
    minor(order.tipsAmount);
  const tips = areTips(possible) ? possible : possible.filter((line) => areTips([line])).slice(-1);
  return new Set(tips.map(({ id }) => id));
}

/** One row for each line of a return: the platform may list a line several times, with different reasons. */
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
      reason: reasonOfMost(request, rows),
    }));
  });
}

/** M2: the platform counts processed units from 0, so before the close they mean nothing: null. */
function processedUnitsOf({ status }: ReturnRecord, rows: readonly ReturnLineRecord[]): number | null {
  if (status !== "CLOSED" || rows.every((row) => row.processedQuantity === null)) return null;
  return rows.reduce((sum, row) => sum + (row.processedQuantity ?? 0), 0);
}

/**
 * M8: the reason with the most units, ties to the one of the smallest id: units of several shipments are several rows. Once any
 * are processed, only those count: the others did not come back.
 */
function reasonOfMost(request: ReturnRecord, rows: readonly ReturnLineRecord[]): string | null {
  const byReason = Map.groupBy(
    rows.toSorted((left, right) => compareGids(left.id, right.id)),
    ({ reason }) => reason,
  );
  const areProcessed = (processedUnitsOf(request, rows) ?? 0) > 0;
  const unitsOf = (same: readonly ReturnLineRecord[]): number =>
    same.reduce((sum, row) => sum + (areProcessed ? (row.processedQuantity ?? 0) : row.quantity), 0);
  const [most] = [...byReason].toSorted(([, left], [, right]) => unitsOf(right) - unitsOf(left));
  return most?.[0] ?? null;
}

/**
 * The order of its fetched records, of which the last with an id counts; null = the platform no longer has it, undefined = it was
 * not fetched itself.
 */
export function assembleOrder(rows: readonly OrderRecordRow[]): ShopifyOrder | null | undefined {
  const whole = rows.findLast((row) => row.part === "whole_order");
  if (whole !== undefined) return JSON.parse(whole.record) as ShopifyOrder | null;
  const [order] = lastById<OrderRecord>(rows, "order");
  if (order === undefined) return undefined;
  return {
    order,
    lines: lastById<LineRecord>(rows, "line"),
    returns: lastById<ReturnRecord>(rows, "return"),
    returnLines: lastById<ReturnLineRecord>(rows, "return_line"),
    refunds: lastById<RefundRecord>(rows, "refund"),
    fulfillments: lastById<FulfillmentRecord>(rows, "fulfillment"),
    agreements: lastById<AgreementRecord>(rows, "agreement"),
    sales: lastById<SaleRecord>(rows, "sale"),
    tipLineIds: lastById<{ id: string; lineId: string }>(rows, "tip").map((tip) => tip.lineId),
    trackings: recordsOf<TrackingRecord>(rows, "tracking"),
  };
}

export function assembleProduct(rows: readonly ProductRecordRow[]): SourceProduct[] {
  const whole = rows.findLast((row) => row.part === "whole_product");
  if (whole !== undefined) return [JSON.parse(whole.record) as SourceProduct];
  const [product] = lastById<ProductRecord>(rows, "product");
  return product === undefined ? [] : [{ product, variants: lastById<VariantRecord>(rows, "variant") }];
}

function lastById<Kept extends { id: string }>(rows: readonly Row[], part: string): Kept[] {
  const records = recordsOf<Kept>(rows, part);
  return records.length < 2 ? records : [...new Map(records.map((record) => [record.id, record])).values()];
}

type Row = { part: string; record: string };

/** They were checked when they were fetched. */
function recordsOf<Kept>(rows: readonly Row[], part: string): Kept[] {
  return rows.filter((row) => row.part === part).map((row) => JSON.parse(row.record) as Kept);
}
