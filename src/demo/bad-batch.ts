import { monthOfDay, monthToText } from "../lib/month.ts";
import { firstOfMonth } from "./calendar.ts";
import type { Product, Variant } from "./catalogue.ts";

/** A production batch that went bad: what of it was sold between two days, both included, often comes back. */
export interface BadBatch {
  product: Product;
  variant: Variant;
  /** YYYY-MM: the newest cohort month that is complete for the primary window of 30 days. */
  cohortMonth: string;
  firstDay: number;
  lastDay: number;
  /** How much the restock was promoted. */
  demandFactor: number;
}

/** Share of the lines of the batch that come back as defective. */
export const BATCH_DEFECT_RATE = 0.75;

const PRIMARY_WINDOW_DAYS = 30;
/** By then the batch was withdrawn, and all of its returns lie in the past. */
const WITHDRAWN_DAYS_AGO = 21;

export function planBadBatch(product: Product, todayDay: number): BadBatch {
  const [variant] = product.variants;
  if (variant === undefined) throw new RangeError(`${product.title} has no variant`);
  const firstDay = newestCompleteMonth(todayDay);
  return {
    product,
    variant,
    cohortMonth: monthToText(monthOfDay(firstDay)),
    firstDay,
    lastDay: todayDay - WITHDRAWN_DAYS_AGO,
    demandFactor: 2.2,
  };
}

export function isInBadBatch(batch: BadBatch, variant: Variant, day: number): boolean {
  return variant === batch.variant && day >= batch.firstDay && day <= batch.lastDay;
}

/** A product whose newest cut runs small: from a day on, its middle sizes come back as too small besides. */
export interface SmallCut {
  product: Product;
  firstDay: number;
}

/** Additional share of the cut's lines that are returned as too small. */
export const SMALL_CUT_RATE = 0.3;

/** For the best-selling product among rarely returned clothes, so that the change is visible. */
export function planSmallCut(products: readonly Product[], todayDay: number): SmallCut {
  const [product] = products
    .filter(({ family, launchedAfter }) => family === "T-Shirts" && launchedAfter === 0)
    .toSorted((one, other) => other.share - one.share);
  if (product === undefined) throw new RangeError("no T-shirts are sold");
  return { product, firstDay: newestCompleteMonth(todayDay) };
}

export function isOfSmallCut({ product, firstDay }: SmallCut, variant: Variant, day: number): boolean {
  return (
    day >= firstDay &&
    variant.condition === "new" &&
    variant.fit === "middle" &&
    product.variants.includes(variant)
  );
}

/** First day of the newest cohort month that is complete for the primary window (M5). */
function newestCompleteMonth(todayDay: number): number {
  let monthStart = firstOfMonth(todayDay);
  while (firstOfMonth(monthStart, 1) - 1 + PRIMARY_WINDOW_DAYS >= todayDay) {
    monthStart = firstOfMonth(monthStart, -1);
  }
  return monthStart;
}
