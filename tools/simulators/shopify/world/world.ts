import { makeCatalogue } from "./catalogue.ts";
import { makeOrder } from "./orders.ts";
import type { World } from "./types.ts";
import { exponentOf } from "./units.ts";

interface WorldOptions {
  seed: number;
  orders: number;
  products: number;
  /** Seconds since 1970: the end of the shop's two years. */
  now: number;
  currencyCode: string;
  histories?: "plain" | "full";
}

/** The same options make the same shop, row for row. */
export function makeWorld(options: WorldOptions): World {
  const { seed, now, currencyCode, histories = "plain" } = options;
  const products = makeCatalogue(seed, options.products, now);
  const orders = Array.from({ length: options.orders }, (_, index) =>
    makeOrder({ seed, orders: options.orders, now, products, histories }, index + 1),
  );
  return {
    seed,
    currencyCode,
    exponent: exponentOf(currencyCode),
    histories,
    products,
    orders,
    version: 0,
  };
}
