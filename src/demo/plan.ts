import { dayFromText, firstDayOfMonth, monthOfDay, monthToText } from "../lib/month.ts";
import { buildCatalogue, type Product, type SeasonName, type Variant } from "./catalogue.ts";
import { createRandom } from "./random.ts";

// A day is the number of UTC days since 1970-01-01; a time is in milliseconds since then.

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export type StorePlan = ReturnType<typeof planStore>;

/** `today`: the first day without orders; `months`: whole ones before the current one; `breadth`: how often the assortment exists. */
type StoreSize = { today: string; seed: number; months: number; orders: number; breadth: number };

/** All decisions before the first order: products, dates and special events. Throws when `today` is not a valid day. */
export function planStore({ today, seed, months, orders, breadth }: StoreSize) {
  const todayDay = dayFromText(today);
  if (todayDay === null) throw new Error(`a day is written as YYYY-MM-DD, like 2026-01-31, not "${today}"`);
  const { products, batchProduct } = buildCatalogue(seed, breadth);
  const events = chooseSaleEvents(products, todayDay);
  const life = { seed, firstDay: firstOfMonth(todayDay, -months), todayDay, events };
  return {
    ...life,
    products,
    batch: planBadBatch(batchProduct, todayDay),
    smallCut: planSmallCut(products, todayDay),
    ordersByDay: spreadOrders(life, orders),
  };
}

type Life = { seed: number; firstDay: number; todayDay: number; events: readonly DemoSaleEvent[] };

/** How much of the store's life has passed on a day, from 0 to 1. */
export function progressOn({ firstDay, todayDay }: Omit<Life, "seed" | "events">, day: number): number {
  return (day - firstDay) / (todayDay - firstDay);
}

/** Distributes the orders over the days by demand, so that stores of one size have the same number. */
function spreadOrders(life: Life, orders: number): number[] {
  const random = createRandom(life.seed, "demand");
  const demandUpTo = [0];
  for (let day = life.firstDay; day < life.todayDay; day += 1) {
    const demand =
      storeDemand(day, progressOn(life, day)) * storeSaleDemand(life.events, day) * random.logNormal(1, 0.08);
    demandUpTo.push((demandUpTo.at(-1) ?? 0) + demand);
  }
  const total = demandUpTo.at(-1) ?? 1;
  const ordersUpTo = demandUpTo.map((demand) => Math.round((demand / total) * orders));
  return ordersUpTo.slice(1).map((upTo, index) => upTo - (ordersUpTo[index] ?? 0));
}

/** How much of the whole store's demand falls on a month, January first; 1 is an average month. */
const STORE_DEMAND = [0.88, 0.84, 0.92, 0.96, 1, 1, 0.95, 0.93, 1, 1.08, 1.38, 1.46];

/** How a product's own demand leans towards some months, January first. */
const SEASON_DEMAND: Record<SeasonName, readonly number[]> = {
  steady: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
  summer: [0.6, 0.7, 0.9, 1.15, 1.4, 1.6, 1.6, 1.35, 0.95, 0.75, 0.65, 0.7],
  winter: [1.3, 1.15, 0.95, 0.75, 0.6, 0.5, 0.5, 0.65, 1.05, 1.35, 1.5, 1.6],
  gifts: [0.8, 0.8, 0.9, 0.9, 0.95, 0.9, 0.85, 0.85, 0.9, 1, 1.5, 1.9],
};

/** Sunday first: evenings at the start of the week sell best. */
const WEEKDAY_DEMAND = [1.18, 1.1, 1, 0.98, 0.96, 0.86, 0.92];
const DEMAND_AT_START = 0.75;
const DEMAND_AT_END = 1.3;

function storeDemand(day: number, progress: number): number {
  const growth = DEMAND_AT_START + (DEMAND_AT_END - DEMAND_AT_START) * progress;
  return growth * (STORE_DEMAND[monthOfDay(day) % 12] ?? 1) * (WEEKDAY_DEMAND[weekdayOf(day)] ?? 1);
}

export function seasonDemand(season: SeasonName, day: number): number {
  return SEASON_DEMAND[season][monthOfDay(day) % 12] ?? 1;
}

/** A sale of the demo store; days are included at both ends. */
export type DemoSaleEvent = {
  slug: string;
  label: string;
  startsOnDay: number;
  endsOnDay: number;
  /** Empty when the whole store is on sale. */
  products: readonly Product[];
  /** Demand of the whole store, and of the products on sale, relative to an ordinary day. */
  storeDemandFactor: number;
  productDemandFactor: number;
  priceFactor: number;
  returnFactor: number;
};

/** For an event this old, the first 30 days have passed, so its return rate is meaningful. */
const SETTLED_DAYS = 45;
const FRIDAY = 5;

/** The newest settled Black Friday weekend and the newest settled mid-season sale before today. */
function chooseSaleEvents(products: readonly Product[], todayDay: number): DemoSaleEvent[] {
  const thisYear = yearOf(todayDay);
  const friday = newestSettled([blackFridayOf(thisYear), blackFridayOf(thisYear - 1)], 3, todayDay);
  const spring = dayOfDate(thisYear, 3, 10);
  const autumns = [dayOfDate(thisYear, 9, 2), dayOfDate(thisYear - 1, 9, 2)] as const;
  const sale = newestSettled([autumns[0], spring, autumns[1]], 9, todayDay);
  const season = sale === spring ? "spring" : "autumn";
  const events = [
    {
      slug: `black-friday-${yearOf(friday)}`,
      label: `Black Friday ${yearOf(friday)}`,
      startsOnDay: friday,
      endsOnDay: friday + 3,
      products: [],
      storeDemandFactor: 2.6,
      productDemandFactor: 1,
      priceFactor: 0.75,
      returnFactor: 1.5,
    },
    {
      slug: `mid-season-${season}-${yearOf(sale)}`,
      label: `Mid-season sale, ${season} ${yearOf(sale)}`,
      startsOnDay: sale,
      endsOnDay: sale + 9,
      products: ["Dresses", "Jeans", "Boots"].flatMap((family) =>
        products.filter((product) => product.family === family).slice(0, 2),
      ),
      storeDemandFactor: 1.3,
      productDemandFactor: 3,
      priceFactor: 0.8,
      returnFactor: 1.4,
    },
  ];
  return events.toSorted((left, right) => left.startsOnDay - right.startsOnDay);
}

/** The sale a product is part of on a day, if any. */
export function saleOn(
  events: readonly DemoSaleEvent[],
  day: number,
  product: Product,
): DemoSaleEvent | undefined {
  return events.find(
    (event) => isOn(event, day) && (event.products.length === 0 || event.products.includes(product)),
  );
}

/** SKUs an event is limited to; empty for the whole store. */
export function skusOnSale(event: DemoSaleEvent): string[] {
  return event.products.flatMap((product) =>
    product.variants.filter((variant) => variant.condition === "new").map((variant) => variant.sku),
  );
}

function storeSaleDemand(events: readonly DemoSaleEvent[], day: number): number {
  return events
    .filter((event) => isOn(event, day))
    .reduce((factor, event) => factor * event.storeDemandFactor, 1);
}

function isOn({ startsOnDay, endsOnDay }: DemoSaleEvent, day: number): boolean {
  return day >= startsOnDay && day <= endsOnDay;
}

/** The newest start that is settled today, else the oldest. */
function newestSettled(newestFirst: readonly number[], lengthDays: number, todayDay: number): number {
  const settled = newestFirst.find((start) => start + lengthDays + SETTLED_DAYS <= todayDay);
  return settled ?? (newestFirst.at(-1) as number);
}

/** The day after the fourth Thursday of November, the 22nd to the 28th. */
function blackFridayOf(year: number): number {
  const earliest = dayOfDate(year, 10, 23);
  return earliest + ((FRIDAY - weekdayOf(earliest) + 7) % 7);
}

/** Share of the lines of the bad batch that come back as defective. */
export const BATCH_DEFECT_RATE = 0.75;
/** By then the batch was withdrawn, and all of its returns lie in the past. */
const WITHDRAWN_DAYS_AGO = 21;

/**
 * A bad production batch: units of it, sold between two days, both included, often come back. `cohortMonth`: the newest that
 * is complete for the primary window; `demandFactor`: how much the restock was promoted.
 */
function planBadBatch(product: Product, todayDay: number) {
  const firstDay = newestCompleteMonth(todayDay);
  const cohortMonth = monthToText(monthOfDay(firstDay));
  const variant = product.variants[0] as Variant;
  return {
    product,
    variant,
    cohortMonth,
    firstDay,
    lastDay: todayDay - WITHDRAWN_DAYS_AGO,
    demandFactor: 2.2,
  };
}

export function isInBadBatch({ batch }: StorePlan, variant: Variant, day: number): boolean {
  return variant === batch.variant && day >= batch.firstDay && day <= batch.lastDay;
}

/** Additional share of the small cut's lines that are returned as too small. */
export const SMALL_CUT_RATE = 0.3;

/**
 * A product whose newest cut runs small: from a day on, its middle sizes come back as too small besides. It is the best-selling
 * one among rarely returned clothes, so that the change is visible.
 */
function planSmallCut(products: readonly Product[], todayDay: number) {
  const [product] = products
    .filter(({ family, launchedAfter }) => family === "T-Shirts" && launchedAfter === 0)
    .toSorted((one, other) => other.share - one.share) as [Product];
  return { product, firstDay: newestCompleteMonth(todayDay) };
}

export function isOfSmallCut({ smallCut }: StorePlan, variant: Variant, day: number): boolean {
  const isCut = day >= smallCut.firstDay && variant.condition === "new" && variant.fit === "middle";
  return isCut && smallCut.product.variants.includes(variant);
}

const PRIMARY_WINDOW_DAYS = 30;

/** First day of the newest cohort month that is complete for the primary window (M5). */
function newestCompleteMonth(todayDay: number): number {
  let monthStart = firstOfMonth(todayDay);
  while (firstOfMonth(monthStart, 1) - 1 + PRIMARY_WINDOW_DAYS >= todayDay) {
    monthStart = firstOfMonth(monthStart, -1);
  }
  return monthStart;
}

function dayOfDate(year: number, monthIndex: number, dayOfMonth: number): number {
  return firstDayOfMonth(year * 12 + monthIndex) + dayOfMonth - 1;
}

function yearOf(day: number): number {
  return Math.floor(monthOfDay(day) / 12);
}

/** 0 is Sunday. */
function weekdayOf(day: number): number {
  return new Date(day * DAY_MS).getUTCDay();
}

/** The first day of the month that lies monthsLater (negative: earlier) from the month of the given day. */
function firstOfMonth(day: number, monthsLater = 0): number {
  return firstDayOfMonth(monthOfDay(day) + monthsLater);
}
