import { mulberry32 } from "../../src/demo/random.ts";
import { dayFromText, lastDayOfMonth, monthOfDay } from "../../src/lib/month.ts";
import type { FitCounts } from "../../src/metrics/fit.ts";
import type { StoreLine } from "./store-lines.ts";

/** Bad batches: SKUs that sell this many lines a day, with a rate that is multiplied by `factor` from a day on. */
export type BadBatches = { linesPerDay: number; rate: number; factor: number };

type MadeStore = { lines: StoreLine[]; firstDay: number; batchDay: number; lastDay: number };

const SKUS = 500;
const DAYS_BEFORE = 360;
/** Every tenth SKU has a bad batch, if the store has any. */
const EVERY = 10;
const FIRST_DAY = 20_000;
const MEAN_LAG_DAYS = 13;
const LAG_SHAPE = 2;

/**
 * A store of 500 SKUs in 200 products, 30 families and 5 categories: rates from 3 to 20 %, lines a day spread
 * log-normally, days to return gamma with a mean of 13. It ends `days` after the day on which batches go bad, if there are any.
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
        const lagDays = isReturned ? Math.round(random.gamma(LAG_SHAPE, MEAN_LAG_DAYS / LAG_SHAPE)) : 0;
        lines.push({
          ...soldLine(lines.length, day, 1, isReturned ? { units: 1, lagDays } : null),
          sku: skuName(place),
          product_gid: `P${product}`,
          family: `F${product % 30}`,
          analytics_category: `C${product % 5}`,
        });
      }
    }
  }
  lines.sort((left, right) => left.ordered_day - right.ordered_day);
  return { lines, firstDay: FIRST_DAY, batchDay, lastDay };
}

/** An order of one line, and what came back of it. */
function soldLine(
  order: number,
  day: number,
  units: number,
  back: { units: number; lagDays: number; minor?: number } | null,
): StoreLine {
  return {
    order_id: String(order),
    sku: null,
    product_gid: null,
    used: false,
    family: null,
    analytics_category: null,
    ordered_day: day,
    sold_units: units,
    lag_days: back === null ? [] : [back.lagDays],
    returned_units: back === null ? [] : [back.units],
    refunds: back?.minor === undefined ? [] : [{ lagDays: back.lagDays, minor: back.minor }],
  };
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

const FIRST_MONEY_DAY = dayFromText("2024-01-01") as number;
const LAST_MONEY_DAY = dayFromText("2026-01-31") as number;
const PRODUCTS_OF_A_STORE = 25;
/** Returned units that a store has in a usual month. */
const RETURNED_A_MONTH = 200;

/**
 * A store with about 200 returned units a month. Its parameters are drawn from the seed: growth, a Christmas peak, how much
 * months differ in their rate, how long returns take, prices and rates by product, and how sales move between them.
 */
export function makeMoneyStore(seed: number): StoreLine[] {
  const random = createRandom(seed * 7919);
  const usual = 0.06 + 0.24 * random.uniform();
  const monthly = 0.02 + 0.1 * random.uniform();
  const growth = Math.exp(0.35 * random.normal());
  const christmas = 1 + 1.5 * random.uniform();
  const meanLag = 8 + 12 * random.uniform();
  const lagShape = 1.5 + 2.5 * random.uniform();
  const products = Array.from({ length: PRODUCTS_OF_A_STORE }, (_, place) => ({
    gid: `P${place}`,
    weight: Math.exp(0.9 * random.normal()),
    drift: 0.15 * random.normal(),
    rate: usual * Math.exp(0.35 * random.normal()),
    minor: Math.round(4000 * Math.exp(0.6 * random.normal())),
  }));
  const total = products.reduce((sum, { weight }) => sum + weight, 0);
  const perDay = RETURNED_A_MONTH / 30 / usual / 1.25;
  const lines: StoreLine[] = [];
  for (let month = monthOfDay(FIRST_MONEY_DAY); month <= monthOfDay(LAST_MONEY_DAY); month += 1) {
    const factor = Math.exp(monthly * random.normal());
    const lag = meanLag * Math.exp(0.05 * random.normal());
    const busy = month % 12 === 10 || month % 12 === 11 ? christmas : 1 + 0.1 * random.normal();
    const age = (month - monthOfDay(FIRST_MONEY_DAY)) / 12;
    for (let day = lastDayOfMonth(month - 1) + 1; day <= lastDayOfMonth(month); day += 1) {
      for (const product of products) {
        const share = (product.weight * Math.exp(product.drift * age)) / total;
        for (let left = random.poisson(perDay * share * busy * growth ** (age - 1)); left > 0; left -= 1) {
          const units = random.uniform() < 0.8 ? 1 : 2 + Math.floor(2 * random.uniform());
          const isBack = random.uniform() < Math.min(0.8, product.rate * factor);
          const back = isBack && random.uniform() < 0.3 ? 1 : units;
          const lagDays = Math.round(random.gamma(lagShape, lag / lagShape));
          const returned = isBack ? { units: back, lagDays, minor: back * product.minor } : null;
          const line = soldLine(lines.length, day, units, returned);
          lines.push({ ...line, sku: product.gid, product_gid: product.gid });
        }
      }
    }
  }
  return lines;
}

const MONTHS = 24;

/** A product by month and size; `misfit`: the sizes that actually run small or large. */
export type FitProduct = {
  misfit: { fit: "small" | "large"; sizes: readonly number[] } | null;
  months: FitCounts[][];
};

/**
 * A store of products in six sizes. Its parameters are drawn from the seed: the share of returns because of the size, how much products
 * and sizes differ in that without a misfit, the rates, and for one product in five one to three sizes, or all, that are cut so that
 * 55 to 80 % of their returns are too small, or too large.
 */
export function makeFitStore(seed: number): FitProduct[] {
  const random = createRandom(seed * 104_729);
  const small = 0.12 + 0.2 * random.uniform();
  const large = 0.1 + 0.15 * random.uniform();
  return Array.from({ length: PRODUCTS_OF_A_STORE }, () => {
    const monthly = 2 + 28 * random.uniform() ** 2;
    const lean = 0.12 * random.normal();
    const misfit =
      random.uniform() < 0.2
        ? {
            fit: random.uniform() < 0.7 ? ("small" as const) : ("large" as const),
            sizes:
              random.uniform() < 0.3 ? [0, 1, 2, 3, 4, 5] : someSizes(random.uniform(), random.uniform()),
          }
        : null;
    const wrong = 0.55 + 0.25 * random.uniform();
    const sizes = [0, 1, 2, 3, 4, 5].map((size) => {
      const edge = size === 0 ? 1.3 : size === 5 ? 1 / 1.3 : 1;
      const own = Math.exp(lean + 0.08 * random.normal());
      const isWrong = misfit?.sizes.includes(size) === true;
      const usualSmall = Math.min(0.5, small * own * edge);
      const usualLarge = Math.min(0.4, (large / own) * (1 / edge));
      const weight = (1.2 - Math.abs(size - 2.5) / 3) * (isWrong ? 1.5 : 1);
      return {
        weight,
        small: isWrong ? (misfit?.fit === "small" ? wrong : 0.05) : usualSmall,
        large: isWrong ? (misfit?.fit === "large" ? wrong : 0.05) : usualLarge,
      };
    });
    const total = sizes.reduce((sum, { weight }) => sum + weight, 0);
    const months = Array.from({ length: MONTHS }, () =>
      sizes.map((size) => {
        const counts = { returns: random.poisson((monthly * size.weight) / total), tooSmall: 0, tooLarge: 0 };
        for (let left = counts.returns; left > 0; left -= 1) {
          const point = random.uniform();
          if (point < size.small) counts.tooSmall += 1;
          else if (point < size.small + size.large) counts.tooLarge += 1;
        }
        return counts;
      }),
    );
    return { misfit, months };
  });
}

/** One to three neighbouring sizes. */
function someSizes(first: number, count: number): number[] {
  const start = Math.floor(first * 4);
  return Array.from({ length: 1 + Math.floor(count * 3) }, (_, step) => start + step);
}

/** Random numbers from a seed: mulberry32, Box–Muller, Knuth's Poisson, Marsaglia and Tsang's gamma. */
function createRandom(seed: number) {
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
