import { compareCodePoints } from "./code-point.ts";
import { dayOfInstant, monthOfDay } from "../lib/month.ts";
import type { DocumentLine, DocumentRefund, DocumentReturn, OrderDocument, ReturnStatus } from "./order.ts";
import { classifyUnits, isClosed, linkedReturn, reasonOf, REFUND_ONLY, unitsOf } from "./returned-units.ts";
import type { ClassifiedUnits } from "./returned-units.ts";

export interface OrderFacts {
  lines: LineFact[];
  events: EventFact[];
  requests: RequestFact[];
  warnings: ProjectionWarning[];
}

/** One for every line of the order, also for those that sell nothing. */
export interface LineFact {
  lineId: string;
  orderedOnDay: number;
  cohortMonth: number;
  soldUnits: number;
  productId: string | null;
  variantId: string | null;
  sku: string | null;
  title: string | null;
  vendor: string | null;
}

/** What happened to a line on a day; one row for each lineId, lagDays, occurredOnDay and reason. */
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
}

/** A return request for a line that sells, in its present state. */
export interface RequestFact {
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
 * Decides what counts of one order: M1 sold, M2 returned, M3 lag, M8 reasons, M9 refunded money. The result
 * does not depend on the order of the document's rows; of rows with the same key the last one counts.
 */
export function projectOrder(document: OrderDocument): OrderFacts {
  const lines = lastByKey(document.lines, (line) => line.lineId);
  const returns = lastByKey(document.returns, (row) => `${row.lineId}\u0000${row.returnId}`);
  const refunds = lastByKey(document.refunds, (row) => `${row.lineId}\u0000${row.refundId}`);
  const returnsByLine = Map.groupBy(returns, (row) => row.lineId);
  const refundsByLine = Map.groupBy(refunds, (row) => row.lineId);

  const facts: OrderFacts = { lines: [], events: [], requests: [], warnings: [] };
  for (const line of lines) {
    projectLine(line, returnsByLine.get(line.lineId) ?? [], refundsByLine.get(line.lineId) ?? [], facts);
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

function projectLine(
  line: DocumentLine,
  returns: readonly DocumentReturn[],
  allRefunds: readonly DocumentRefund[],
  facts: OrderFacts,
): void {
  const orderedOnDay = dayOfText(line.orderedAt);
  const soldUnits = soldUnitsOf(line, allRefunds);
  facts.lines.push({
    lineId: line.lineId,
    orderedOnDay,
    cohortMonth: monthOfDay(orderedOnDay),
    soldUnits,
    productId: line.productId,
    variantId: line.variantId,
    sku: line.sku,
    title: line.title,
    vendor: line.vendor,
  });
  if (soldUnits === 0) return;

  const refunds = allRefunds.filter((refund) => refund.restockType !== "CANCEL");
  const claims = classifyUnits(soldUnits, returns, refunds);
  facts.events.push(...eventsOfLine(line.lineId, orderedOnDay, claims, returns, refunds));
  facts.requests.push(...returns.map(requestFact));
  facts.warnings.push(
    ...exceedingClaims(line.lineId, claims),
    ...negativeLags(line.lineId, orderedOnDay, returns, refunds),
  );
}

function sells(line: DocumentLine): boolean {
  return !line.test && line.canceledAt === null && !line.giftCard;
}

/** M1: ordered units less those removed before fulfilment, by edits and by refunds of restock type CANCEL. */
function soldUnitsOf(line: DocumentLine, refunds: readonly DocumentRefund[]): number {
  if (!sells(line)) return 0;
  const canceledUnits = refunds
    .filter((refund) => refund.restockType === "CANCEL")
    .reduce((sum, refund) => sum + refund.units, 0);
  return Math.max(0, line.units - line.removedUnits - canceledUnits);
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

  for (const claim of claims) {
    if (claim.returnedUnits === 0) continue;
    eventOn(dayOfInstant(claim.instantMs), claim.reason).returnedUnits += claim.returnedUnits;
  }
  const returnById = new Map(returns.map((request) => [request.returnId, request]));
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
  }
  return [...events.values()].filter(holdsSomething).toSorted(compareEvents);
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
  };
}

function isRestocked(refund: DocumentRefund): boolean {
  return refund.restockType === "RETURN" || refund.restockType === "LEGACY_RESTOCK";
}

function holdsSomething(event: EventFact): boolean {
  return event.returnedUnits !== 0 || event.refundedUnits !== 0 || event.refundMinor !== 0;
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
function lastByKey<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Row[] {
  const byKey = new Map(rows.map((row) => [keyOf(row), row]));
  return [...byKey].toSorted(([left], [right]) => compareCodePoints(left, right)).map(([, row]) => row);
}
