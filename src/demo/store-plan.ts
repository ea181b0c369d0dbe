import { planBadBatch } from "./bad-batch.ts";
import type { BadBatch } from "./bad-batch.ts";
import { firstOfMonth } from "./calendar.ts";
import { buildCatalogue } from "./catalogue.ts";
import type { Catalogue } from "./catalogue.ts";
import { createRandom } from "./random.ts";
import { chooseSaleEvents, storeSaleDemand } from "./sale-events.ts";
import type { SaleEvent } from "./sale-events.ts";
import { storeDemand } from "./seasonality.ts";

/** All that is settled before the first order: what is sold, when, and what will be special about it. */
export interface StorePlan {
  seed: number;
  /** First day with orders. */
  firstDay: number;
  /** First day without: everything in the store happens before it begins. */
  todayDay: number;
  catalogue: Catalogue;
  events: readonly SaleEvent[];
  batch: BadBatch;
  /** Orders of each day, beginning with firstDay. */
  ordersByDay: readonly number[];
}

const MONTHS_OF_HISTORY = 24;
const ORDER_COUNT = 34_000;

export function planStore(todayDay: number, seed: number): StorePlan {
  const catalogue = buildCatalogue(seed);
  const events = chooseSaleEvents(catalogue.products, todayDay);
  const firstDay = firstOfMonth(todayDay, -MONTHS_OF_HISTORY);
  return {
    seed,
    firstDay,
    todayDay,
    catalogue,
    events,
    batch: planBadBatch(catalogue.batchProduct, todayDay),
    ordersByDay: spreadOrders(firstDay, todayDay, events, seed),
  };
}

/** How much of the store's life has passed on a day, from 0 to 1. */
export function progressOn(plan: StorePlan, day: number): number {
  return (day - plan.firstDay) / (plan.todayDay - plan.firstDay);
}

/** Spreads the fixed number of orders over the days by demand, so that every store has the same size. */
function spreadOrders(
  firstDay: number,
  todayDay: number,
  events: readonly SaleEvent[],
  seed: number,
): number[] {
  const random = createRandom(seed, "demand");
  const demandUpTo: number[] = [0];
  for (let day = firstDay; day < todayDay; day += 1) {
    const progress = (day - firstDay) / (todayDay - firstDay);
    const demand = storeDemand(day, progress) * storeSaleDemand(events, day) * random.logNormal(1, 0.08);
    demandUpTo.push((demandUpTo.at(-1) ?? 0) + demand);
  }
  const total = demandUpTo.at(-1) ?? 1;
  const ordersUpTo = demandUpTo.map((demand) => Math.round((demand / total) * ORDER_COUNT));
  return ordersUpTo.slice(1).map((orders, index) => orders - (ordersUpTo[index] ?? 0));
}
