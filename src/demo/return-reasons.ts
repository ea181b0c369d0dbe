import type { ProductKind } from "./assortment.ts";
import type { OrderedItem } from "./orders.ts";
import { weightedDraw } from "./random.ts";
import type { Random, WeightedDraw } from "./random.ts";

/** Shoppers who gave no reason leave it empty. */
const REASONS = [
  "too_small",
  "too_large",
  "not_as_described",
  "changed_mind",
  "defective",
  "arrived_late",
  "",
] as const;

type Reason = (typeof REASONS)[number];
type Fit = OrderedItem["variant"]["fit"];

/** How often each of REASONS is given, in their order. */
const DRAWS: Record<ProductKind, Record<Fit, WeightedDraw<Reason>>> = {
  apparel: drawsOf([24, 22, 16, 21, 5, 5, 7]),
  shoes: drawsOf([31, 24, 9, 18, 6, 5, 7]),
  home: drawsOf([2, 3, 33, 30, 14, 10, 8]),
};

export function drawReason(item: OrderedItem, random: Random): string {
  return DRAWS[item.product.kind][item.variant.fit](random);
}

/** The smallest size is mostly too small, the largest mostly too large. */
function drawsOf(weights: readonly number[]): Record<Fit, WeightedDraw<Reason>> {
  const drawOf = (stressed: Reason | null): WeightedDraw<Reason> =>
    weightedDraw(REASONS, (reason) => {
      const weight = weights[REASONS.indexOf(reason)] ?? 0;
      return reason === stressed ? weight * 2.2 : weight;
    });
  return { smallest: drawOf("too_small"), middle: drawOf(null), largest: drawOf("too_large") };
}
