import { dayFromText, lastDayOfMonth, monthOfDay } from "../../src/lib/month.ts";
import { createRandom } from "./made-store.ts";
import type { StoreLine } from "./store-lines.ts";

const FIRST_DAY = dayFromText("2024-01-01") as number;
const LAST_DAY = dayFromText("2026-01-31") as number;
const PRODUCTS = 25;
/** Returned units that a store has in a usual month. */
const RETURNED_A_MONTH = 200;

/**
 * A store of which about 200 units a month come back. What is true of it is drawn from the seed: growth, a Christmas, how
 * much months differ in their rate, how long returns take, prices and rates by product, and how sales move between them.
 */
export function makeMoneyStore(seed: number): StoreLine[] {
  const random = createRandom(seed * 7919);
  const usual = 0.06 + 0.24 * random.uniform();
  const monthly = 0.02 + 0.1 * random.uniform();
  const growth = Math.exp(0.35 * random.normal());
  const christmas = 1 + 1.5 * random.uniform();
  const meanLag = 8 + 12 * random.uniform();
  const lagShape = 1.5 + 2.5 * random.uniform();
  const products = Array.from({ length: PRODUCTS }, (_, place) => ({
    gid: `P${place}`,
    weight: Math.exp(0.9 * random.normal()),
    drift: 0.15 * random.normal(),
    rate: usual * Math.exp(0.35 * random.normal()),
    minor: Math.round(4000 * Math.exp(0.6 * random.normal())),
  }));
  const total = products.reduce((sum, { weight }) => sum + weight, 0);
  const perDay = RETURNED_A_MONTH / 30 / usual / 1.25;
  const lines: StoreLine[] = [];
  for (let month = monthOfDay(FIRST_DAY); month <= monthOfDay(LAST_DAY); month += 1) {
    const factor = Math.exp(monthly * random.normal());
    const lag = meanLag * Math.exp(0.05 * random.normal());
    const busy = month % 12 === 10 || month % 12 === 11 ? christmas : 1 + 0.1 * random.normal();
    const age = (month - monthOfDay(FIRST_DAY)) / 12;
    for (let day = lastDayOfMonth(month - 1) + 1; day <= lastDayOfMonth(month); day += 1) {
      for (const product of products) {
        const share = (product.weight * Math.exp(product.drift * age)) / total;
        for (let left = random.poisson(perDay * share * busy * growth ** (age - 1)); left > 0; left -= 1) {
          const units = random.uniform() < 0.8 ? 1 : 2 + Math.floor(2 * random.uniform());
          const isBack = random.uniform() < Math.min(0.8, product.rate * factor);
          const back = isBack && random.uniform() < 0.3 ? 1 : units;
          const lagDays = Math.round(random.gamma(lagShape, lag / lagShape));
          lines.push({
            order_id: String(lines.length),
            sku: product.gid,
            product_gid: product.gid,
            used: false,
            family: null,
            analytics_category: null,
            ordered_day: day,
            sold_units: units,
            lag_days: isBack ? [lagDays] : [],
            returned_units: isBack ? [back] : [],
            refunds: isBack ? [{ lagDays, minor: back * product.minor }] : [],
          });
        }
      }
    }
  }
  return lines;
}
