/** M21: the refunds still to come for units already sold. Money in minor units of the shop's currency. */
import { wholeMinor } from "./money.ts";
import type { Outlook } from "./outlook.ts";

/** The returns of a complete cohort month inside the window. */
export type ReturnedMonth = {
  returnedUnits: number;
  refundMinor: number;
  /** Unit cost × units that went back on the shelf. */
  restockedCostMinor: number;
  /** Returned units whose unit cost is known. */
  costedReturnedUnits: number;
};

/** Number of complete months that determine the refund of a returned unit. */
export const LIABILITY_MONTHS = 6;
/** Returned units below which a selection's months say too little by themselves. */
const FEWEST_UNITS = 30;
/** Months with returns that show how much refunds per unit differ. */
const FEWEST_MONTHS = 3;
/** Relative variance of a refund where nothing shows it. */
const USUAL_VARIANCE = 1;
/** Percent of the returned units whose cost must be known for the goods to be valued. */
const FEWEST_COSTED_PERCENT = 95;
/** Standard deviations on each side of the mean that hold 80 %. */
const DEVIATIONS_80 = 1.2815515655446004;

/** The refund rate of a selection, before its open months are read. */
export type RefundRate = {
  refundMinorPerUnit: number;
  /** Relative variance of the refund of one unit, and the units behind the mean. */
  variance: number;
  units: number;
  /** Value at unit cost of the goods that go back on the shelf, for each returned unit; null where costs are unknown. */
  goodsMinorPerUnit: number | null;
  isLowEvidence: boolean;
};

/**
 * M21: the refund of a returned unit in the selection's newest complete months, and if these have few units in its category's,
 * else the store's. Null without returns.
 */
export function refundRate(
  own: readonly ReturnedMonth[],
  category: readonly ReturnedMonth[],
  store: readonly ReturnedMonth[],
): RefundRate | null {
  const group = sumOf(category).returnedUnits >= FEWEST_UNITS ? category : store;
  const [ownSum, groupSum] = [sumOf(own), sumOf(group)];
  if (groupSum.returnedUnits === 0) return null;
  const borrowed = Math.max(0, FEWEST_UNITS - ownSum.returnedUnits);
  const units = ownSum.returnedUnits + borrowed;
  const perUnit = (measure: "refundMinor" | "restockedCostMinor"): number =>
    (ownSum[measure] + (borrowed * groupSum[measure]) / groupSum.returnedUnits) / units;
  const isCosted = [ownSum, ...(borrowed > 0 ? [groupSum] : [])].every(
    (sum) => sum.costedReturnedUnits * 100 >= sum.returnedUnits * FEWEST_COSTED_PERCENT,
  );
  return {
    refundMinorPerUnit: perUnit("refundMinor"),
    variance: (borrowed === 0 ? varianceOf(own) : null) ?? varianceOf(group) ?? USUAL_VARIANCE,
    units,
    goodsMinorPerUnit: isCosted ? perUnit("restockedCostMinor") : null,
    isLowEvidence: borrowed > 0,
  };
}

export type Liability = {
  expectedUnits: number;
  refundMinor: number;
  lowMinor: number;
  highMinor: number;
  goodsMinor: number | null;
};

/** M21: the refunds to come for an outlook with one 80 % interval: of a month, or of several together. */
export function liabilityOf(outlook: Outlook, rate: RefundRate): Liability {
  const { low, high } = outlook.intervals[0] as Outlook["intervals"][number];
  const { refundMinorPerUnit: each, variance, units } = rate;
  const expectedUnits = Math.round(100 * (outlook.returnedUnits - outlook.returnedUnitsSoFar)) / 100;
  const money = expectedUnits * each;
  const byRefund = DEVIATIONS_80 ** 2 * variance * (each ** 2 * expectedUnits + money ** 2 / units);
  const distance = (end: number): number =>
    Math.hypot(each * (end - outlook.returnedUnits), Math.sqrt(byRefund));
  return {
    expectedUnits,
    refundMinor: wholeMinor(money),
    lowMinor: wholeMinor(Math.max(0, money - distance(low))),
    highMinor: wholeMinor(Math.max(0, money + distance(high))),
    goodsMinor: rate.goodsMinorPerUnit === null ? null : wholeMinor(expectedUnits * rate.goodsMinorPerUnit),
  };
}

/** M7: months together are their sum, with the ends of `together` at their distances. */
export function sumLiabilities(months: readonly Liability[], together: Liability): Liability {
  const total = (of: (month: Liability) => number): number =>
    months.reduce((sum, month) => sum + of(month), 0);
  const refundMinor = total((month) => month.refundMinor);
  return {
    expectedUnits: together.expectedUnits,
    refundMinor,
    lowMinor: Math.max(0, refundMinor - together.refundMinor + together.lowMinor),
    highMinor: Math.max(0, refundMinor - together.refundMinor + together.highMinor),
    goodsMinor: together.goodsMinor === null ? null : total((month) => month.goodsMinor ?? 0),
  };
}

/** Relative variance of the refund of a unit, from how much months differ; null of few months. */
function varianceOf(months: readonly ReturnedMonth[]): number | null {
  const returning = months.filter(({ returnedUnits }) => returnedUnits > 0);
  const { returnedUnits, refundMinor } = sumOf(returning);
  if (returning.length < FEWEST_MONTHS || refundMinor === 0) return null;
  const mean = refundMinor / returnedUnits;
  const squares = returning.map(
    (month) => month.returnedUnits * (month.refundMinor / month.returnedUnits / mean - 1) ** 2,
  );
  return squares.reduce((sum, square) => sum + square, 0) / (returning.length - 1);
}

function sumOf(months: readonly ReturnedMonth[]): ReturnedMonth {
  const sum = { returnedUnits: 0, refundMinor: 0, restockedCostMinor: 0, costedReturnedUnits: 0 };
  for (const month of months) {
    for (const name of Object.keys(sum) as (keyof ReturnedMonth)[]) sum[name] += month[name];
  }
  return sum;
}
