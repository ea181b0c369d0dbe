import assert from "node:assert/strict";
import { test } from "node:test";
import { wilsonInterval } from "./rate.ts";
import { FEWEST_RETURNED_ORDERS, INDEPENDENT_UNITS, designEffect, orderPattern } from "./design-effect.ts";
import type { OrderPattern, OrderSums } from "./design-effect.ts";

type Order = { sold: number; returned: number };

function sumsOf(orders: readonly Order[]): OrderSums {
  const sum = (of: (order: Order) => number): number => orders.reduce((total, order) => total + of(order), 0);
  return {
    orders: orders.length,
    returnedOrders: orders.filter(({ returned }) => returned > 0).length,
    soldUnits: sum(({ sold }) => sold),
    returnedUnits: sum(({ returned }) => returned),
    squaredSoldUnits: sum(({ sold }) => sold ** 2),
    soldReturnedUnits: sum(({ sold, returned }) => sold * returned),
    squaredReturnedUnits: sum(({ returned }) => returned ** 2),
  };
}

function times(count: number, sold: number, returned: number): Order[] {
  return Array.from({ length: count }, () => ({ sold, returned }));
}

/** The effect of a rate of these orders themselves, or of `own`. */
function effectOf(pattern: OrderPattern, own: readonly Order[]): number {
  const { soldUnits, squaredSoldUnits } = sumsOf(own);
  return designEffect({ ...pattern, squaredSoldUnits: new Map() }, { soldUnits, squaredSoldUnits });
}

const exampleOrders = [...times(150, 2, 2), ...times(50, 2, 1), ...times(800, 2, 0)];
const example = sumsOf(exampleOrders);

test("M6: the correlation and the effects of the example in METRICS.md", () => {
  const pattern = orderPattern(example, null);
  assert.equal(pattern.correlation.toFixed(6), "0.828668");
  assert.equal(effectOf(pattern, exampleOrders).toFixed(6), "1.828668");
  const sku = effectOf(pattern, [...times(200, 1, 0), ...times(100, 2, 0)]);
  assert.equal(sku.toFixed(6), "1.414334");
  assert.deepEqual(wilsonInterval(30, 400, sku), { low: 0.049677, high: 0.111713 });
});

test("M6: the correlation is the category's, else the store's, else none, from 200 returned orders on", () => {
  const store = sumsOf(times(400, 3, 3).concat(times(1000, 3, 0)));
  const few = sumsOf(times(FEWEST_RETURNED_ORDERS - 1, 2, 2).concat(times(800, 2, 0)));
  assert.deepEqual(orderPattern(store, example), orderPattern(store, null));
  assert.deepEqual(orderPattern(few, example), orderPattern(null, example));
  assert.deepEqual(orderPattern(few, few), INDEPENDENT_UNITS);
  assert.deepEqual(orderPattern(null, null), INDEPENDENT_UNITS);
});

test("M6: no correlation of units that come back apart, of single units and where all come back; 1 of whole orders", () => {
  const correlationOf = (orders: readonly Order[]) => orderPattern(sumsOf(orders), null).correlation;
  assert.equal(correlationOf([...times(300, 2, 1), ...times(300, 4, 2)]), 0);
  assert.equal(correlationOf(times(300, 2, 2)), 0);
  assert.equal(correlationOf([...times(300, 1, 1), ...times(300, 1, 0)]), 0);
  assert.equal(correlationOf([...times(500, 5, 5), ...times(1500, 5, 0)]), 1);
  // Only large orders come back: their squares exceed what whole orders that come back explain.
  assert.equal(correlationOf([...times(2, 1000, 1000), ...times(200, 2, 1), ...times(5000, 2, 0)]), 1);
});

test("M6: the effect is that of the requested months and days; if one is unknown, that of the pattern's orders", () => {
  const squaredSoldUnits = new Map([
    [1, 40],
    [2, 60],
    [3, null],
  ]);
  const orders = { correlation: 0.5, orderSize: 9, squaredSoldUnits };
  assert.equal(designEffect(orders, { soldUnits: 20, months: [1] }), 1.5);
  assert.equal(designEffect(orders, { soldUnits: 20, months: [1, 2, 4] }), 3);
  assert.equal(designEffect(orders, { soldUnits: 20, months: [1], squaredSoldUnits: 60 }), 3);
  assert.equal(designEffect(orders, { soldUnits: 20, months: [1, 3] }), 5);
  assert.equal(designEffect(orders, { soldUnits: 20, months: [1], squaredSoldUnits: null }), 5);
  assert.equal(designEffect(orders, { soldUnits: 0, months: [3] }), 1);
  assert.equal(designEffect({ ...orders, correlation: 0 }, { soldUnits: 20, months: [2] }), 1);
});
