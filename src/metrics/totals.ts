import { rate, wholePercent, roundedQuotient } from "./rate.ts";

/** The additive figures of any selection inside one window (M7). Money is minor units of the shop's currency. */
export interface Totals {
  soldUnits: number;
  /** M20: the value of the sold units whose value is known, and how many these are. */
  soldMinor: number;
  valuedSoldUnits: number;
  returnedUnits: number;
  refundedUnits: number;
  restockedUnits: number;
  /** Unit cost × restocked units, for units with a unit cost. */
  restockedCostMinor: number;
  /** Sold units whose unit cost is known. */
  costedSoldUnits: number;
  /** Returned units whose unit cost is known. */
  costedReturnedUnits: number;
  refundMinor: number;
  labelMinor: number;
}

/** M7: the sum of the parts, all zeros for no parts. */
export function sumTotals(parts: Iterable<Totals>): Totals {
  const sum: Totals = {
    soldUnits: 0,
    soldMinor: 0,
    valuedSoldUnits: 0,
    returnedUnits: 0,
    refundedUnits: 0,
    restockedUnits: 0,
    restockedCostMinor: 0,
    costedSoldUnits: 0,
    costedReturnedUnits: 0,
    refundMinor: 0,
    labelMinor: 0,
  };
  for (const part of parts) {
    for (const field of Object.keys(sum) as (keyof Totals)[]) sum[field] += part[field];
  }
  return sum;
}

/** M20: percent of the sold units whose value must be known, for a share of it to mean anything. */
const FEWEST_VALUED_PERCENT = 95;

/**
 * M20: the part of the sold value that was paid back, to 6 decimals; null if the value of less than 95 % of the sold units is
 * known, or is not above 0.
 */
export function refundShare({
  soldUnits,
  valuedSoldUnits,
  soldMinor,
  refundMinor,
}: Pick<Totals, "soldUnits" | "valuedSoldUnits" | "soldMinor" | "refundMinor">): number | null {
  if (valuedSoldUnits * 100 < soldUnits * FEWEST_VALUED_PERCENT || soldMinor <= 0) return null;
  return rate(refundMinor, soldMinor);
}

/** M11: refunds and, when label costs are included, return labels. */
export function returnsCostMinor(
  totals: Pick<Totals, "refundMinor" | "labelMinor">,
  labelCostsIncluded: boolean,
): number {
  return totals.refundMinor + (labelCostsIncluded ? totals.labelMinor : 0);
}

/** M11: returns cost ÷ returned units, rounded to a minor unit; null when nothing was returned. */
export function costPerReturnedUnitMinor(
  totals: Pick<Totals, "refundMinor" | "labelMinor" | "returnedUnits">,
  labelCostsIncluded: boolean,
): number | null {
  if (totals.returnedUnits === 0) return null;
  const costMinor = BigInt(returnsCostMinor(totals, labelCostsIncluded));
  return Number(roundedQuotient(costMinor, BigInt(totals.returnedUnits)));
}

/** M13: returns cost less the cost of what went back on the shelf; null when no unit cost is known. */
export function marginImpactMinor(
  totals: Pick<Totals, "refundMinor" | "labelMinor" | "restockedCostMinor" | "costedSoldUnits">,
  labelCostsIncluded: boolean,
): number | null {
  if (totals.costedSoldUnits === 0) return null;
  return returnsCostMinor(totals, labelCostsIncluded) - totals.restockedCostMinor;
}

/** M13: whole percent of the returned units whose unit cost is known; 0 when nothing was returned. */
export function cogsCoverage(totals: Pick<Totals, "returnedUnits" | "costedReturnedUnits">): number {
  return wholePercent(totals.costedReturnedUnits, totals.returnedUnits);
}
