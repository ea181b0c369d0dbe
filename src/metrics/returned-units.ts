import { compareCodePoints } from "./code-point.ts";
import type { DocumentRefund, DocumentReturn } from "./order.ts";

/**
 * The keys of units without a stated reason (M8): REFUND_ONLY where only a refund is known, UNSPECIFIED where
 * their return gives none. Stated reasons are trimmed, so none begins with a blank: a store whose own reason reads
 * "refund_only" is distinguishable. The keys are stored as they are and become words when a report is presented.
 */
export const REFUND_ONLY = " refund_only";
export const UNSPECIFIED = " unspecified";

/** Units of one line that became returned at the same time. */
export interface ClassifiedUnits {
  instantMs: number;
  /** Their classification's source: a return id, or the id of a refund linked to no return. */
  sourceId: string;
  linked: boolean;
  reason: string;
  /** Units claimed by the source. */
  claimedUnits: number;
  /** Units of them that the line had left (0 to all). */
  returnedUnits: number;
}

type Claim = Omit<ClassifiedUnits, "returnedUnits">;

/**
 * M2: the returned units of one line, earliest first, capped at its sold units; M8: each with its reason.
 * `returns` and `refunds` are that line's, each known once, refunds of restock type CANCEL left out.
 * Ties go to linked units, then by source id, so that the order of the rows does not matter.
 */
export function classifyUnits(
  soldUnits: number,
  returns: readonly DocumentReturn[],
  refunds: readonly DocumentRefund[],
): ClassifiedUnits[] {
  const returnById = new Map(returns.map((request) => [request.returnId, request]));
  const refundsByReturn = Map.groupBy(refunds, (refund) => refund.returnId);
  const claims = [
    ...returns.flatMap((request) => claimsOfReturn(request, refundsByReturn.get(request.returnId) ?? [])),
    ...refunds.filter((refund) => linkedReturn(refund, returnById) === null).map(claimOfUnlinkedRefund),
  ];
  let leftUnits = soldUnits;
  return claims.toSorted(compareClaims).map((claim) => {
    const returnedUnits = Math.min(claim.claimedUnits, leftUnits);
    leftUnits -= returnedUnits;
    return { ...claim, returnedUnits };
  });
}

/** The return that a refund is linked to; null when it names no known return of its line. */
export function linkedReturn(
  refund: DocumentRefund,
  returnById: ReadonlyMap<string, DocumentReturn>,
): DocumentReturn | null {
  return refund.returnId === null ? null : (returnById.get(refund.returnId) ?? null);
}

/** M8: the reason all units of a return carry. */
export function reasonOf(request: DocumentReturn): string {
  return request.reason?.trim() || UNSPECIFIED;
}

/** M2: a return's units: processed ones if the platform reports them, else requested ones. */
export function unitsOf(request: DocumentReturn): number {
  return request.processedUnits ?? request.units;
}

/** M2: whether the return counts by itself, without a refund. */
export function isClosed(request: DocumentReturn): request is DocumentReturn & { closedAt: string } {
  return request.status === "CLOSED" && request.closedAt !== null;
}

/** M2: by any time the units of a return are the larger of those closed and those refunded until then. */
function claimsOfReturn(request: DocumentReturn, refunds: readonly DocumentRefund[]): Claim[] {
  const changes = refunds.map((refund) => ({
    instantMs: Date.parse(refund.refundedAt),
    closedUnits: 0,
    refundedUnits: refund.units,
  }));
  if (isClosed(request)) {
    const instantMs = Date.parse(request.closedAt);
    changes.push({ instantMs, closedUnits: unitsOf(request), refundedUnits: 0 });
  }
  changes.sort((left, right) => left.instantMs - right.instantMs);

  const claims: Claim[] = [];
  let closedUnits = 0;
  let refundedUnits = 0;
  let classifiedUnits = 0;
  for (const change of changes) {
    closedUnits += change.closedUnits;
    refundedUnits += change.refundedUnits;
    const claimedUnits = Math.max(closedUnits, refundedUnits) - classifiedUnits;
    classifiedUnits += claimedUnits;
    claims.push({
      instantMs: change.instantMs,
      sourceId: request.returnId,
      linked: true,
      reason: reasonOf(request),
      claimedUnits,
    });
  }
  return claims;
}

function claimOfUnlinkedRefund(refund: DocumentRefund): Claim {
  return {
    instantMs: Date.parse(refund.refundedAt),
    sourceId: refund.refundId,
    linked: false,
    reason: REFUND_ONLY,
    claimedUnits: refund.units,
  };
}

function compareClaims(left: Claim, right: Claim): number {
  return (
    left.instantMs - right.instantMs ||
    Number(right.linked) - Number(left.linked) ||
    compareCodePoints(left.sourceId, right.sourceId)
  );
}
