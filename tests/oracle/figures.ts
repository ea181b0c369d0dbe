import type { LedgerLine, Reason } from "./ledger.ts";
import { amountOf, rateOf, shareOf } from "./numbers.ts";
import type { Question } from "./oracle.ts";

/** Figures of some lines inside a window; money in minor units. */
export type Figures = {
  sold: number;
  soldMinor: number;
  soldWithValue: number;
  returned: number;
  refundedUnits: number;
  refundMinor: number;
  labelMinor: number;
  restockedCostMinor: number;
  /** Whether any sold line has a known unit cost. */
  hasCost: boolean;
  returnedWithCost: number;
  lags: number[];
  reasons: Reason[];
  returnedNotRefunded: number;
  refundedNotReturned: number;
  returnedWithLabel: number;
};

/** M4, M7: adds up lines, counting what is inside the window (null = lifetime). */
export function figuresOf(lines: readonly LedgerLine[], windowDays: number | null): Figures {
  const sum = noFigures();
  const isInside = ({ lagDays }: { lagDays: number }): boolean =>
    windowDays === null || lagDays <= windowDays;
  for (const line of lines) {
    const returned = line.returned.filter(isInside);
    const refunds = line.refunds.filter(isInside);
    const labels = line.labels.filter(isInside);
    let refundedUnits = 0;
    sum.sold += line.sold;
    if (line.soldMinor !== null) {
      sum.soldMinor += line.soldMinor;
      sum.soldWithValue += line.sold;
    }
    if (line.unitCostMinor !== null && line.sold > 0) sum.hasCost = true;
    for (const unit of returned) {
      sum.returned += 1;
      sum.lags.push(unit.lagDays);
      sum.reasons.push(unit.reason);
      if (line.unitCostMinor !== null) sum.returnedWithCost += 1;
      if (labels.length > 0) sum.returnedWithLabel += 1;
    }
    for (const refund of refunds) {
      refundedUnits += refund.units;
      sum.refundMinor += refund.minor;
      sum.restockedCostMinor += refund.restockedUnits * (line.unitCostMinor ?? 0);
    }
    for (const label of labels) sum.labelMinor += label.minor;
    sum.refundedUnits += refundedUnits;
    sum.returnedNotRefunded += Math.max(0, returned.length - refundedUnits);
    sum.refundedNotReturned += Math.max(0, refundedUnits - returned.length);
  }
  return sum;
}

/** M11. */
export function costMinor(
  { ledger }: Pick<Question, "ledger">,
  { refundMinor, labelMinor }: Pick<Figures, "refundMinor" | "labelMinor">,
): number {
  return refundMinor + (ledger.labelCostsIncluded ? labelMinor : 0);
}

/** M20. */
export function soldValueOf(
  figures: Pick<Figures, "sold" | "soldMinor" | "soldWithValue" | "refundMinor">,
  currencyCode: string,
) {
  const { sold, soldMinor, soldWithValue, refundMinor } = figures;
  const isKnown = sold === 0 || soldWithValue / sold >= 0.95;
  return {
    sold_amount: sold > 0 && soldWithValue === 0 ? null : amountOf(soldMinor, currencyCode),
    sold_amount_coverage: shareOf(soldWithValue, sold),
    refund_share: isKnown && soldMinor > 0 ? rateOf(refundMinor, soldMinor) : null,
  };
}

function noFigures(): Figures {
  return {
    sold: 0,
    soldMinor: 0,
    soldWithValue: 0,
    returned: 0,
    refundedUnits: 0,
    refundMinor: 0,
    labelMinor: 0,
    restockedCostMinor: 0,
    hasCost: false,
    returnedWithCost: 0,
    lags: [],
    reasons: [],
    returnedNotRefunded: 0,
    refundedNotReturned: 0,
    returnedWithLabel: 0,
  };
}
