import { planBadBatch, planSmallCut, type BadBatch, type SmallCut } from "./bad-batch.ts";
import { firstOfMonth, storeDemand } from "./calendar.ts";
import { buildCatalogue, type Catalogue } from "./catalogue.ts";
import { createRandom } from "./random.ts";
import { chooseSaleEvents, storeSaleDemand, type DemoSaleEvent } from "./sale-events.ts";

/** All decisions before the first order: products, dates and special events. */
export interface StorePlan {
  seed: number;
  /** First day with orders. */
  firstDay: number;
  /** First day without: everything in the store happens before it begins. */
  todayDay: number;
  catalogue: Catalogue;
  events: readonly DemoSaleEvent[];
  batch: BadBatch;
  smallCut: SmallCut;
  /** Orders of each day, from firstDay on. */
  ordersByDay: readonly number[];
}

interface StoreSize {
  /** First day without orders. */
  todayDay: number;
  seed: number;
  /** Whole months before the current one. */
  months: number;
  orders: number;
  /** How many times the assortment is in the catalogue. */
  breadth: number;
}

export function planStore({ todayDay, seed, months, orders, breadth }: StoreSize): StorePlan {
  const catalogue = buildCatalogue(seed, breadth);
  const events = chooseSaleEvents(catalogue.products, todayDay);
  const plan = { seed, firstDay: firstOfMonth(todayDay, -months), todayDay, catalogue, events };
  const batch = planBadBatch(catalogue.batchProduct, todayDay);
  const smallCut = planSmallCut(catalogue.products, todayDay);
  return { ...plan, batch, smallCut, ordersByDay: spreadOrders(plan, orders) };
}

type Life = Pick<StorePlan, "seed" | "firstDay" | "todayDay" | "events">;

/** How much of the store's life has passed on a day, from 0 to 1. */
export function progressOn(plan: Life, day: number): number {
  return (day - plan.firstDay) / (plan.todayDay - plan.firstDay);
}

/** Distributes the orders over the days by demand, so that stores of one size have the same number. */
function spreadOrders(plan: Life, orders: number): number[] {
  const random = createRandom(plan.seed, "demand");
  const demandUpTo: number[] = [0];
  for (let day = plan.firstDay; day < plan.todayDay; day += 1) {
    const demand =
      storeDemand(day, progressOn(plan, day)) * storeSaleDemand(plan.events, day) * random.logNormal(1, 0.08);
    demandUpTo.push((demandUpTo.at(-1) ?? 0) + demand);
  }
  const total = demandUpTo.at(-1) ?? 1;
  const ordersUpTo = demandUpTo.map((demand) => Math.round((demand / total) * orders));
  return ordersUpTo.slice(1).map((upTo, index) => upTo - (ordersUpTo[index] ?? 0));
}
