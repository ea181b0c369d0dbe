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
type ReasonWeights = Record<Reason, number>;
type Fit = OrderedItem["variant"]["fit"];

const WEIGHTS: Record<ProductKind, ReasonWeights> = {
  apparel: {
    too_small: 24,
    too_large: 22,
    not_as_described: 16,
    changed_mind: 21,
    defective: 5,
    arrived_late: 5,
    "": 7,
  },
  shoes: {
    too_small: 31,
    too_large: 24,
    not_as_described: 9,
    changed_mind: 18,
    defective: 6,
    arrived_late: 5,
    "": 7,
  },
  home: {
    too_small: 2,
    too_large: 3,
    not_as_described: 33,
    changed_mind: 30,
    defective: 14,
    arrived_late: 10,
    "": 8,
  },
};

const DRAWS: Record<ProductKind, Record<Fit, WeightedDraw<Reason>>> = {
  apparel: drawsOf(WEIGHTS.apparel),
  shoes: drawsOf(WEIGHTS.shoes),
  home: drawsOf(WEIGHTS.home),
};

export function drawReason(item: OrderedItem, random: Random): string {
  return DRAWS[item.product.kind][item.variant.fit](random);
}

/** The smallest size is mostly too small, the largest mostly too large. */
function drawsOf(weights: ReasonWeights): Record<Fit, WeightedDraw<Reason>> {
  const drawOf = (adjusted: ReasonWeights) => weightedDraw(REASONS, (reason) => adjusted[reason]);
  return {
    smallest: drawOf({ ...weights, too_small: weights.too_small * 2.2 }),
    middle: drawOf(weights),
    largest: drawOf({ ...weights, too_large: weights.too_large * 2.2 }),
  };
}
