import { dayOfDate, weekdayOf, yearOf } from "./calendar.ts";
import type { Product } from "./catalogue.ts";

/** A sale of the demo store; days are included at both ends. */
export interface DemoSaleEvent {
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
}

/** For an event this old, the first 30 days have passed, so its return rate is meaningful. */
const SETTLED_DAYS = 45;
const FRIDAY = 5;

/** Chooses the newest settled Black Friday weekend and the newest settled mid-season sale before today. */
export function chooseSaleEvents(products: readonly Product[], todayDay: number): DemoSaleEvent[] {
  return [blackFriday(todayDay), midSeasonSale(products, todayDay)].toSorted(
    (left, right) => left.startsOnDay - right.startsOnDay,
  );
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

/** How much sale events raise the demand of the whole store on a day. */
export function storeSaleDemand(events: readonly DemoSaleEvent[], day: number): number {
  return events
    .filter((event) => isOn(event, day))
    .reduce((factor, event) => factor * event.storeDemandFactor, 1);
}

/** SKUs an event is limited to; empty for the whole store. */
export function skusOnSale(event: DemoSaleEvent): string[] {
  return event.products.flatMap((product) =>
    product.variants.filter((variant) => variant.condition === "new").map((variant) => variant.sku),
  );
}

function isOn(event: DemoSaleEvent, day: number): boolean {
  return day >= event.startsOnDay && day <= event.endsOnDay;
}

function blackFriday(todayDay: number): DemoSaleEvent {
  const year = yearOf(todayDay);
  const startsOnDay = newestSettled([blackFridayOf(year), blackFridayOf(year - 1)], 3, todayDay);
  return {
    slug: `black-friday-${yearOf(startsOnDay)}`,
    label: `Black Friday ${yearOf(startsOnDay)}`,
    startsOnDay,
    endsOnDay: startsOnDay + 3,
    products: [],
    storeDemandFactor: 2.6,
    productDemandFactor: 1,
    priceFactor: 0.75,
    returnFactor: 1.5,
  };
}

function midSeasonSale(products: readonly Product[], todayDay: number): DemoSaleEvent {
  const year = yearOf(todayDay);
  const starts = [dayOfDate(year, 9, 2), dayOfDate(year, 3, 10), dayOfDate(year - 1, 9, 2)];
  const startsOnDay = newestSettled(starts, 9, todayDay);
  const season = starts.indexOf(startsOnDay) === 1 ? "spring" : "autumn";
  return {
    slug: `mid-season-${season}-${yearOf(startsOnDay)}`,
    label: `Mid-season sale, ${season} ${yearOf(startsOnDay)}`,
    startsOnDay,
    endsOnDay: startsOnDay + 9,
    products: ["Dresses", "Jeans", "Boots"].flatMap((family) =>
      products.filter((product) => product.family === family).slice(0, 2),
    ),
    storeDemandFactor: 1.3,
    productDemandFactor: 3,
    priceFactor: 0.8,
    returnFactor: 1.4,
  };
}

/** The newest start that is settled today, else the oldest. */
function newestSettled(newestFirst: readonly number[], lengthDays: number, todayDay: number): number {
  const settled = newestFirst.find((start) => start + lengthDays + SETTLED_DAYS <= todayDay);
  return settled ?? (newestFirst.at(-1) as number);
}

/** The day after the fourth Thursday of November. */
function blackFridayOf(year: number): number {
  const november = dayOfDate(year, 10, 1);
  const firstFriday = november + ((FRIDAY - weekdayOf(november) + 7) % 7);
  const fourthThursday = firstFriday === november ? november + 27 : firstFriday - 1 + 21;
  return fourthThursday + 1;
}
