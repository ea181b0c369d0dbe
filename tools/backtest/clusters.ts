import { mulberry32 } from "../../src/demo/random.ts";
import { monthOfDay } from "../../src/lib/month.ts";
import { designEffect, orderPattern } from "../../src/metrics/design-effect.ts";
import type { OrderPattern, OrderSums } from "../../src/metrics/design-effect.ts";
import { wilsonBounds } from "../../src/metrics/rate.ts";
import { findSpike } from "../../src/metrics/spike.ts";
import { createRandom } from "./made-store.ts";
import type { StoreLine } from "./store-lines.ts";
import { MIN_SOLD_UNITS, PRIMARY_WINDOW_DAYS } from "./warnings.ts";

/** A part of an order of one day: what of it was sold and came back inside the primary window. */
type Part = { order: string; sku: string; category: string; month: number; sold: number; returned: number };
type Units = { sold: number; returned: number };
/** How often an interval held what it should, and how wide it was, with units as independent and with orders as clusters. */
export type Held = { level: string; cases: number; held: [number, number]; width: [number, number] };

const EFFECT_MONTHS = 12;
const BASELINE_MONTHS = 6;

/** Orders of lines of units that share the order's rate, which is beta distributed with correlation `together`. */
export type MadeOrders = { lines: number; units: number; together: number };

const MADE_STORES = 200;
const MADE_ORDERS = 4000;
const MADE_SKUS = 50;
const MADE_RATE = 0.12;

/** How often the interval of a made-up rate holds the true one: 95 % is right. */
export function scoreMadeOrders(made: MadeOrders): { effect: number; held: Held[] } {
  const scores = new Scores();
  const effects: number[] = [];
  for (let seed = 1; seed <= MADE_STORES; seed += 1) {
    const parts = makeOrders(made, seed);
    const patternOf = patternsOf(parts);
    effects.push(effectOf(patternOf(""), parts));
    for (const [level, groups] of groupsOf(parts, ["store", "category", "SKU"])) {
      for (const own of groups) {
        scores.add(
          level,
          own,
          effectOf(patternOf(categoryAt(level, own)), own),
          ({ low, high }) => low <= MADE_RATE && MADE_RATE <= high,
        );
      }
    }
  }
  return { effect: medianOf(effects), held: scores.all() };
}

function makeOrders({ lines, units, together }: MadeOrders, seed: number): Part[] {
  const { uniform, gamma } = createRandom(seed);
  const upTo = (most: number): number => 1 + Math.floor(uniform() * most);
  const betaOf = (one: number, other: number): number => {
    const [left, right] = [one, other].map((shape) => gamma(shape + 1, 1) * uniform() ** (1 / shape)) as [
      number,
      number,
    ];
    return left / (left + right);
  };
  const shapes = (1 - together) / together;
  return Array.from({ length: MADE_ORDERS }, (_, order) => {
    const rate = together === 0 ? MADE_RATE : betaOf(MADE_RATE * shapes, (1 - MADE_RATE) * shapes);
    return Array.from({ length: upTo(lines) }, () => {
      const sku = Math.floor(uniform() * MADE_SKUS);
      const sold = upTo(units);
      const returned = Array.from({ length: sold }, uniform).filter((drawn) => drawn < rate).length;
      return { order: String(order), sku: String(sku), category: `C${sku % 3}`, month: 0, sold, returned };
    });
  }).flat();
}

const SPLITS = 5;
const FEWEST_UNITS = 100;

/**
 * How often the interval of one half of a store's orders holds the other half's rate, to a unit. Both halves vary: 83 % is
 * right.
 */
export function scoreHalves(lines: readonly StoreLine[]): Held[] {
  const parts = partsOf(lines);
  const scores = new Scores();
  for (let seed = 1; seed <= SPLITS; seed += 1) {
    const random = mulberry32(seed);
    const halfOf = new Map(
      [...new Set(parts.map(({ order }) => order))].map((order) => [order, random() < 0.5]),
    );
    for (const half of [true, false]) {
      const patternOf = patternsOf(parts.filter(({ order }) => halfOf.get(order) === half));
      for (const [level, groups] of groupsOf(parts, ["store", "month", "category", "SKU"])) {
        for (const group of groups) {
          const own = group.filter(({ order }) => halfOf.get(order) === half);
          const other = unitsOf(group.filter(({ order }) => halfOf.get(order) !== half));
          if (Math.min(unitsOf(own).sold, other.sold) < FEWEST_UNITS || unitsOf(group).returned === 0)
            continue;
          scores.add(
            level,
            own,
            effectOf(patternOf(categoryAt(level, own)), own),
            ({ low, high }) =>
              Math.floor(low * other.sold) <= other.returned &&
              other.returned <= Math.ceil(high * other.sold),
          );
        }
      }
    }
  }
  return scores.all();
}

/** M16 for every SKU and complete month, as if all were watched: how many are spikes, and how many of them never came back before. */
export function countSpikes(lines: readonly StoreLine[]) {
  const parts = partsOf(lines);
  const months = [...new Set(parts.map(({ month }) => month))].toSorted((left, right) => left - right);
  const bySku = [...Map.groupBy(parts, ({ sku }) => sku).values()].map((own) => ({
    category: own[0]?.category ?? "",
    byMonth: Map.groupBy(own, ({ month }) => month),
  }));
  const counts = { judged: 0, before: 0, beforeFromZero: 0, after: 0, afterFromZero: 0 };
  for (const newest of months.slice(BASELINE_MONTHS)) {
    const patternOf = patternsOf(
      parts.filter(({ month }) => month <= newest && month > newest - EFFECT_MONTHS),
    );
    for (const { category, byMonth } of bySku) {
      const judged = Array.from({ length: BASELINE_MONTHS + 1 }, (_, place) => {
        const { sold, returned } = unitsOf(byMonth.get(newest - place) ?? []);
        return { cohortMonth: newest - place, soldUnits: sold, returnedUnits: returned, isComplete: true };
      });
      if ((judged[0]?.soldUnits ?? 0) < MIN_SOLD_UNITS) continue;
      counts.judged += 1;
      const before = findSpike(judged, MIN_SOLD_UNITS, 1);
      const effect = effectOf(patternOf(category), byMonth.get(newest) ?? []);
      const after = findSpike(judged, MIN_SOLD_UNITS, effect);
      counts.before += before === null ? 0 : 1;
      counts.beforeFromZero += before?.baselineReturnedUnits === 0 ? 1 : 0;
      counts.after += after === null ? 0 : 1;
      counts.afterFromZero += after?.baselineReturnedUnits === 0 ? 1 : 0;
    }
  }
  return counts;
}

/** Of complete months; '' = no SKU or category. */
function partsOf(lines: readonly StoreLine[]): Part[] {
  const lastDay = lines.reduce((last, line) => Math.max(last, line.ordered_day), 0);
  const open = monthOfDay(lastDay - PRIMARY_WINDOW_DAYS);
  return lines
    .map((line) => ({
      order: `${line.ordered_day} ${line.order_id}`,
      sku: line.sku ?? "",
      category: line.analytics_category ?? "",
      month: monthOfDay(line.ordered_day),
      sold: line.sold_units,
      returned: line.returned_units.reduce(
        (sum, units, place) => sum + ((line.lag_days[place] as number) <= PRIMARY_WINDOW_DAYS ? units : 0),
        0,
      ),
    }))
    .filter(({ month }) => month < open);
}

function groupsOf(parts: readonly Part[], levels: readonly string[]): [level: string, groups: Part[][]][] {
  const keyOf = {
    store: () => "",
    month: (part: Part) => part.month,
    category: (part: Part) => part.category,
    SKU: (part: Part) => part.sku,
  };
  return levels.map((level) => [
    level,
    [...Map.groupBy(parts, keyOf[level as keyof typeof keyOf] as (part: Part) => unknown).values()],
  ]);
}

/** Whose correlation the parts of a level have: SKUs are of one category. */
function categoryAt(level: string, [first]: readonly Part[]): string {
  return level === "SKU" || level === "category" ? (first?.category ?? "") : "";
}

/** The pattern of a category; '' = of the store. */
function patternsOf(parts: readonly Part[]): (category: string) => OrderPattern {
  const store = sumsOf(parts);
  const sums = new Map(
    [...Map.groupBy(parts, ({ category }) => category)].map(([key, own]) => [key, sumsOf(own)]),
  );
  return (category) => orderPattern(category === "" ? null : (sums.get(category) ?? null), store);
}

/** That of a rate of these parts of orders. */
function effectOf(pattern: OrderPattern, own: readonly Part[]): number {
  const { soldUnits, squaredSoldUnits } = sumsOf(own);
  return designEffect({ ...pattern, squaredSoldUnits: new Map() }, { soldUnits, squaredSoldUnits });
}

function sumsOf(parts: readonly Part[]): OrderSums {
  const orders = [...Map.groupBy(parts, ({ order }) => order).values()].map(unitsOf);
  const sum = (of: (order: Units) => number): number => orders.reduce((total, order) => total + of(order), 0);
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

function unitsOf(parts: readonly Units[]): Units {
  const units = { sold: 0, returned: 0 };
  for (const { sold, returned } of parts) {
    units.sold += sold;
    units.returned += returned;
  }
  return units;
}

class Scores {
  readonly #levels = new Map<string, { held: [number, number]; widths: [number[], number[]] }>();

  add(
    level: string,
    own: readonly Units[],
    effect: number,
    holds: (bounds: { low: number; high: number }) => boolean,
  ): void {
    const score = this.#levels.get(level) ?? { held: [0, 0], widths: [[], []] };
    this.#levels.set(level, score);
    const { sold, returned } = unitsOf(own);
    for (const [place, used] of [1, effect].entries()) {
      const bounds = wilsonBounds(returned, sold, used);
      if (bounds === null) continue;
      score.held[place as 0 | 1] += holds(bounds) ? 1 : 0;
      score.widths[place as 0 | 1].push(bounds.high - bounds.low);
    }
  }

  all(): Held[] {
    return [...this.#levels].map(([level, { held, widths }]) => ({
      level,
      cases: widths[0].length,
      held: [held[0] / widths[0].length, held[1] / widths[1].length],
      width: [medianOf(widths[0]), medianOf(widths[1])],
    }));
  }
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[values.length >> 1] ?? Number.NaN;
}
