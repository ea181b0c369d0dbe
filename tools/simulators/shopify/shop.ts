import type { ShopifyOptions } from "./options.ts";
import type { SortedItems } from "./schema/listing.ts";
import type { World, WorldOrder, WorldProduct } from "./world/types.ts";
import { makeCatalogue } from "./world/catalogue.ts";
import { makeOrder } from "./world/orders.ts";
import { exponentOf } from "./world/units.ts";

const DAY = 86_400;
/** Without read_all_orders an app only sees the orders of these last days. */
const VISIBLE_DAYS = 60;

/** `number` is that of its id; `currentPeriodEnd` is null once it is not active. */
export type AppSubscription = {
  number: number;
  name: string;
  status: string;
  currentPeriodEnd: string | null;
  trialDays: number;
};

export type Shop = ReturnType<typeof makeShop>;

const ORDER_VALUES: Record<string, (order: WorldOrder) => number> = {
  PROCESSED_AT: (order) => order.processedAt,
  UPDATED_AT: (order) => order.updatedAt,
};

const PRODUCT_VALUES: Record<string, (product: WorldProduct) => number> = {
  UPDATED_AT: (product) => product.updatedAt,
  ID: (product) => product.number,
};

/** The world with a clock, and its objects in the sort orders of lists. */
export function makeShop(options: ShopifyOptions) {
  const now = Math.floor(Date.parse(options.now) / 1000);
  const world = makeWorld(options, now);
  const clock = makeClock(now, options);
  return {
    world,
    clock,
    options,
    /** The shop's subscription to the app; null if it never had one. */
    subscription: null as (AppSubscription & { typeName: string; id: string }) | null,
    sortedOrders: sortedBy(world, ORDER_VALUES, world.orders),
    sortedProducts: sortedBy(world, PRODUCT_VALUES, world.products),
    order: (number: number): WorldOrder | null => world.orders[number - 1] ?? null,
    product: (number: number): WorldProduct | null => world.products[number - 1] ?? null,
    sees: (scopes: readonly string[], order: WorldOrder): boolean =>
      scopes.includes("read_all_orders") || order.createdAt >= clock.now() - VISIBLE_DAYS * DAY,
    /** To be called after every change: rebuilds indexes, and advances a stopped clock by a second. */
    changed: (): void => {
      world.version += 1;
      if (!options.ticking) clock.advance(1);
    },
  };
}

/** The same options make the same shop, row for row; its orders end `now`. */
function makeWorld(
  { seed, orders, historyDays, products: count, currencyCode, histories }: ShopifyOptions,
  now: number,
): World {
  const products = makeCatalogue(seed, count, now);
  const plan = { seed, orders, now, historyDays, products, histories };
  return {
    seed,
    currencyCode,
    exponent: exponentOf(currencyCode),
    histories,
    products,
    orders: Array.from({ length: orders }, (_, index) => makeOrder(plan, index + 1)),
    version: 0,
  };
}

/** An order by its number, its gid's number or its name. */
export function findOrder(shop: Shop, reference: number | string): WorldOrder | null {
  if (typeof reference === "number") return shop.order(reference);
  return shop.world.orders.find((order) => order !== null && order.name === reference) ?? null;
}

/** The existing items by a sort key; recomputed after changes of the world. */
function sortedBy<Item extends { number: number }>(
  world: World,
  valuesByKey: Record<string, (item: Item) => number>,
  all: readonly (Item | null)[],
) {
  const cache = new Map<string, { version: number; sorted: SortedItems<Item> }>();
  return (sortKey: string): SortedItems<Item> => {
    const known = cache.get(sortKey);
    if (known?.version === world.version) return known.sorted;
    const value = valuesByKey[sortKey];
    if (value === undefined) throw new Error(`The simulator does not sort by ${sortKey}`);
    const items = all.filter((item) => item !== null);
    items.sort((one, other) => value(one) - value(other) || one.number - other.number);
    const sorted = { items, values: Float64Array.from(items, value), numberOf: (item: Item) => item.number };
    cache.set(sortKey, { version: world.version, sorted });
    return sorted;
  };
}

export type Clock = ReturnType<typeof makeClock>;

/** The simulator's time: stopped, so that runs are repeatable, or ticking; both can be advanced. */
function makeClock(startSeconds: number, { ticking, speed }: ShopifyOptions) {
  let base = startSeconds;
  const startedAt = performance.now();
  const elapsed = (): number => (ticking ? Math.floor(((performance.now() - startedAt) / 1000) * speed) : 0);
  return {
    /** Whole seconds since 1970. */
    now: (): number => base + elapsed(),
    advance: (seconds: number): void => {
      base += seconds;
    },
    set: (seconds: number): void => {
      base = seconds - elapsed();
    },
  };
}

export type Statistics = ReturnType<typeof emptyStatistics>;

/** Counts of requests, which `/control/statistics` shows. */
export function emptyStatistics() {
  return {
    requests: 0,
    cost: 0,
    highestCost: 0,
    throttled: 0,
    refusedForCost: 0,
    unauthorized: 0,
    refreshes: 0,
    bulkRuns: 0,
    bulkRunningMost: 0,
    bulkDownloads: 0,
    webhooksSent: 0,
    webhooksRefused: 0,
    /** Requests by the name of their operation. */
    operations: {} as Record<string, number>,
  };
}
