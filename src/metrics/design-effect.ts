/** Sums over orders; for a category, over its part of each order. Units are those inside the primary window. */
export type OrderSums = {
  /** Orders that sold something. */
  orders: number;
  /** Those with at least one return. */
  returnedOrders: number;
  soldUnits: number;
  returnedUnits: number;
  squaredSoldUnits: number;
  /** Of sold × returned units. */
  soldReturnedUnits: number;
  squaredReturnedUnits: number;
};

/** The return pattern of units of one order. */
export type OrderPattern = {
  /** From 0, independent, to 1, always the same outcome. */
  correlation: number;
  /** Units of the order that a unit is in, on average. */
  orderSize: number;
};

/** The pattern, and a selection's own orders: by cohort month, the squares of their units added up; null = not known. */
export type Orders = OrderPattern & { squaredSoldUnits: ReadonlyMap<number, number | null> };

export const INDEPENDENT_UNITS: Orders = { correlation: 0, orderSize: 1, squaredSoldUnits: new Map() };

/** Returned orders from which a correlation is estimated. */
export const FEWEST_RETURNED_ORDERS = 200;

/** M6: the category's pattern if enough of its orders had a return, else the store's, else none. Null: there are no sums. */
export function orderPattern(category: OrderSums | null, store: OrderSums | null): OrderPattern {
  const sums = [category, store].find((part) => (part?.returnedOrders ?? 0) >= FEWEST_RETURNED_ORDERS);
  if (sums === undefined || sums === null) return INDEPENDENT_UNITS;
  const { orders, soldUnits, returnedUnits } = sums;
  const orderSize = sums.squaredSoldUnits / soldUnits;
  if (orderSize === 1 || returnedUnits === soldUnits) return { correlation: 0, orderSize };
  const rate = returnedUnits / soldUnits;
  const squares =
    sums.squaredReturnedUnits - 2 * rate * sums.soldReturnedUnits + rate ** 2 * sums.squaredSoldUnits;
  const effect = ((orders / (orders - 1)) * squares) / (soldUnits * rate * (1 - rate));
  return { correlation: Math.min(1, Math.max(0, (effect - 1) / (orderSize - 1))), orderSize };
}

/**
 * M6: the variance of the rate of `soldUnits`, divided by that of as many independent units, at least 1. Their orders are those
 * of the cohort months, and others whose squares are given. Where squares are unknown, orders have the size of the pattern.
 */
export function designEffect(
  orders: Orders,
  sold: { soldUnits: number; months?: readonly number[]; squaredSoldUnits?: number | null },
): number {
  if (sold.soldUnits === 0) return 1;
  let squares = sold.squaredSoldUnits === undefined ? 0 : sold.squaredSoldUnits;
  for (const month of sold.months ?? []) {
    const ofMonth = orders.squaredSoldUnits.get(month);
    squares = squares === null || ofMonth === null ? null : squares + (ofMonth ?? 0);
  }
  const orderSize = squares === null ? orders.orderSize : squares / sold.soldUnits;
  return 1 + orders.correlation * Math.max(0, orderSize - 1);
}
