import type { DocumentRefund, DocumentReturn, RestockType } from "../../../../metrics/order.ts";
import { minorOf, splitMinor } from "../../shared/money.ts";
import { compareGids } from "../../shared/text.ts";
import { keptKey, partOf, type Ledger, type LineLedger } from "./ledger.ts";
import type {
  FulfillmentRecord,
  LineRecord,
  RefundLineRecord,
  RefundRecord,
  ShopifyOrder,
} from "./records.ts";

/** null: the order's money is in another currency than the shop's, and so none is given. */
type OrderMoney = { currencyCode: string; taxesIncluded: boolean } | null;

type RefundsContext = {
  ledger: Ledger | null;
  /** Values kept by exchanges, by return and line. */
  kept: ReadonlyMap<string, number>;
  money: OrderMoney;
  /** The order's returns as they are mapped. */
  returns: readonly DocumentReturn[];
};

type MappedRefunds = {
  refunds: DocumentRefund[];
  /** Units of refund lines that no entry of the ledger is about, neither of the refund nor of its return nor an edit. */
  unbookedUnits: number;
};

/** Units and money of a refund's line with one restock type. */
type Part = { restockType: RestockType; units: number; minor: number };

/**
 * One row for each refund, line and restock type. The document's key is refund and line: of several restock types the first keeps
 * the refund's id, and the others get separate ones, so that nothing is lost.
 */
export function mapRefunds(sourceOrder: ShopifyOrder, context: RefundsContext): MappedRefunds {
  const refunds = sourceOrder.refunds.toSorted(
    (left, right) =>
      Date.parse(left.createdAt) - Date.parse(right.createdAt) || compareGids(left.id, right.id),
  );
  const lineById = new Map(sourceOrder.lines.map((line) => [line.id, line]));
  const rows: DocumentRefund[] = [];
  let unbookedUnits = 0;
  const lineIds = refunds.flatMap((refund) => [
    ...refund.lines.map(({ lineId }) => lineId),
    ...linesBooked(context.ledger, refund.id),
  ]);
  for (const lineId of new Set(lineIds)) {
    const line = lineById.get(lineId);
    const ledger = context.ledger?.lines.get(lineId);
    let parts: Part[][];
    if (ledger === undefined) {
      parts = statedParts(lineId, refunds, line, context.money);
    } else {
      parts = ledgerParts(lineId, refunds, context);
      const uncounted =
        sum(refunds.map((refund) => statedUnits(refund, lineId))) - sum(parts.flat().map(unitsOf));
      unbookedUnits += Math.max(0, uncounted - ledger.removedUnits);
      const returns = context.returns.filter((row) => row.lineId === lineId);
      if (line?.requiresShipping === true) {
        parts = cancelUnsent(parts, refunds, returns, (at) => ({
          soldUnits: soldBy(ledger, at),
          sentUnits: sentBy(sourceOrder.fulfillments, lineId, at),
        }));
      }
    }
    for (const [index, refund] of refunds.entries()) rows.push(...rowsOf(refund, lineId, parts[index] ?? []));
  }
  return { refunds: rows, unbookedUnits };
}

function linesBooked(ledger: Ledger | null, refundId: string): string[] {
  return [...(ledger?.lines ?? [])].flatMap(([lineId, { reversals }]) =>
    reversals.has(refundId) ? [lineId] : [],
  );
}

/**
 * Units that the ledger books under the refund itself, else under its return, as far as the refund names units. Restock types
 * come from the refund lines. Units removed by an order edit belong to no refund: their refund counts nothing.
 */
function ledgerParts(lineId: string, refunds: readonly RefundRecord[], context: RefundsContext): Part[][] {
  const reversals = context.ledger?.lines.get(lineId)?.reversals;
  const usedUnits = new Map<string, number>();
  const byReturn = Map.groupBy(refunds, ({ returnId }) => returnId);
  return refunds.map((refund) => {
    const stated = statedUnits(refund, lineId);
    const own = reversals?.get(refund.id);
    let units = own === undefined ? 0 : bookedUnits(own, lineId, [refund]);
    let minor = own?.minor ?? 0;
    const ofReturn = refund.returnId === null ? undefined : reversals?.get(refund.returnId);
    if (ofReturn !== undefined && refund.returnId !== null) {
      const used = usedUnits.get(refund.returnId) ?? 0;
      const booked = bookedUnits(ofReturn, lineId, byReturn.get(refund.returnId) ?? []);
      const taken = Math.max(0, Math.min(stated - units, booked - used));
      const paidMinor = ofReturn.minor - (context.kept.get(keptKey(refund.returnId, lineId)) ?? 0);
      minor += partOf(paidMinor, used + taken, booked) - partOf(paidMinor, used, booked);
      units += taken;
      usedUnits.set(refund.returnId, used + taken);
    }
    return split(statedGroups(refund, lineId, context.money), units, minor);
  });
}

/** Units that the ledger takes back under a refund or a return, or, where it does not say how many, those that its refunds state. */
function bookedUnits(
  { units, isUncounted }: { units: number; isUncounted: boolean },
  lineId: string,
  refunds: readonly RefundRecord[],
): number {
  return isUncounted ? Math.max(units, sum(refunds.map((refund) => statedUnits(refund, lineId)))) : units;
}

/** Without a ledger: what refund lines say, up to the units that the line has lost. */
function statedParts(
  lineId: string,
  refunds: readonly RefundRecord[],
  line: LineRecord | undefined,
  money: OrderMoney,
): Part[][] {
  let leftUnits = line === undefined ? Infinity : line.quantity - line.currentQuantity;
  return refunds.map((refund) => {
    const groups = statedGroups(refund, lineId, money);
    const stated = sum(groups.map(unitsOf));
    const units = Math.max(0, Math.min(stated, leftUnits));
    leftUnits -= units;
    const minor = sum(groups.map((group) => group.minor));
    return split(groups, units, stated === 0 ? minor : partOf(minor, units, stated));
  });
}

/** The refund's own lines by restock type; money without tax. */
function statedGroups(refund: RefundRecord, lineId: string, money: OrderMoney): Part[] {
  const lines = refund.lines.filter((line) => line.lineId === lineId).toSorted(compareRefundLines);
  const byRestock = Map.groupBy(lines, (line) => line.restockType);
  return [...byRestock].map(([restockType, group]) => ({
    restockType,
    units: sum(group.map((line) => line.quantity)),
    minor: sum(group.map((line) => subtotalOf(line, money))),
  }));
}

function subtotalOf({ subtotal, tax }: RefundLineRecord, money: OrderMoney): number {
  if (money === null) return 0;
  const { currencyCode, taxesIncluded } = money;
  return minorOf(subtotal, currencyCode) - (taxesIncluded ? minorOf(tax, currencyCode) : 0);
}

/** Units and money over the restock types that a refund names; units beyond those it states are of the last. */
function split(groups: readonly Part[], units: number, minor: number): Part[] {
  const all = groups.length === 0 ? [{ restockType: "NO_RESTOCK" as const, units, minor }] : groups;
  let leftUnits = units;
  const parts = all.map((group, index) => {
    const taken = index === all.length - 1 ? leftUnits : Math.min(group.units, leftUnits);
    leftUnits -= taken;
    return {
      ...group,
      units: taken,
      minor: group.units === 0 ? group.minor : (group.minor * taken) / group.units,
    };
  });
  const minors = splitMinor(
    minor,
    parts.map((part) => Math.max(0, part.minor)),
  );
  return parts.map((part, index) => ({ ...part, minor: minors[index] ?? 0 }));
}

/**
 * M1: units that had not shipped when they were refunded cannot come back. A refund without a return first takes units that had
 * shipped by then and are in no return; unshipped units that it takes are canceled.
 */
function cancelUnsent(
  parts: readonly Part[][],
  refunds: readonly RefundRecord[],
  returns: readonly DocumentReturn[],
  unitsBy: (at: string) => { soldUnits: number; sentUnits: number },
): Part[][] {
  const linkedUnits = new Map<string, number>();
  let unlinkedUnits = 0;
  let canceledUnits = 0;
  return parts.map((own, index) => {
    const { returnId, createdAt } = refunds[index] as RefundRecord;
    const canceled = own.filter((part) => part.restockType === "CANCEL");
    const others = own.filter((part) => part.restockType !== "CANCEL");
    canceledUnits += sum(canceled.map(unitsOf));
    if (returnId !== null && returns.some((row) => row.returnId === returnId)) {
      linkedUnits.set(returnId, (linkedUnits.get(returnId) ?? 0) + sum(others.map(unitsOf)));
      return own;
    }
    const { soldUnits, sentUnits } = unitsBy(createdAt);
    const backUnits = returns.map((row) =>
      Math.max(returningUnitsBy(row, createdAt), linkedUnits.get(row.returnId) ?? 0),
    );
    let outUnits = Math.max(0, sentUnits - sum(backUnits) - unlinkedUnits);
    const kept: Part[] = [];
    for (const part of others) {
      const unsentUnits = Math.max(0, soldUnits - sentUnits - canceledUnits);
      const units = part.units - Math.min(unsentUnits, Math.max(0, part.units - outUnits));
      const minor = part.units === 0 ? part.minor : partOf(part.minor, units, part.units);
      kept.push({ ...part, units, minor });
      canceled.push({ restockType: "CANCEL", units: part.units - units, minor: part.minor - minor });
      outUnits = Math.max(0, outUnits - units);
      unlinkedUnits += units;
      canceledUnits += part.units - units;
    }
    const minor = sum(canceled.map((part) => part.minor));
    return [...kept, { restockType: "CANCEL", units: sum(canceled.map(unitsOf)), minor }];
  });
}

/** Units returned or in transit: those of an open return can be refunded only by that return, all of them until it is closed. */
function returningUnitsBy(
  { status, requestedAt, closedAt, processedUnits, units }: DocumentReturn,
  at: string,
): number {
  if ((status !== "OPEN" && status !== "CLOSED") || (requestedAt ?? at) > at) return 0;
  return (closedAt ?? at) > at ? units : (processedUnits ?? units);
}

function soldBy({ placedUnits, changes }: LineLedger, time: string): number {
  return placedUnits + sum(changes.filter(({ changedAt }) => changedAt <= time).map(unitsOf));
}

function sentBy(fulfillments: readonly FulfillmentRecord[], lineId: string, time: string): number {
  const sent = fulfillments.filter(({ at, until }) => at <= time && (until === null || time < until));
  return sum(sent.flatMap(({ lines }) => lines.filter((line) => line.lineId === lineId).map(unitsOf)));
}

function rowsOf(refund: RefundRecord, lineId: string, parts: readonly Part[]): DocumentRefund[] {
  return parts
    .filter(({ units, minor }) => units > 0 || minor !== 0)
    .map(({ restockType, units, minor }, index) => ({
      refundId: index === 0 ? refund.id : `${refund.id}#${restockType}`,
      lineId,
      refundedAt: refund.refundedAt,
      units,
      subtotalMinor: minor,
      restockType,
      returnId: refund.returnId,
    }));
}

function statedUnits(refund: RefundRecord, lineId: string): number {
  return sum(refund.lines.filter((line) => line.lineId === lineId).map((line) => line.quantity));
}

function unitsOf({ units }: { units: number }): number {
  return units;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function compareRefundLines(left: RefundLineRecord, right: RefundLineRecord): number {
  return compareGids(left.id ?? "", right.id ?? "");
}
