import { compareCodePoints } from "./code-point.ts";
import { dayOfInstant, dayToText, monthOfDay } from "../lib/month.ts";
import { bookingDifferences, type BookingDifference } from "./bookings.ts";
import { allocateLabel } from "./label.ts";
import { leftOutBy, NO_RULES, refundByRules, type LeftOut, type OrderRules } from "./order-rules.ts";
import type {
  DocumentAmountRefund,
  DocumentLine,
  DocumentRefund,
  DocumentReturn,
  OrderDocument,
  ReturnStatus,
} from "./order.ts";
import { classifyUnits, isClosed, linkedReturn, reasonOf, REFUND_ONLY, unitsOf } from "./returned-units.ts";
import type { ClassifiedUnits } from "./returned-units.ts";
import { roundedQuotient } from "./rate.ts";

export interface OrderFacts {
  /** By which rule of the workspace the order sells nothing; null = by none. */
  leftOut: LeftOut | null;
  lines: LineFact[];
  events: EventFact[];
  requests: RequestFact[];
  /** Refunds of an amount without lines (M23); none where no line sells. */
  amountRefunds: readonly DocumentAmountRefund[];
  /** The source's differing bookings (M24); `lineId` is the document's. */
  differences: BookingDifference[];
  warnings: ProjectionWarning[];
}

/** One for every line of the order, also for those that sell nothing; M1: one more for each later day it sold units on. */
export interface LineFact {
  /** The document's; of a later day `<lineId>#<day>`. */
  lineId: string;
  orderedOnDay: number;
  cohortMonth: number;
  soldUnits: number;
  /** M20: null = unknown, or nothing sold. */
  soldMinor: number | null;
  productId: string | null;
  variantId: string | null;
  sku: string | null;
  title: string | null;
  vendor: string | null;
}

/** The events of a line on a day; one row for each lineId, lagDays, occurredOnDay and reason. */
export interface EventFact {
  lineId: string;
  lagDays: number;
  occurredOnDay: number;
  /** Of the returned units; null when the row holds none. */
  reason: string | null;
  returnedUnits: number;
  refundedUnits: number;
  restockedUnits: number;
  refundMinor: number;
  /** M23: the exchanged part of the returned units, and the part neither exchanged nor refunded. */
  exchangedUnits: number;
  otherUnits: number;
  /** M23: the part of the refunded money that belongs to exchanges, and the value that exchanges kept. */
  exchangeRefundMinor: number;
  keptMinor: number;
}

/** A return request for a line that sells, in its present state. */
interface RequestFact {
  returnId: string;
  lineId: string;
  status: ReturnStatus;
  /** Processed units if the platform reports them, else requested ones. */
  units: number;
}

export interface ProjectionWarning {
  /** It claims more units than its line has left; it is dated before its order; its line is not in the order. */
  kind: "refund_exceeds_line" | "return_exceeds_line" | "negative_lag" | "unknown_line";
  lineId: string;
  /** The return id or refund id it is about. */
  sourceId: string;
}

/**
 * Classifies one order: M1 sold, M2 returned, M3 lag, M8 reasons, M9 refunded money. The result does not depend on the order of
 * the document's rows; of rows with the same key the last one counts. `rules` are the workspace's.
 */
export function projectOrder(document: OrderDocument, rules: OrderRules = NO_RULES): OrderFacts {
  const lines = lastByKey(document.lines, (line) => line.lineId);
  const returns = lastByKey(document.returns, (row) => `${row.lineId}\u0000${row.returnId}`);
  const refunds = lastByKey(document.refunds, (row) => `${row.lineId}\u0000${row.refundId}`);
  const returnsByLine = Map.groupBy(returns, (row) => row.lineId);
  const returnKeys = new Set(returns.map((row) => `${row.lineId}\u0000${row.returnId}`));
  const counted = refunds.map((row) =>
    returnKeys.has(`${row.lineId}\u0000${row.returnId}`) ? row : refundByRules(row, rules),
  );
  const refundsByLine = Map.groupBy(counted, (row) => row.lineId);

  const leftOut = leftOutBy(document, rules);
  const isSelling = (line: DocumentLine): boolean => leftOut === null && sells(line);
  const facts: OrderFacts = {
    leftOut,
    lines: [],
    events: [],
    requests: [],
    amountRefunds: lines.some(isSelling) ? (document.amountRefunds ?? []) : [],
    differences: [],
    warnings: [],
  };
  const statedByLine = Map.groupBy(refunds, (row) => row.lineId);
  for (const line of lines) {
    const rows = {
      returns: returnsByLine.get(line.lineId) ?? [],
      refunds: refundsByLine.get(line.lineId) ?? [],
    };
    const earlier = facts.events.length;
    projectLine(line, rows, facts);
    const returned = isSelling(line) ? facts.events.slice(earlier) : null;
    facts.differences.push(...bookingDifferences(line, statedByLine.get(line.lineId) ?? [], returned));
  }
  const lineIds = new Set(lines.map((line) => line.lineId));
  for (const { lineId, sourceId } of [
    ...returns.map((row) => ({ lineId: row.lineId, sourceId: row.returnId })),
    ...refunds.map((row) => ({ lineId: row.lineId, sourceId: row.refundId })),
  ]) {
    if (!lineIds.has(lineId)) facts.warnings.push({ kind: "unknown_line", lineId, sourceId });
  }
  return facts;
}

function projectLine(line: DocumentLine, { returns, refunds: allRefunds }: LotPart, facts: OrderFacts): void {
  const lots = lotsOf(line, allRefunds, facts.leftOut === null && sells(line));
  const refunds = allRefunds.filter((refund) => refund.restockType !== "CANCEL");
  const parts = lots.length === 1 ? [{ returns, refunds }] : partsOfLots(lots, returns, refunds);
  const values = valuesOfLots(line, lots);
  for (const [index, lot] of lots.entries()) {
    projectLot(
      line,
      { ...lot, soldMinor: values?.get(String(index)) ?? null },
      parts[index] as LotPart,
      facts,
    );
  }
}

/** M1: the units of a line sold on one day, which count as a separate line. */
type Lot = { lineId: string; orderedOnDay: number; units: number };

/** The returns and refunds of a lot. */
type LotPart = { returns: readonly DocumentReturn[]; refunds: readonly DocumentRefund[] };

function projectLot(
  line: DocumentLine,
  lot: Lot & Pick<LineFact, "soldMinor">,
  { returns, refunds }: LotPart,
  facts: OrderFacts,
): void {
  const { lineId, orderedOnDay, units: soldUnits, soldMinor } = lot;
  const { productId, variantId, sku, title, vendor } = line;
  const cohortMonth = monthOfDay(orderedOnDay);
  facts.lines.push({
    lineId,
    orderedOnDay,
    cohortMonth,
    soldUnits,
    soldMinor,
    productId,
    variantId,
    sku,
    title,
    vendor,
  });
  if (soldUnits === 0 || returns.length + refunds.length === 0) return;

  const claims = classifyUnits(soldUnits, returns, refunds);
  facts.events.push(...eventsOfLine(lineId, orderedOnDay, claims, returns, refunds));
  facts.requests.push(...returns.map((request) => ({ ...requestFact(request), lineId })));
  facts.warnings.push(
    ...exceedingClaims(lineId, claims),
    ...negativeLags(lineId, orderedOnDay, returns, refunds),
  );
}

/**
 * M1: placed and added units by the day they were sold, first days first, less the units that edits and refunds of restock
 * type CANCEL removed: from those sold last among those sold by then. The first lot is there even if it is empty.
 */
function lotsOf(line: DocumentLine, refunds: readonly DocumentRefund[], doesSell: boolean): Lot[] {
  const { lineId, orderedAt, changes = [] } = line;
  const isPlain = changes.length === 0 && line.removedUnits === 0;
  if (isPlain && !refunds.some(({ restockType }) => restockType === "CANCEL"))
    return [{ lineId, orderedOnDay: dayOfText(orderedAt), units: doesSell ? line.units : 0 }];
  const moves = [
    { at: orderedAt, units: line.units },
    { at: orderedAt, units: -line.removedUnits },
    ...changes.map(({ changedAt, units }) => ({ at: changedAt, units })),
    ...refunds
      .filter(({ restockType }) => restockType === "CANCEL")
      .map(({ refundedAt, units }) => ({ at: refundedAt, units: -units })),
  ]
    .map(({ at, units }) => ({ instantMs: Date.parse(at), units }))
    .toSorted((left, right) => left.instantMs - right.instantMs);
  const sold = moves.filter(({ units }) => units > 0);
  for (const { instantMs, units } of moves.filter((move) => move.units < 0)) {
    let restUnits = -units;
    const soldByThen = sold.filter((move) => move.instantMs <= instantMs).toReversed();
    for (const move of [...soldByThen, ...sold.filter((later) => later.instantMs > instantMs)]) {
      const takenUnits = Math.min(move.units, restUnits);
      move.units -= takenUnits;
      restUnits -= takenUnits;
    }
  }
  // M14: a line that sold nothing is of its order's day.
  const kept = doesSell && sold.some(({ units }) => units > 0) ? sold : [];
  const unitsByDay = new Map<number, number>();
  for (const { instantMs, units } of kept) {
    const day = dayOfInstant(instantMs);
    unitsByDay.set(day, (unitsByDay.get(day) ?? 0) + units);
  }
  const [[firstDay, firstUnits] = [dayOfText(orderedAt), 0], ...later] = unitsByDay;
  return [
    { lineId, orderedOnDay: firstDay, units: firstUnits },
    ...later
      .filter(([, units]) => units > 0)
      .map(([day, units]) => ({ lineId: `${lineId}#${dayToText(day)}`, orderedOnDay: day, units })),
  ];
}

/** M20: the value of each lot, by index: the line's value in proportion to the lot's remaining units; null: unknown. */
function valuesOfLots(line: DocumentLine, lots: readonly Lot[]): ReadonlyMap<string, number> | null {
  const { units, removedUnits, changes = [] } = line;
  const valuedUnits = changes.reduce((sum, change) => sum + change.units, units - removedUnits);
  const soldMinor = soldMinorOf(line, valuedUnits);
  if (soldMinor === null) return null;
  const shares = lots.map((lot, index) => ({ key: String(index), units: lot.units }));
  const leftUnits = lots.reduce((sum, lot) => sum + lot.units, 0);
  if (leftUnits === 0) return new Map();
  if (lots.length === 1 && leftUnits === valuedUnits) return new Map([["0", soldMinor]]);
  const leftMinor = roundedQuotient(BigInt(soldMinor) * BigInt(leftUnits), BigInt(valuedUnits));
  return allocateLabel(Number(leftMinor), shares);
}

/** Documents of Shopify from before M20 have a price before discounts, which may include tax. */
function soldMinorOf({ soldMinor, unitPriceMinor, lineId }: DocumentLine, units: number): number | null {
  if (soldMinor !== undefined) return soldMinor;
  if (unitPriceMinor === null || lineId.startsWith("gid://shopify/")) return null;
  return unitPriceMinor * units;
}

/**
 * M1: a line's rows by its lots, with units and money split. Returned units (M2) are taken, in order of time, from the units sold
 * first; a return and its refunds concern the same units, and so take theirs in the same order.
 */
function partsOfLots(
  lots: readonly Lot[],
  returns: readonly DocumentReturn[],
  refunds: readonly DocumentRefund[],
): LotPart[] {
  const left = lots.map(({ units }) => units);
  const soldUnits = left.reduce((sum, units) => sum + units, 0);
  /** By the return or refund that classified them: the lots of the units that came back, in order of time. */
  const taken = new Map<string, LotUnits[]>();
  for (const { sourceId, linked, returnedUnits } of classifyUnits(soldUnits, returns, refunds)) {
    const pieces = taken.get(`${linked} ${sourceId}`) ?? [];
    taken.set(`${linked} ${sourceId}`, pieces);
    for (let units = returnedUnits; units > 0;) {
      const lot = left.findIndex((unitsLeft) => unitsLeft > 0);
      const piece = Math.min(units, left[lot] as number);
      pieces.push({ lot, units: piece });
      left[lot] = (left[lot] as number) - piece;
      units -= piece;
    }
  }
  const firstSold = Math.max(
    0,
    lots.findIndex(({ units }) => units > 0),
  );
  const spread = (key: string, skippedUnits: number, units: number): number[] =>
    unitsByLot(taken.get(key) ?? [], skippedUnits, units, { lots: lots.length, otherwise: firstSold });

  const parts = lots.map(() => ({ returns: [] as DocumentReturn[], refunds: [] as DocumentRefund[] }));
  const returnById = new Map(returns.map((request) => [request.returnId, request]));
  const paidUnits = new Map<string, number>();
  for (const refund of refunds.toSorted(byRefundTime)) {
    const request = linkedReturn(refund, returnById);
    const key = request === null ? `false ${refund.refundId}` : `true ${request.returnId}`;
    const paid = paidUnits.get(key) ?? 0;
    paidUnits.set(key, paid + refund.units);
    // Money without units goes where the next unit would.
    const shares = spread(key, paid, Math.max(1, refund.units)).map((units, lot) => ({
      key: String(lot),
      units,
    }));
    const money = allocateLabel(refund.subtotalMinor, shares);
    for (const [lot, { key: name, units }] of shares.entries()) {
      const row = {
        ...refund,
        units: Math.min(units, refund.units),
        subtotalMinor: money?.get(name) ?? 0,
      };
      if (units > 0) parts[lot]?.refunds.push(row);
    }
  }
  const paidReturns = parts.map((part) => new Set(part.refunds.map(({ returnId }) => returnId)));
  for (const request of returns) {
    const key = `true ${request.returnId}`;
    const units = unitsOf(request);
    const shares = spread(key, 0, units);
    // Without units, a return keeps the value with the unit that came back first.
    const keepers = units > 0 ? shares : spread(key, 0, 1);
    const kept = allocateLabel(
      request.keptMinor ?? 0,
      keepers.map((share, lot) => ({ key: String(lot), units: share })),
    );
    for (const [lot, share] of shares.entries()) {
      const part = parts[lot] as (typeof parts)[number];
      const isPaid = paidReturns[lot]?.has(request.returnId) === true;
      const processedUnits = request.processedUnits === null ? null : share;
      const keptMinor = kept?.get(String(lot)) ?? 0;
      if (share > 0 || isPaid || lot === firstSold)
        part.returns.push({ ...request, units: share, processedUnits, keptMinor });
    }
  }
  return parts;
}

type LotUnits = { lot: number; units: number };

/** The given number of units after the skipped ones, by lot; any surplus goes to the last lot. */
function unitsByLot(
  pieces: readonly LotUnits[],
  skippedUnits: number,
  units: number,
  { lots, otherwise }: { lots: number; otherwise: number },
): number[] {
  const counts = Array.from({ length: lots }, () => 0);
  let skip = skippedUnits;
  let rest = units;
  for (const piece of pieces) {
    const used = Math.min(rest, Math.max(0, piece.units - skip));
    skip = Math.max(0, skip - piece.units);
    rest -= used;
    counts[piece.lot] = (counts[piece.lot] ?? 0) + used;
  }
  const last = pieces.at(-1)?.lot ?? otherwise;
  counts[last] = (counts[last] ?? 0) + rest;
  return counts;
}

function byRefundTime(left: DocumentRefund, right: DocumentRefund): number {
  return (
    Date.parse(left.refundedAt) - Date.parse(right.refundedAt) ||
    compareCodePoints(left.refundId, right.refundId)
  );
}

function sells(line: DocumentLine): boolean {
  return !line.test && line.canceledAt === null && !line.giftCard;
}

function eventsOfLine(
  lineId: string,
  orderedOnDay: number,
  claims: readonly ClassifiedUnits[],
  returns: readonly DocumentReturn[],
  refunds: readonly DocumentRefund[],
): EventFact[] {
  const events = new Map<string, EventFact>();
  const keyOf = (day: number, reason: string | null): string => `${day} ${reason ?? ""}`;
  const eventOn = (day: number, reason: string | null): EventFact => {
    const event = events.get(keyOf(day, reason)) ?? emptyEvent(lineId, orderedOnDay, day, reason);
    events.set(keyOf(day, reason), event);
    return event;
  };

  const returnById = new Map(returns.map((request) => [request.returnId, request]));
  const outcomes = openOutcomes(returnById, refunds);
  for (const claim of claims) {
    if (claim.returnedUnits === 0) continue;
    const event = eventOn(dayOfInstant(claim.instantMs), claim.reason);
    event.returnedUnits += claim.returnedUnits;
    outcomes.put(event, claim);
  }
  const unlinkedUnits = new Map(
    claims.filter((claim) => !claim.linked).map((claim) => [claim.sourceId, claim.returnedUnits]),
  );
  for (const refund of refunds) {
    const request = linkedReturn(refund, returnById);
    const refundedUnits = request === null ? (unlinkedUnits.get(refund.refundId) ?? 0) : refund.units;
    const reason = request === null ? REFUND_ONLY : reasonOf(request);
    const day = dayOfText(refund.refundedAt);
    // Money joins the units returned on its day; without such units it has no reason to carry.
    const event = eventOn(day, events.has(keyOf(day, reason)) ? reason : null);
    event.refundedUnits += refundedUnits;
    event.restockedUnits += isRestocked(refund) ? refundedUnits : 0;
    event.refundMinor += refund.subtotalMinor;
    event.exchangeRefundMinor += isExchange(request) ? refund.subtotalMinor : 0;
  }
  return [...events.values()].filter(holdsSomething).toSorted(compareEvents);
}

/**
 * M23: units of an exchange are exchanged, and the first of them carries the kept value; of other returns the units that come
 * back first are refunded, as far as there are refunds.
 */
function openOutcomes(
  returnById: ReadonlyMap<string, DocumentReturn>,
  refunds: readonly DocumentRefund[],
): { put(event: EventFact, claim: ClassifiedUnits): void } {
  const paidUnits = new Map<string, number>();
  for (const { returnId, units } of refunds) {
    if (returnId !== null) paidUnits.set(returnId, (paidUnits.get(returnId) ?? 0) + units);
  }
  const keptBy = new Map([...returnById].map(([returnId, { keptMinor = 0 }]) => [returnId, keptMinor]));
  return {
    put: (event, { linked, sourceId, returnedUnits }) => {
      if (!linked) return;
      if (isExchange(returnById.get(sourceId) ?? null)) {
        event.exchangedUnits += returnedUnits;
        event.keptMinor += keptBy.get(sourceId) ?? 0;
        keptBy.delete(sourceId);
        return;
      }
      const paid = paidUnits.get(sourceId) ?? 0;
      event.otherUnits += Math.max(0, returnedUnits - paid);
      paidUnits.set(sourceId, Math.max(0, paid - returnedUnits));
    },
  };
}

function isExchange(request: DocumentReturn | null): boolean {
  return (request?.exchangedUnits ?? 0) > 0;
}

/** M3: a lag below 0 counts as 0; the day itself is kept. */
function emptyEvent(lineId: string, orderedOnDay: number, day: number, reason: string | null): EventFact {
  return {
    lineId,
    lagDays: Math.max(0, day - orderedOnDay),
    occurredOnDay: day,
    reason,
    returnedUnits: 0,
    refundedUnits: 0,
    restockedUnits: 0,
    refundMinor: 0,
    exchangedUnits: 0,
    otherUnits: 0,
    exchangeRefundMinor: 0,
    keptMinor: 0,
  };
}

function isRestocked(refund: DocumentRefund): boolean {
  return refund.restockType === "RETURN" || refund.restockType === "LEGACY_RESTOCK";
}

function holdsSomething(event: EventFact): boolean {
  return (
    event.returnedUnits !== 0 ||
    event.refundedUnits !== 0 ||
    event.refundMinor !== 0 ||
    event.exchangeRefundMinor !== 0
  );
}

function compareEvents(left: EventFact, right: EventFact): number {
  return left.occurredOnDay - right.occurredOnDay || compareCodePoints(left.reason ?? "", right.reason ?? "");
}

function requestFact(request: DocumentReturn): RequestFact {
  return {
    returnId: request.returnId,
    lineId: request.lineId,
    status: request.status,
    units: unitsOf(request),
  };
}

function exceedingClaims(lineId: string, claims: readonly ClassifiedUnits[]): ProjectionWarning[] {
  const exceeding = claims.filter((claim) => claim.returnedUnits < claim.claimedUnits);
  const refundIds = new Set(exceeding.filter((claim) => !claim.linked).map((claim) => claim.sourceId));
  const returnIds = new Set(exceeding.filter((claim) => claim.linked).map((claim) => claim.sourceId));
  return [
    ...warningsAbout("refund_exceeds_line", lineId, refundIds),
    ...warningsAbout("return_exceeds_line", lineId, returnIds),
  ];
}

function negativeLags(
  lineId: string,
  orderedOnDay: number,
  returns: readonly DocumentReturn[],
  refunds: readonly DocumentRefund[],
): ProjectionWarning[] {
  const isEarly = (text: string): boolean => dayOfText(text) < orderedOnDay;
  return [
    ...returns.filter((row) => isClosed(row) && isEarly(row.closedAt)).map((row) => row.returnId),
    ...refunds.filter((row) => isEarly(row.refundedAt)).map((row) => row.refundId),
  ].map((sourceId) => ({ kind: "negative_lag", lineId, sourceId }));
}

function warningsAbout(
  kind: ProjectionWarning["kind"],
  lineId: string,
  sourceIds: ReadonlySet<string>,
): ProjectionWarning[] {
  return [...sourceIds].toSorted(compareCodePoints).map((sourceId) => ({ kind, lineId, sourceId }));
}

function dayOfText(text: string): number {
  return dayOfInstant(Date.parse(text));
}

/** Rows of a key replace earlier ones of that key; sorted by key, whatever order the source gave. */
function lastByKey<Row>(rows: readonly Row[], keyOf: (row: Row) => string): readonly Row[] {
  const keys = rows.map(keyOf);
  // Stored documents are sorted already.
  if (keys.every((key, place) => place === 0 || compareCodePoints(keys[place - 1] ?? "", key) < 0))
    return rows;
  const byKey = new Map(rows.map((row) => [keyOf(row), row]));
  return [...byKey].toSorted(([left], [right]) => compareCodePoints(left, right)).map(([, row]) => row);
}
