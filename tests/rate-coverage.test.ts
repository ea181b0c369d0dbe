import assert from "node:assert/strict";
import { test } from "node:test";
import { mulberry32 } from "../src/demo/random.ts";
import { designEffect, orderPattern } from "../src/metrics/design-effect.ts";
import { wilsonBounds } from "../src/metrics/rate.ts";

const RATE = 0.12;
const STORES = 150;
const ORDERS = 2000;

/** Orders of one to six units that with a probability are returned or kept as a whole, and otherwise unit by unit. */
function sumsOfStore(seed: number, together: number) {
  const random = mulberry32(seed);
  const sums = {
    soldUnits: 0,
    returnedUnits: 0,
    squaredSoldUnits: 0,
    soldReturnedUnits: 0,
    squaredReturnedUnits: 0,
  };
  let returnedOrders = 0;
  for (let order = 0; order < ORDERS; order += 1) {
    const sold = 1 + Math.floor(random() * 6);
    const shared = random() < together ? random() : null;
    let returned = 0;
    for (let unit = 0; unit < sold; unit += 1) returned += (shared ?? random()) < RATE ? 1 : 0;
    returnedOrders += returned > 0 ? 1 : 0;
    sums.soldUnits += sold;
    sums.returnedUnits += returned;
    sums.squaredSoldUnits += sold ** 2;
    sums.soldReturnedUnits += sold * returned;
    sums.squaredReturnedUnits += returned ** 2;
  }
  return { orders: ORDERS, returnedOrders, ...sums };
}

function heldBy(together: number, effectOf: (sums: ReturnType<typeof sumsOfStore>) => number): number {
  let held = 0;
  for (let seed = 1; seed <= STORES; seed += 1) {
    const sums = sumsOfStore(seed, together);
    const bounds = wilsonBounds(sums.returnedUnits, sums.soldUnits, effectOf(sums));
    if (bounds !== null && bounds.low <= RATE && RATE <= bounds.high) held += 1;
  }
  return held / STORES;
}

for (const together of [0, 0.5, 0.95]) {
  test(`M6: 95 % intervals contain the true rate of generated stores, ${together} of whose orders are returned as a whole`, () => {
    const held = heldBy(together, (sums) =>
      designEffect({ ...orderPattern(sums, null), squaredSoldUnits: new Map() }, sums),
    );
    assert.ok(held >= 0.92 && held <= 0.98, `held by ${held}`);
  });
}

test("M6: with units assumed independent they would not", () => assert.ok(heldBy(0.95, () => 1) < 0.8));
