import {
  addRefund,
  cancelOrder,
  editOrder,
  fulfill,
  placeLines,
  closeReturn,
  endReturn,
  openReturn,
  reopenReturn,
  type AskedItem,
} from "./events.ts";
import { orderName } from "./ids.ts";
import { liveFully, makeReason } from "./lives.ts";
import { randomOf, type WorldRandom } from "./random.ts";
import type { WorldLine, WorldOrder, WorldProduct, WorldRestockType, WorldVariant, Return } from "./types.ts";
import { hideLedger, lineAmounts, refundableUnits, returnableUnits } from "./units.ts";

const HOUR = 3600;
const DAY = 24 * HOUR;
/** Orders of the first quarter were imported from another platform on one day. */
const IMPORTED_DAYS = 92;

type OrderPlan = {
  seed: number;
  orders: number;
  now: number;
  historyDays: number;
  products: readonly WorldProduct[];
  histories: "plain" | "full";
};

/** One order with all that happened to it up to `now`. */
export function makeOrder(plan: OrderPlan, number: number): WorldOrder {
  const random = randomOf(plan.seed, 2, number);
  const start = plan.now - plan.historyDays * DAY;
  const share = (number - 1 + random.next()) / plan.orders;
  const processedAt = Math.floor(start + share * (plan.historyDays * DAY - HOUR));
  const importedAt = start + IMPORTED_DAYS * DAY;
  const order = newOrder(number, processedAt, Math.max(processedAt, importedAt));
  order.test = random.chance(0.01);
  order.taxesIncluded = random.chance(0.4);
  order.shippingMinor = random.chance(0.6) ? random.pick([395, 495, 990]) : 0;
  const count = random.pick([1, 1, 1, 2, 2, 3, 4]);
  for (let index = 0; index < count; index += 1) order.lines.push(makeLine(random, plan.products));
  if (random.chance(0.01)) order.lines.push(tipLine(random));
  if (plan.histories === "full") {
    liveFully(random, order, plan.now, () => makeLine(random, plan.products));
    return order;
  }
  placeLines(order);
  live(plan, random, order);
  // What happened was made by kind; the platform writes it as it happens.
  order.agreements.sort((one, other) => one.at - other.at);
  order.history.sort((one, other) => one.at - other.at);
  return order;
}

export function newOrder(number: number, processedAt: number, createdAt: number): WorldOrder {
  return {
    number,
    name: orderName(number),
    tags: [],
    sourceName: createdAt === processedAt ? "web" : "import",
    payment: "PAID",
    createdAt,
    processedAt,
    updatedAt: createdAt,
    cancelledAt: 0,
    test: false,
    taxesIncluded: false,
    shippingMinor: 0,
    returnSales: "refund",
    lines: [],
    fulfillments: [],
    returns: [],
    refunds: [],
    agreements: [],
    ledgerShown: true,
    history: [],
  };
}

/** A line of one variant at its current price. */
export function variantLine(product: WorldProduct, variant: WorldVariant, quantity: number): WorldLine {
  return {
    ...newLine(product.title, quantity, variant.priceMinor),
    kind: product.giftCard ? "giftCard" : "product",
    product,
    variant,
    sku: variant.sku,
    vendor: product.vendor,
    requiresShipping: !product.giftCard,
    taxPerMille: product.giftCard ? 0 : 190,
  };
}

/** A line that is of no product. */
function newLine(title: string, quantity: number, unitPriceMinor: number): WorldLine {
  const amounts = { unitPriceMinor, discountMinor: 0, taxPerMille: 190 };
  const units = { quantity, currentQuantity: quantity, fulfilled: 0, sentBack: 0, addedAt: 0 };
  const goods = { product: null, variant: null, sku: null, title, vendor: null, requiresShipping: false };
  return { kind: "custom", ...goods, ...units, ...amounts };
}

function makeLine(random: WorldRandom, products: readonly WorldProduct[]): WorldLine {
  const quantity = random.pick([1, 1, 1, 1, 1, 1, 2, 2, 3, 5]);
  if (random.chance(0.015)) return customLine(random, quantity);
  const product = pickProduct(random, products);
  const variant = random.pick(product.variants);
  const line = variantLine(product, variant, quantity);
  if (line.kind === "product") {
    line.taxPerMille = random.pick([190, 190, 70, 0]);
    if (random.chance(0.25)) {
      line.discountMinor = Math.round(line.unitPriceMinor * quantity * random.pick([0.1, 0.2, 0.333]));
    }
    // The product was deleted since: the platform keeps the line's own words only.
    if (random.chance(0.01)) return { ...line, product: null, variant: null };
  }
  return line;
}

/** Few products sell most. */
function pickProduct(random: WorldRandom, products: readonly WorldProduct[]): WorldProduct {
  const product = products[Math.floor(random.next() ** 2 * products.length)];
  if (product === undefined) throw new Error("the shop sells nothing");
  return product;
}

function customLine(random: WorldRandom, quantity: number): WorldLine {
  const sku = random.chance(0.3) ? "CUSTOM-WORK" : null;
  const title = random.pick(["Repair", "Engraving", "Special order"]);
  return { ...newLine(title, quantity, random.between(500, 9000)), sku };
}

function tipLine(random: WorldRandom): WorldLine {
  const line = customLine(random, 1);
  const unitPriceMinor = random.between(100, 1500);
  return { ...line, kind: "tip", title: "Tip", sku: null, unitPriceMinor, taxPerMille: 0 };
}

/** What happens after the order was placed, each only if its day has come. */
function live(plan: OrderPlan, random: WorldRandom, order: WorldOrder): void {
  const { now } = plan;
  const soon = order.processedAt + random.between(1, 20) * HOUR;
  if (random.chance(0.02)) {
    if (soon <= now) cancelOrder(order, Math.max(soon, order.createdAt));
    return;
  }
  if (random.chance(0.04) && soon <= now) edit(random, order, soon, plan.products);
  if (random.chance(0.03) && soon + HOUR <= now) cancelUnits(random, order, soon + HOUR);
  fulfill(order, Math.max(order.createdAt, Math.min(order.processedAt + DAY, now - HOUR)));
  addReturns(random, order, now);
  if (random.chance(0.05)) addUnlinkedRefund(random, order, now);
  if (random.chance(0.02)) addMoneyOnlyRefund(random, order, now);
}

function edit(random: WorldRandom, order: WorldOrder, at: number, products: readonly WorldProduct[]): void {
  const lineIndex = random.between(0, order.lines.length - 1);
  const line = order.lines[lineIndex];
  if (line === undefined || line.kind === "tip") return;
  const remove = [{ lineIndex, units: random.between(1, line.quantity) }];
  const add = random.chance(0.4) ? [makeLine(random, products)] : [];
  editOrder(order, at, { remove, add });
}

function cancelUnits(random: WorldRandom, order: WorldOrder, at: number): void {
  const lineIndex = random.between(0, order.lines.length - 1);
  const quantity = random.between(1, Math.max(1, refundableUnits(order, lineIndex)));
  addRefund(order, {
    at: Math.max(at, order.createdAt),
    processedAt: at,
    lines: [{ lineIndex, quantity, restockType: "CANCEL" }],
  });
}

function addUnlinkedRefund(random: WorldRandom, order: WorldOrder, now: number): void {
  const processedAt = order.processedAt + random.between(2, 70) * DAY;
  if (processedAt > now) return;
  const imported = order.createdAt > order.processedAt;
  const lineIndex = random.between(0, order.lines.length - 1);
  const left = refundableUnits(order, lineIndex);
  const restockType: WorldRestockType = imported ? "LEGACY_RESTOCK" : random.pick(["RETURN", "NO_RESTOCK"]);
  const split = left >= 2 && random.chance(0.3);
  const quantity = split ? 1 : random.between(1, Math.max(1, left));
  const line = { lineIndex, quantity, restockType };
  addRefund(order, {
    at: Math.max(processedAt, order.createdAt),
    processedAt,
    lines: split ? [line, line] : [line],
  });
  hideLedger(order, random.chance(0.1));
}

function addMoneyOnlyRefund(random: WorldRandom, order: WorldOrder, now: number): void {
  const at = Math.max(order.createdAt, order.processedAt + random.between(1, 40) * DAY);
  const line = order.lines[0];
  if (at > now || line === undefined || line.kind !== "product") return;
  if (random.chance(0.5)) {
    addRefund(order, { at, lines: [], adjustmentMinor: random.between(100, 900) });
    return;
  }
  const subtotalMinor = Math.max(1, Math.round(lineAmounts(line, order.taxesIncluded).netMinor / 20));
  addRefund(order, {
    at,
    lines: [{ lineIndex: 0, quantity: 0, restockType: "NO_RESTOCK", subtotalMinor }],
  });
  hideLedger(order, random.chance(0.5));
}

/** The order's returns up to `now`: about one order in five has one, few have two. */
function addReturns(random: WorldRandom, order: WorldOrder, now: number): void {
  if (order.test && random.chance(0.5)) return;
  const count = random.chance(0.22) ? (random.chance(0.12) ? 2 : 1) : 0;
  let after = order.processedAt;
  for (let made = 0; made < count; made += 1) {
    const days = random.chance(0.9) ? random.between(3, 40) : random.between(40, 120);
    const at = after + days * DAY + random.between(0, 23) * HOUR;
    if (at > now) return;
    after = at;
    const items = makeItems(random, order);
    if (items.length > 0) processLater(random, order, openReturn(order, items, at, random.chance(0.95)), now);
  }
}

function makeItems(random: WorldRandom, order: WorldOrder): AskedItem[] {
  const items: AskedItem[] = [];
  const first = random.between(0, order.lines.length - 1);
  const indexes = random.chance(0.2) ? [first, (first + 1) % order.lines.length] : [first];
  for (const lineIndex of new Set(indexes)) {
    const left = returnableUnits(order, lineIndex);
    if (left === 0 || order.lines[lineIndex]?.kind === "tip") continue;
    const quantity = random.between(1, left);
    if (quantity >= 2 && random.chance(0.4)) {
      items.push(makeItem(random, lineIndex, quantity - 1), makeItem(random, lineIndex, 1));
    } else {
      items.push(makeItem(random, lineIndex, quantity));
    }
  }
  if (items.length > 0 && random.chance(0.03)) items.push(makeItem(random, null, 1));
  return items;
}

function makeItem(random: WorldRandom, lineIndex: number | null, quantity: number): AskedItem {
  return { lineIndex, quantity, reason: makeReason(random) };
}

/** From here on each step happens only if its day has come. */
function processLater(random: WorldRandom, order: WorldOrder, request: Return, now: number): void {
  if (random.chance(0.6)) {
    request.trackingNumbers.push(`1Z${String(order.number).padStart(8, "0")}${random.between(1000, 9999)}`);
  }
  const fate = random.next();
  const later = request.createdAt + random.between(2, 15) * DAY + random.between(0, 23) * HOUR;
  if (fate < 0.05 || fate > 0.95) {
    if (later <= now) endReturn(order, request, later, fate < 0.05 ? "DECLINED" : "CANCELED");
    return;
  }
  if (request.status === "REQUESTED" && random.chance(0.5)) return;
  // Some refund before the parcel arrives, most when it does, some only later.
  const refundAt = later + random.pick([-2, 0, 0, 0, 1, 4]) * DAY;
  if (random.chance(0.86) && refundAt <= now) refundReturn(random, order, request, refundAt);
  if (fate < 0.15 || later > now) return;
  closeReturn(order, request, later, processedUnits(random, request));
  const again = later + random.between(1, 9) * DAY;
  if (random.chance(0.05) && again <= now) reopenReturn(order, request, again);
}

function processedUnits(random: WorldRandom, request: Return): number[] {
  return request.items.map(({ quantity }) => {
    const fate = random.next();
    if (fate < 0.88) return quantity;
    return fate < 0.95 ? random.between(0, quantity) : 0;
  });
}

function refundReturn(random: WorldRandom, order: WorldOrder, request: Return, at: number): void {
  const createdAt = Math.max(at, order.createdAt);
  const unitsByLine = new Map<number, number>();
  for (const { lineIndex, quantity } of request.items) {
    if (lineIndex !== null) unitsByLine.set(lineIndex, (unitsByLine.get(lineIndex) ?? 0) + quantity);
  }
  const restockType: WorldRestockType = random.chance(0.8) ? "RETURN" : "NO_RESTOCK";
  const lines = [...unitsByLine].map(([lineIndex, quantity]) => ({
    lineIndex,
    quantity: random.chance(0.9) ? quantity : random.between(1, quantity),
    restockType,
  }));
  addRefund(order, {
    at: createdAt,
    processedAt: at,
    lines,
    returnIndex: order.returns.indexOf(request),
  });
  hideLedger(order, random.chance(0.06));
}
