import { compareRates, rate, wilsonBounds } from "./rate.ts";

export interface SpikeMonth {
  cohortMonth: number;
  soldUnits: number;
  returnedUnits: number;
  isComplete: boolean;
}

export interface Spike {
  cohortMonth: number;
  soldUnits: number;
  returnedUnits: number;
  returnRate: number;
  /** Pooled over the six months before. */
  baselineSoldUnits: number;
  baselineReturnedUnits: number;
  baselineRate: number;
}

const baselineLengthMonths = 6;

/**
 * M16: whether the newest complete cohort month is a spike: enough units sold, the low end of its 95 % Wilson interval above the
 * pooled rate of the six calendar months before, and at least 1.25 times it. Null otherwise, and also when one of the six is
 * missing or incomplete, or nothing was sold in all of them. `effect`: that of designEffect (M6).
 */
export function findSpike(months: readonly SpikeMonth[], minSoldUnits: number, effect: number): Spike | null {
  const completeMonths = months.filter((month) => month.isComplete);
  const newest = completeMonths.reduce<SpikeMonth | null>(
    (latest, month) => (latest === null || month.cohortMonth > latest.cohortMonth ? month : latest),
    null,
  );
  if (newest === null || newest.soldUnits < minSoldUnits) return null;

  const baseline = completeMonths.filter(
    ({ cohortMonth }) =>
      cohortMonth < newest.cohortMonth && cohortMonth >= newest.cohortMonth - baselineLengthMonths,
  );
  const baselineSoldUnits = baseline.reduce((sum, month) => sum + month.soldUnits, 0);
  const baselineReturnedUnits = baseline.reduce((sum, month) => sum + month.returnedUnits, 0);
  const bounds = wilsonBounds(newest.returnedUnits, newest.soldUnits, effect);
  if (baseline.length < baselineLengthMonths || baselineSoldUnits === 0 || bounds === null) return null;

  // 1.25 × the baseline is compared exactly, as rate × 4 ≥ baseline × 5.
  const isClearlyAbove = bounds.low > baselineReturnedUnits / baselineSoldUnits;
  const isMuchAbove =
    compareRates(newest.returnedUnits * 4, newest.soldUnits, baselineReturnedUnits * 5, baselineSoldUnits) >=
    0;
  if (!isClearlyAbove || !isMuchAbove) return null;
  return {
    cohortMonth: newest.cohortMonth,
    soldUnits: newest.soldUnits,
    returnedUnits: newest.returnedUnits,
    returnRate: rate(newest.returnedUnits, newest.soldUnits),
    baselineSoldUnits,
    baselineReturnedUnits,
    baselineRate: rate(baselineReturnedUnits, baselineSoldUnits),
  };
}
