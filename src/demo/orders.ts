import { type Product, type ProductKind, type Variant } from "./catalogue.ts";
import {
  BATCH_DEFECT_RATE,
  DAY_MS,
  HOUR_MS,
  isInBadBatch,
  isOfSmallCut,
  progressOn,
  saleOn,
  seasonDemand,
  SMALL_CUT_RATE,
  type StorePlan,
} from "./plan.ts";
import { weightedDraw, type Random, type WeightedDraw } from "./random.ts";

export type Order = {
  orderId: string;
  orderedAt: number;
  test: boolean;
  canceledAt: number | null;
  lines: OrderLine[];
};

export type OrderLine = {
  lineId: string;
  productId: string;
  variantId: string;
  sku: string;
  title: string;
  vendor: string;
  units: number;
  unitPriceMinor: number;
  /** Units removed by an order edit before fulfilment. */
  removedUnits: number;
  /** Units canceled, and paid back, before fulfilment. */
  canceledUnits: number;
  canceledUnitsAt: number;
  giftCard: boolean;
  /** Null for lines of things outside the catalogue; those never come back. */
  item: OrderedItem | null;
};

type OrderedItem = {
  product: Product;
  variant: Variant;
  /** Units returned per unit sold, over the lifetime, for sales of that day. */
  returnRate: number;
  fromBadBatch: boolean;
  ofSmallCut: boolean;
};

/** A shopper's choices on one day, with their probabilities. */
type DayOffer = { day: number; drawProduct: WeightedDraw<Product> };

const LINES_PER_ORDER = weightedDraw([1, 2, 3, 4], (count) => [0, 57, 28, 11, 4][count] ?? 0);
const UNITS_OF_WEARABLES = weightedDraw([1, 2, 3], (units) => [0, 94, 5, 1][units] ?? 0);
const UNITS_OF_HOME = weightedDraw([1, 2, 3, 4], (units) => [0, 78, 16, 3, 3][units] ?? 0);

export function offerOn(plan: StorePlan, day: number): DayOffer {
  const progress = progressOn(plan, day);
  const demandOf = (product: Product): number => {
    if (product.launchedAfter > progress) return 0;
    const isPromoted = product === plan.batch.product && isInBadBatch(plan, plan.batch.variant, day);
    const batchFactor = isPromoted ? plan.batch.demandFactor : 1;
    const saleFactor = saleOn(plan.events, day, product)?.productDemandFactor ?? 1;
    return product.share * seasonDemand(product.season, day) * batchFactor * saleFactor;
  };
  return { day, drawProduct: weightedDraw(plan.products, demandOf) };
}

/** Draws when the orders of a day are placed, earliest first. */
export function timesOfOrders(day: number, count: number, random: Random): number[] {
  return Array.from({ length: count }, () => timeOfOrder(day, random)).toSorted(
    (left, right) => left - right,
  );
}

/** Simulates one order; cancellations that would happen today or later have not happened. */
export function simulateOrder(
  plan: StorePlan,
  offer: DayOffer,
  orderId: string,
  orderedAt: number,
  random: Random,
): Order {
  const endAt = plan.todayDay * DAY_MS;
  const order: Order = { orderId, orderedAt, test: random.chance(0.002), canceledAt: null, lines: [] };
  const lineCount = LINES_PER_ORDER(random);
  for (let number = 1; number <= lineCount; number += 1) {
    const line = simulateLine(plan, offer, `${orderId}-${number}`, random);
    changeBeforeFulfilment(line, orderedAt, endAt, random);
    order.lines.push(line);
  }
  if (!order.test && random.chance(0.014)) cancelOrder(order, endAt, random);
  return order;
}

/** Units of a line that were sold: test and canceled orders and gift cards sell none (M1). */
export function soldUnits(order: Order, line: OrderLine): number {
  if (order.test || order.canceledAt !== null || line.giftCard) return 0;
  return line.units - line.removedUnits - line.canceledUnits;
}

/** Most orders are placed in the afternoon and the evening. */
function timeOfOrder(day: number, random: Random): number {
  const hours = 6 + 17.9 * Math.max(random.fraction(), random.fraction());
  return day * DAY_MS + Math.floor((hours * HOUR_MS) / 1000) * 1000;
}

function simulateLine(plan: StorePlan, offer: DayOffer, lineId: string, random: Random): OrderLine {
  const unchanged = { lineId, removedUnits: 0, canceledUnits: 0, canceledUnitsAt: 0 };
  const oddment = drawOddment(random);
  if (oddment !== null) return { ...oddment, ...unchanged, item: null };
  const product = offer.drawProduct(random);
  const variant = product.drawVariant(random);
  const used = variant.condition === "used";
  const sale = used ? undefined : saleOn(plan.events, offer.day, product);
  return {
    ...unchanged,
    productId: product.productId,
    variantId: variant.variantId,
    sku: variant.sku,
    title: used ? `${product.title} – Used` : product.title,
    vendor: product.vendor,
    units: used ? 1 : (product.kind === "home" ? UNITS_OF_HOME : UNITS_OF_WEARABLES)(random),
    unitPriceMinor: Math.round(variant.priceMinor * (sale?.priceFactor ?? 1)),
    giftCard: false,
    item: {
      product,
      variant,
      returnRate: variant.returnRate * (sale?.returnFactor ?? 1),
      fromBadBatch: isInBadBatch(plan, variant, offer.day),
      ofSmallCut: isOfSmallCut(plan, variant, offer.day),
    },
  };
}

function changeBeforeFulfilment(line: OrderLine, orderedAt: number, endAt: number, random: Random): void {
  if (random.chance(0.006)) {
    line.removedUnits = random.integer(1, line.units);
    return;
  }
  const canceledUnitsAt = orderedAt + random.integer(3600, 36 * 3600) * 1000;
  if (random.chance(0.008) && canceledUnitsAt < endAt) {
    line.canceledUnits = random.integer(1, line.units);
    line.canceledUnitsAt = canceledUnitsAt;
  }
}

/** A canceled order pays back all that was still in it. */
function cancelOrder(order: Order, endAt: number, random: Random): void {
  const canceledAt = order.orderedAt + random.integer(600, 40 * 3600) * 1000;
  if (canceledAt >= endAt) return;
  order.canceledAt = canceledAt;
  for (const line of order.lines) {
    line.canceledUnits = line.units - line.removedUnits;
    line.canceledUnitsAt = canceledAt;
  }
}

export const GIFT_CARD_PRODUCT = { productId: "790001", title: "Gift Card", vendor: "Demo Store" };
export const SWATCH_PRODUCT = { productId: "790002", title: "Fabric Swatch Set", vendor: "Oriel Home" };

const NAMELESS = { productId: "", variantId: "", sku: "", vendor: "", units: 1, giftCard: false };

/** An unusual line, without a SKU, a product or goods, instead of one of the catalogue; null, which is the rule. */
function drawOddment(random: Random) {
  const point = random.fraction();
  if (point < 0.006) {
    const unitPriceMinor = random.pick([2500, 5000, 10_000]);
    return { ...NAMELESS, ...GIFT_CARD_PRODUCT, unitPriceMinor, giftCard: true };
  }
  if (point < 0.01)
    return { ...NAMELESS, ...SWATCH_PRODUCT, units: random.integer(1, 3), unitPriceMinor: 300 };
  // A custom line, with neither product nor SKU.
  if (point < 0.015) return { ...NAMELESS, title: "Gift wrapping", unitPriceMinor: 450 };
  if (point >= 0.017) return null;
  // The product was deleted; its SKU is all that is left.
  const sku = `ARC-${random.integer(101, 108)}`;
  return { ...NAMELESS, sku, title: "Archive sample", vendor: "Northfold", unitPriceMinor: 2900 };
}

/** Shoppers who gave no reason leave it empty. */
const REASONS = "too_small,too_large,not_as_described,changed_mind,defective,arrived_late,".split(",");

/** How often each of REASONS is given, in their order. */
const REASON_WEIGHTS: Record<ProductKind, readonly number[]> = {
  apparel: [24, 22, 16, 21, 5, 5, 7],
  shoes: [31, 24, 9, 18, 6, 5, 7],
  home: [2, 3, 33, 30, 14, 10, 8],
};
/** The smallest size is mostly too small, the largest mostly too large. */
const STRESSED_REASON = { smallest: "too_small", middle: null, largest: "too_large" };

function drawReason({ product, variant }: OrderedItem, random: Random): string {
  const weights = REASON_WEIGHTS[product.kind];
  const stressed = STRESSED_REASON[variant.fit];
  return weightedDraw(
    REASONS,
    (reason) => (weights[REASONS.indexOf(reason)] ?? 0) * (reason === stressed ? 2.2 : 1),
  )(random);
}

/** One return request of an order, in its state at the end of the store's history. */
export type ReturnCase = {
  returnId: string;
  status: "REQUESTED" | "OPEN" | "CLOSED" | "DECLINED" | "CANCELED";
  requestedAt: number;
  closedAt: number | null;
  /** Settled by sending another size: closed without any refund. */
  exchange: boolean;
  lines: ReturnedLine[];
};

export type ReturnedLine = {
  line: OrderLine;
  item: OrderedItem;
  units: number;
  /** Units that arrived and were accepted, at least one. */
  acceptedUnits: number;
  /** Whether the platform reports the processed units. */
  processedReported: boolean;
  reason: string;
};

type Timing = { requestedAt: number; settledAt: number };

/** Per hundred requests; only CLOSED ones count, so more are drawn than the return rate requires. */
const OUTCOMES = { CLOSED: 92, DECLINED: 4, CANCELED: 3.4, STALLED: 0.6 };
const CLOSED_SHARE = OUTCOMES.CLOSED / 100;
type Outcome = keyof typeof OUTCOMES;
const drawOutcome = weightedDraw(Object.keys(OUTCOMES) as Outcome[], (outcome) => OUTCOMES[outcome]);

/**
 * Simulates an order's return requests up to endAt; later ones are omitted. The small cut's additional returns use separate
 * random numbers, so that the rest is the same without it.
 */
export function simulateReturns(
  order: Order,
  endAt: number,
  nextReturnId: () => string,
  { random, randomForCut }: { random: Random; randomForCut: Random },
): ReturnCase[] {
  const wishes = order.lines.flatMap((line) => wishToReturn(order, line, random) ?? []);
  const kept = order.lines.filter((line) => wishes.every((wish) => wish.line !== line));
  const tooSmall = kept.flatMap((line) => wishOfSmallCut(order, line, randomForCut) ?? []);
  const caseOf = (lines: ReturnedLine[], from: Random): ReturnCase[] => {
    const fromBadBatch = lines.some(({ item }) => item.fromBadBatch);
    const timing = fromBadBatch ? fastTiming(order.orderedAt, from) : usualTiming(order.orderedAt, from);
    const outcome = fromBadBatch ? "CLOSED" : drawOutcome(from);
    const exchange =
      !fromBadBatch && lines.every(({ item }) => item.product.kind !== "home") && from.chance(0.1);
    if (timing.requestedAt >= endAt) return [];
    return [{ returnId: nextReturnId(), ...stateAt(endAt, outcome, timing), exchange, lines }];
  };
  return [
    ...groupIntoParcels(wishes, random).flatMap((lines) => caseOf(lines, random)),
    ...(tooSmall.length === 0 ? [] : caseOf(tooSmall, randomForCut)),
  ];
}

function wishToReturn(order: Order, line: OrderLine, random: Random): ReturnedLine | null {
  const { item } = line;
  if (item === null || soldUnits(order, line) === 0) return null;
  const defective = item.fromBadBatch && random.chance(BATCH_DEFECT_RATE);
  if (!defective && !random.chance(Math.min(0.8, item.returnRate / CLOSED_SHARE))) return null;
  return returnedLine(order, { line, item, reason: defective ? "defective" : null }, random);
}

function wishOfSmallCut(order: Order, line: OrderLine, random: Random): ReturnedLine | null {
  const { item } = line;
  if (item?.ofSmallCut !== true || soldUnits(order, line) === 0 || !random.chance(SMALL_CUT_RATE))
    return null;
  return returnedLine(order, { line, item, reason: "too_small" }, random);
}

/** `reason` null: it is drawn. */
function returnedLine(
  order: Order,
  { line, item, reason }: { line: OrderLine; item: OrderedItem; reason: string | null },
  random: Random,
): ReturnedLine {
  const sold = soldUnits(order, line);
  const units = sold === 1 || random.chance(0.7) ? sold : random.integer(1, sold - 1);
  return {
    line,
    item,
    units,
    acceptedUnits: units > 1 && random.chance(0.2) ? units - 1 : units,
    processedReported: random.chance(0.9),
    reason: reason ?? drawReason(item, random),
  };
}

/** Shoppers mostly send everything back at once; units of the bad batch are handled on their own. */
function groupIntoParcels(wishes: readonly ReturnedLine[], random: Random): ReturnedLine[][] {
  const alone = wishes.filter(({ item }) => item.fromBadBatch).map((wish) => [wish]);
  const others = wishes.filter(({ item }) => !item.fromBadBatch);
  if (others.length === 0) return alone;
  if (random.chance(0.88)) return [...alone, others];
  return [...alone, ...others.map((wish) => [wish])];
}

/** Settled within two weeks of the order: the fault shows at once. */
function fastTiming(orderedAt: number, random: Random): Timing {
  const requestedAt = after(orderedAt, random.between(1.2, 5.5));
  return { requestedAt, settledAt: after(requestedAt, random.between(1, 4.5)) };
}

/** Mostly 5 to 25 days from order to settlement, with a long tail. */
function usualTiming(orderedAt: number, random: Random): Timing {
  const delivery = random.between(1.5, 5);
  const hesitation = Math.min(25, random.logNormal(5.5, 0.55));
  const delay = random.chance(0.07) ? 18 + random.exponential(40) : 0;
  const requestedAt = after(orderedAt, delivery + hesitation + delay);
  return { requestedAt, settledAt: after(requestedAt, 1.5 + random.logNormal(3.2, 0.5)) };
}

/** How far a request has come at a moment; what lies ahead has not happened. */
function stateAt(
  endAt: number,
  outcome: Outcome,
  { requestedAt, settledAt }: Timing,
): Pick<ReturnCase, "status" | "requestedAt" | "closedAt"> {
  if (outcome !== "STALLED" && settledAt < endAt) {
    return { status: outcome, requestedAt, closedAt: outcome === "CLOSED" ? settledAt : null };
  }
  const approved = endAt - requestedAt > 2 * DAY_MS;
  return { status: approved ? "OPEN" : "REQUESTED", requestedAt, closedAt: null };
}

function after(time: number, days: number): number {
  return time + Math.round((days * DAY_MS) / 1000) * 1000;
}
