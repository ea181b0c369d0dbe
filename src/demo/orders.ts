import { isInBadBatch } from "./bad-batch.ts";
import { DAY_MS, HOUR_MS } from "./calendar.ts";
import type { Product, Variant } from "./catalogue.ts";
import { drawOddment } from "./oddments.ts";
import { weightedDraw } from "./random.ts";
import type { Random, WeightedDraw } from "./random.ts";
import { saleOn } from "./sale-events.ts";
import { seasonDemand } from "./seasonality.ts";
import { progressOn } from "./store-plan.ts";
import type { StorePlan } from "./store-plan.ts";

export interface Order {
  orderId: string;
  orderedAt: number;
  test: boolean;
  canceledAt: number | null;
  lines: OrderLine[];
}

export interface OrderLine {
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
}

export interface OrderedItem {
  product: Product;
  variant: Variant;
  /** Units returned per unit sold, over the lifetime, as it was sold on that day. */
  returnRate: number;
  fromBadBatch: boolean;
}

/** What a shopper may choose from on one day, and how likely. */
export interface DayOffer {
  day: number;
  drawProduct: WeightedDraw<Product>;
}

const LINES_PER_ORDER = weightedDraw([1, 2, 3, 4], (count) => [0, 57, 28, 11, 4][count] ?? 0);
const UNITS_OF_WEARABLES = weightedDraw([1, 2, 3], (units) => [0, 94, 5, 1][units] ?? 0);
const UNITS_OF_HOME = weightedDraw([1, 2, 3, 4], (units) => [0, 78, 16, 3, 3][units] ?? 0);

export function offerOn(plan: StorePlan, day: number): DayOffer {
  const progress = progressOn(plan, day);
  const demandOf = (product: Product): number => {
    if (product.launchedAfter > progress) return 0;
    const batchFactor =
      product === plan.batch.product && isInBadBatch(plan.batch, plan.batch.variant, day)
        ? plan.batch.demandFactor
        : 1;
    const saleFactor = saleOn(plan.events, day, product)?.productDemandFactor ?? 1;
    return product.share * seasonDemand(product.season, day) * batchFactor * saleFactor;
  };
  return { day, drawProduct: weightedDraw(plan.catalogue.products, demandOf) };
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
    units: unitsOf(product, used, random),
    unitPriceMinor: Math.round(variant.priceMinor * (sale?.priceFactor ?? 1)),
    giftCard: false,
    item: {
      product,
      variant,
      returnRate: variant.returnRate * (sale?.returnFactor ?? 1),
      fromBadBatch: isInBadBatch(plan.batch, variant, offer.day),
    },
  };
}

function unitsOf(product: Product, used: boolean, random: Random): number {
  if (used) return 1;
  return product.kind === "home" ? UNITS_OF_HOME(random) : UNITS_OF_WEARABLES(random);
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
