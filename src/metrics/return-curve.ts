import { firstDayOfMonth, lastDayOfMonth } from "../lib/month.ts";
import { isComplete } from "./completeness.ts";
import { designEffect, type Orders } from "./design-effect.ts";
import { rate, wilsonInterval, type RateInterval } from "./rate.ts";

/** M19: the ages of a return curve, in days after the order. */
export const CURVE_AGES = [7, 14, 30, 60, 90, 180, 365] as const;

/** Units sold in a cohort month, and returned by each of `CURVE_AGES`. */
export interface CohortCurve {
  month: number;
  soldUnits: number;
  returnedUnits: readonly number[];
}

/** All null where nothing is known yet; the interval also when nothing was sold. */
export interface CurveFigures {
  returnedUnits: number | null;
  returnRate: number | null;
  interval: RateInterval | null;
}

interface CurveAge extends CurveFigures {
  ageDays: number;
  isComplete: boolean;
}

export interface PooledAge extends CurveFigures {
  ageDays: number;
  monthsIncluded: number;
  soldUnits: number;
}

/** How curves are read: as-of null = never synced; `orders`: of the selection (M6). */
interface CurveView {
  asOfDay: number | null;
  includeIncomplete: boolean;
  orders: Orders;
}

const UNKNOWN: CurveFigures = { returnedUnits: null, returnRate: null, interval: null };

/** M19: how many whole days each order of a month has been observed for; an age is complete up to it. */
export function observedDays(month: number, asOfDay: number | null): number {
  return asOfDay === null ? 0 : Math.max(0, asOfDay - lastDayOfMonth(month) - 1);
}

/**
 * M19: a month's curve. An age that not every order has reached has no figures, or with `includeIncomplete` those so far,
 * once an order of the month's first day has reached it.
 */
export function curveAges(curve: CohortCurve, { asOfDay, includeIncomplete, orders }: CurveView): CurveAge[] {
  return CURVE_AGES.map((ageDays, place) => {
    const complete = isComplete(curve.month, ageDays, asOfDay);
    const isReached = asOfDay !== null && asOfDay > firstDayOfMonth(curve.month) + ageDays;
    const isShown = complete || (includeIncomplete && isReached);
    return {
      ageDays,
      ...(isShown ? figuresOf(curve.returnedUnits[place] ?? 0, [curve], orders) : UNKNOWN),
      isComplete: complete,
    };
  });
}

/** M19: all months together, each age over the months that are complete at it. */
export function pooledAges(
  curves: readonly CohortCurve[],
  { asOfDay, orders }: Omit<CurveView, "includeIncomplete">,
): PooledAge[] {
  return CURVE_AGES.map((ageDays, place) => {
    const complete = curves.filter(({ month }) => isComplete(month, ageDays, asOfDay));
    const soldUnits = sumOf(complete.map((curve) => curve.soldUnits));
    const returnedUnits = sumOf(complete.map((curve) => curve.returnedUnits[place] ?? 0));
    return {
      ageDays,
      monthsIncluded: complete.length,
      soldUnits,
      ...(complete.length === 0 ? UNKNOWN : figuresOf(returnedUnits, complete, orders)),
    };
  });
}

function figuresOf(returnedUnits: number, curves: readonly CohortCurve[], orders: Orders): CurveFigures {
  const soldUnits = sumOf(curves.map((curve) => curve.soldUnits));
  const effect = designEffect(orders, { soldUnits, months: curves.map(({ month }) => month) });
  return {
    returnedUnits,
    returnRate: rate(returnedUnits, soldUnits),
    interval: wilsonInterval(returnedUnits, soldUnits, effect),
  };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
