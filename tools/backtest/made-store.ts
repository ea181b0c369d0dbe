import { mulberry32 } from "../../src/demo/random.ts";
import type { StoreLine } from "./store-lines.ts";

/** A batch that goes bad: SKUs that sell so many lines a day, and whose rate is multiplied from a day on. */
export type BadBatches = { linesPerDay: number; rate: number; factor: number };

export type MadeStore = { lines: StoreLine[]; firstDay: number; batchDay: number; lastDay: number };

const SKUS = 500;
const DAYS_BEFORE = 360;
/** Every tenth SKU has a bad batch, where there are any. */
const EVERY = 10;
const FIRST_DAY = 20_000;
const MEAN_LAG_DAYS = 13;
const LAG_SHAPE = 2;

/**
 * A store of 500 SKUs in 200 products, 30 families and 5 categories: rates from 3 to 20 %, lines a day spread
 * log-normally, days to return gamma with a mean of 13. `days` after the day on which batches go bad, if there are any.
 */
export function makeStore({
  seed,
  days,
  batches,
}: {
  seed: number;
  days: number;
  batches: BadBatches | null;
}): MadeStore {
  const random = createRandom(seed);
  const batchDay = FIRST_DAY + DAYS_BEFORE;
  const lastDay = batchDay + days;
  const lines: StoreLine[] = [];
  for (let place = 0; place < SKUS; place += 1) {
    const product = Math.floor(place / 2.5);
    const batch = isBadSku(place) ? batches : null;
    const rate = batch?.rate ?? 0.03 + 0.17 * random.uniform();
    const usualPerDay = 1.5 * Math.exp(1.2 * random.normal());
    const perDay = batch?.linesPerDay ?? usualPerDay;
    for (let day = FIRST_DAY; day <= lastDay; day += 1) {
      const rateNow = rate * (batch !== null && day >= batchDay ? batch.factor : 1);
      for (let left = random.poisson(perDay); left > 0; left -= 1) {
        const isReturned = random.uniform() < rateNow;
        lines.push({
          order_id: String(lines.length),
          sku: skuName(place),
          product_gid: `P${product}`,
          used: false,
          family: `F${product % 30}`,
          analytics_category: `C${product % 5}`,
          ordered_day: day,
          sold_units: 1,
          lag_days: isReturned ? [Math.round(random.gamma(LAG_SHAPE, MEAN_LAG_DAYS / LAG_SHAPE))] : [],
          returned_units: isReturned ? [1] : [],
          refunds: [],
        });
      }
    }
  }
  lines.sort((left, right) => left.ordered_day - right.ordered_day);
  return { lines, firstDay: FIRST_DAY, batchDay, lastDay };
}

function skuName(place: number): string {
  return `SKU-${place}`;
}

export const BAD_SKUS = Array.from({ length: SKUS }, (_, place) => place)
  .filter(isBadSku)
  .map(skuName);

function isBadSku(place: number): boolean {
  return place % EVERY === 3;
}

/** Numbers that a seed decides: mulberry32, Box–Muller, Knuth's Poisson, Marsaglia and Tsang's gamma. */
export function createRandom(seed: number) {
  const fraction = mulberry32(seed);
  const uniform = (): number => fraction() + 0.5 / 2 ** 32;
  const normal = (): number => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  const poisson = (mean: number): number => {
    const end = Math.exp(-mean);
    let count = 0;
    for (let product = uniform(); product > end; product *= uniform()) count += 1;
    return count;
  };
  const gamma = (shape: number, scale: number): number => {
    const base = shape - 1 / 3;
    for (;;) {
      const drawn = normal();
      const cube = (1 + drawn / Math.sqrt(9 * base)) ** 3;
      if (cube <= 0) continue;
      if (Math.log(uniform()) < drawn ** 2 / 2 + base - base * cube + base * Math.log(cube))
        return base * cube * scale;
    }
  };
  return { uniform, normal, poisson, gamma };
}
