/** Full histories of orders: every event, in any order that the platform allows. */
import {
  addRefund,
  approveReturn,
  cancelOrder,
  closeReturn,
  editOrder,
  endReturn,
  fulfill,
  openReturn,
  placeLines,
  processReturn,
  refundReturn,
  reopenReturn,
  unfulfill,
} from "./events.ts";
import { orderName } from "./ids.ts";
import { lineAmounts, lineOf, liveItems, returnableUnits, sumOf, unsentUnits } from "./units.ts";
import type { WorldRandom } from "./random.ts";
import { REASONS, type WorldLine, type WorldOrder, type WorldRestockType, type Return } from "./types.ts";

const HOUR = 3600;
const DAY = 24 * HOUR;
/** Until then exchanges in the store were a return and an order edit. */
const TILL_EXCHANGES = Date.UTC(2025, 2, 21) / 1000;
/** From then on, in shops that opted in, the ledger records returns when they are processed. */
const RETURN_PROCESSING = Date.UTC(2025, 6, 1) / 1000;
const REASON_DEFINITIONS = Date.UTC(2025, 9, 1) / 1000;

type Scene = { random: WorldRandom; order: WorldOrder; at: number; newLine: () => WorldLine };

/** Returns whether it was possible. */
type Action = (scene: Scene) => boolean;

const ACTIONS: readonly (readonly [weight: number, act: Action])[] = [
  [30, send],
  [3, takeFulfillmentBack],
  [11, removeByEdit],
  [5, addByEdit],
  [4, increaseByEdit],
  [7, refundUnsent],
  [8, refundSent],
  [4, refundBoth],
  [5, refundAmount],
  [25, askReturn],
  [15, decide],
  [3, withdraw],
  [20, confirm],
  [12, payReturn],
  [14, close],
  [3, reopen],
  [6, exchangeAtTill],
  [2, cancel],
];
const WEIGHT = sumOf(ACTIONS, ([weight]) => weight);

/** Adds an order's events up to `now`; events before do not depend on `now`. */
export function liveFully(
  random: WorldRandom,
  order: WorldOrder,
  now: number,
  newLine: () => WorldLine,
): void {
  describe(random, order);
  placeLines(order);
  const scene: Scene = { random, order, at: order.createdAt, newLine };
  if (order.createdAt > order.processedAt) {
    fulfill(order, order.createdAt);
    if (random.chance(0.2)) refundSent(scene, random.between(order.processedAt, order.createdAt - 1));
  }
  const steps = random.pick([0, 1, 2, 3, 4, 6, 8, 12, 16]);
  for (let step = 0; step < steps && order.cancelledAt === 0; step += 1) {
    const pauses = [
      random.between(60, 3 * HOUR),
      random.between(HOUR, 3 * DAY),
      random.between(DAY, 25 * DAY),
    ];
    scene.at += random.pick(pauses);
    if (scene.at > now) return;
    for (let attempt = 0; attempt < 6 && !anAction(random)(scene); attempt += 1);
  }
}

function anAction(random: WorldRandom): Action {
  let left = random.next() * WEIGHT;
  for (const [weight, act] of ACTIONS) {
    left -= weight;
    if (left < 0) return act;
  }
  return send;
}

/** Sets who placed it, how it is paid, and how its shop records returns. */
function describe(random: WorldRandom, order: WorldOrder): void {
  const moved = order.createdAt >= RETURN_PROCESSING;
  order.returnSales = random.pick(
    moved
      ? ["processing", "processing", "processing", "approval", "refund"]
      : ["approval", "approval", "refund"],
  );
  if (order.sourceName === "web") {
    order.sourceName = random.pick(["web", "web", "web", "web", "pos", "shopify_draft_order", "3890849"]);
  }
  if (random.chance(0.1)) {
    order.payment = random.pick(["PENDING", "AUTHORIZED", "PARTIALLY_PAID", "EXPIRED", "VOIDED"]);
  }
  if (random.chance(0.03)) order.tags.push("wholesale");
  if (random.chance(0.03)) order.tags.push(random.pick(["LE:Exchange", "Loop Exchange"]));
  for (const line of order.lines) {
    if (line.kind === "product" && random.chance(0.06)) line.requiresShipping = false;
  }
  const fate = random.next();
  if (fate < 0.09) makeReplacement(random, order, fate);
}

/** Makes it an order that another app created for an exchange, or a free replacement of a lost or broken parcel. */
function makeReplacement(random: WorldRandom, order: WorldOrder, fate: number): void {
  order.shippingMinor = 0;
  order.sourceName = fate < 0.06 ? "1662707" : "shopify_draft_order";
  const original = orderName(random.between(1, order.number));
  if (fate < 0.03) {
    order.name = `EXC-${original.slice(1)}`;
    order.tags.push(original);
  } else if (fate < 0.06) {
    order.tags.push("narvar_exchange_order");
  }
  const free = fate >= 0.06 || random.chance(0.8);
  const discounted = random.chance(0.5);
  for (const line of free ? order.lines : []) {
    if (discounted) line.discountMinor = line.unitPriceMinor * line.quantity;
    else Object.assign(line, { unitPriceMinor: 0, discountMinor: 0 });
  }
}

/** Some units of one of the lines that have any. */
function someUnits({ random, order }: Scene, unitsOf: (line: WorldLine, index: number) => number) {
  const found = order.lines.flatMap((line, lineIndex) => {
    const units = unitsOf(line, lineIndex);
    return units > 0 ? [{ lineIndex, units }] : [];
  });
  if (found.length === 0) return undefined;
  const { lineIndex, units } = random.pick(found);
  return { lineIndex, units: random.chance(0.6) ? units : random.between(1, units) };
}

/** The index of one of the returns that fit. */
function someReturn({ random, order }: Scene, fits: (request: Return, index: number) => boolean) {
  const found = order.returns.flatMap((request, index) => (fits(request, index) ? [index] : []));
  if (found.length === 0) return undefined;
  const index = random.pick(found);
  return { index, request: order.returns[index] as Return };
}

function toSend(line: WorldLine): number {
  return line.kind === "tip" ? 0 : unsentUnits(line);
}

function send(scene: Scene): boolean {
  const { random, order, at } = scene;
  const some = someUnits(scene, toSend);
  if (some === undefined) return false;
  fulfill(order, at, random.chance(0.6) ? undefined : [some]);
  return true;
}

function takeFulfillmentBack({ random, order, at }: Scene): boolean {
  const untouched = order.fulfillments.flatMap(({ canceled, lines }, index) => {
    const kept = lines.every(({ lineIndex }) => {
      const { fulfilled, sentBack } = lineOf(order, lineIndex);
      return sentBack === 0 && returnableUnits(order, lineIndex) === fulfilled;
    });
    return kept && !canceled ? [index] : [];
  });
  if (untouched.length === 0) return false;
  unfulfill(order, random.pick(untouched), at);
  return true;
}

function removeByEdit(scene: Scene): boolean {
  const some = someUnits(scene, toSend);
  if (some === undefined) return false;
  const add = scene.random.chance(0.3) ? [scene.newLine()] : [];
  editOrder(scene.order, scene.at, { remove: [some], add, ...besideRefund(scene) });
  return true;
}

/** The refund that the platform writes with the removal of an edit: of any restock type, mostly without money. */
function besideRefund({ random, order }: Scene) {
  const restockType: WorldRestockType = random.pick(["CANCEL", "NO_RESTOCK", "RETURN"]);
  const refund = { restockType, paid: random.chance(0.2) && order.payment === "PAID" };
  return random.chance(0.7) ? { refund } : {};
}

function addByEdit({ order, at, newLine }: Scene): boolean {
  editOrder(order, at, { add: [newLine()] });
  return true;
}

function increaseByEdit(scene: Scene): boolean {
  const some = someUnits(scene, (line) =>
    line.kind === "product" && line.discountMinor === 0 && line.currentQuantity > 0 ? 2 : 0,
  );
  if (some === undefined) return false;
  editOrder(scene.order, scene.at, { increase: [some] });
  return true;
}

/** Refunds unsent units; if a line is partly sent, only the restock type says that they were unsent. */
function refundUnsent(scene: Scene): boolean {
  const { random, order, at } = scene;
  const some = order.payment === "PAID" ? someUnits(scene, unsentUnits) : undefined;
  if (some === undefined) return false;
  const { lineIndex, units: quantity } = some;
  const { fulfilled, sentBack } = lineOf(order, lineIndex);
  const types: WorldRestockType[] =
    fulfilled > sentBack ? ["CANCEL"] : ["CANCEL", "CANCEL", "NO_RESTOCK", "RETURN"];
  addRefund(order, { at, lines: [{ lineIndex, quantity, restockType: random.pick(types) }] });
  return true;
}

/** Refunds sent units. `processedAt`: that of a refund that was imported with its order. */
function refundSent(scene: Scene, processedAt = scene.at): boolean {
  const { random, order, at } = scene;
  const some =
    order.payment === "PAID" ? someUnits(scene, (_, index) => returnableUnits(order, index)) : undefined;
  if (some === undefined) return false;
  const { lineIndex, units: quantity } = some;
  const restockType = random.pick(["RETURN", "NO_RESTOCK", "NO_RESTOCK"] as const);
  const adjustmentMinor = random.chance(0.1) ? random.between(100, 900) : 0;
  addRefund(order, { at, processedAt, lines: [{ lineIndex, quantity, restockType }], adjustmentMinor });
  return true;
}

/** Refunds all sent units of a line and some unsent ones: without a CANCEL the sent ones go first. */
function refundBoth(scene: Scene): boolean {
  const { random, order, at } = scene;
  const some = someUnits(scene, (line, index) => {
    const sent = returnableUnits(order, index);
    const isFree = order.payment === "PAID" && sent > 0 && sent === line.fulfilled - line.sentBack;
    return isFree ? unsentUnits(line) : 0;
  });
  if (some === undefined) return false;
  const { lineIndex, units } = some;
  const quantity = returnableUnits(order, lineIndex) + units;
  addRefund(order, {
    at,
    lines: [{ lineIndex, quantity, restockType: random.pick(["RETURN", "NO_RESTOCK"]) }],
  });
  return true;
}

function refundAmount({ random, order, at }: Scene): boolean {
  if (order.payment !== "PAID") return false;
  const shipped = order.shippingMinor > 0 && !order.refunds.some(({ shippingMinor }) => shippingMinor > 0);
  if (shipped && random.chance(0.4)) addRefund(order, { at, lines: [], shippingMinor: order.shippingMinor });
  else addRefund(order, { at, lines: [], adjustmentMinor: random.between(100, 900) });
  return true;
}

function askReturn(scene: Scene): boolean {
  const { random, order, at, newLine } = scene;
  const some = someUnits(scene, (line, index) => (line.kind === "tip" ? 0 : returnableUnits(order, index)));
  if (some === undefined) return false;
  const other = someUnits(scene, (line, index) =>
    line.kind === "tip" || index === some.lineIndex ? 0 : returnableUnits(order, index),
  );
  const items = (other !== undefined && random.chance(0.3) ? [some, other] : [some]).map(
    ({ lineIndex, units }) => asked(scene, lineIndex, units),
  );
  if (random.chance(0.03)) items.push(asked(scene, null, 1));
  const native = order.returnSales !== "refund" && random.chance(0.3);
  const exchange = native ? [random.chance(0.4) ? again(order, some) : newLine()] : [];
  const request = openReturn(order, items, at, random.chance(0.8), exchange);
  if (random.chance(0.5)) request.trackingNumbers.push(`1Z${order.number}${random.between(1000, 9999)}`);
  return true;
}

/** The index of a reason; some give none. */
export function makeReason(random: WorldRandom): number | null {
  return random.chance(0.08) ? null : Math.floor(random.next() ** 1.5 * REASONS.length);
}

function asked({ random, at }: Scene, lineIndex: number | null, quantity: number) {
  const legacyReason = at < REASON_DEFINITIONS && random.chance(0.7);
  return { lineIndex, quantity, reason: makeReason(random), legacyReason };
}

/** The same goods again, at the price paid for them: an even exchange. */
function again(order: WorldOrder, { lineIndex, units }: { lineIndex: number; units: number }): WorldLine {
  const line = lineOf(order, lineIndex);
  const paid = lineAmounts(line, order.taxesIncluded);
  const total = paid.netMinor + (order.taxesIncluded ? paid.taxMinor : 0);
  const unitPriceMinor = Math.round(total / line.quantity);
  const fresh = { fulfilled: 0, sentBack: 0, discountMinor: 0, quantity: units, currentQuantity: units };
  return { ...line, ...fresh, unitPriceMinor };
}

function decide(scene: Scene): boolean {
  const { random, order, at } = scene;
  const found = someReturn(scene, ({ status }) => status === "REQUESTED");
  if (found === undefined) return false;
  if (random.chance(0.75)) approveReturn(order, found.index, at);
  else endReturn(order, found.request, at, "DECLINED");
  return true;
}

/** Cancels a return that was not yet processed; the resulting ledger entries are not documented. */
function withdraw(scene: Scene): boolean {
  const { order, at } = scene;
  if (order.returnSales === "approval") return false;
  const found = someReturn(
    scene,
    ({ status, items, exchanges }, index) =>
      status === "OPEN" &&
      [...items, ...exchanges].every(({ processed }) => processed === 0) &&
      !order.refunds.some(({ returnIndex }) => returnIndex === index),
  );
  if (found === undefined) return false;
  endReturn(order, found.request, at, "CANCELED");
  return true;
}

/** Processes items and exchanges of a return: all, a part, or only the exchanges; mostly with the refund. */
function confirm(scene: Scene): boolean {
  const { random, order, at } = scene;
  if (order.returnSales === "refund") return false;
  const found = someReturn(scene, ({ status, items, exchanges }) => {
    const left = items.some(({ quantity, processed }) => processed < quantity);
    return (
      status === "OPEN" && (left || exchanges.some(({ wanted, processed }) => processed < wanted.quantity))
    );
  });
  if (found === undefined) return false;
  const { index, request } = found;
  const whole = random.chance(0.6);
  const exchangesFirst = request.exchanges.length > 0 && random.chance(0.3);
  const some = (units: number): number => (whole ? units : random.between(0, units));
  const items = request.items.map(({ quantity }) => (exchangesFirst ? 0 : some(quantity)));
  const exchanges = request.exchanges.map(({ wanted }) => some(wanted.quantity));
  processReturn(order, index, at, { items, exchanges });
  if (order.payment === "PAID" && random.chance(0.6)) refundReturn(order, index, at, restock(random));
  return true;
}

function restock(random: WorldRandom): WorldRestockType {
  return random.chance(0.8) ? "RETURN" : "NO_RESTOCK";
}

function payReturn(scene: Scene): boolean {
  const { random, order, at } = scene;
  const found = someReturn(scene, ({ status }) => status === "OPEN" || status === "CLOSED");
  if (found === undefined || order.payment !== "PAID") return false;
  const before = order.refunds.length;
  refundReturn(order, found.index, at, restock(random));
  return order.refunds.length > before;
}

function close(scene: Scene): boolean {
  const { random, order, at } = scene;
  const found = someReturn(scene, ({ status }) => status === "OPEN");
  if (found === undefined) return false;
  const processed = found.request.items.map(({ quantity, processed: done }) =>
    random.chance(0.85) ? quantity : random.between(done, quantity),
  );
  closeReturn(order, found.request, at, processed);
  return true;
}

function reopen(scene: Scene): boolean {
  const found = someReturn(scene, ({ status }) => status === "CLOSED");
  if (found === undefined) return false;
  reopenReturn(scene.order, found.request, scene.at);
  return true;
}

/** Return and new goods in one visit to the store; before March 2025, and in shops that opted out, the goods came by an edit. */
function exchangeAtTill(scene: Scene): boolean {
  const { random, order, at, newLine } = scene;
  if (order.returnSales === "refund") return false;
  const some = someUnits(scene, (line, index) => (line.kind === "tip" ? 0 : returnableUnits(order, index)));
  if (some === undefined) return false;
  const byEdit = at < TILL_EXCHANGES || order.number % 10 === 0;
  const goods = random.chance(0.4) ? again(order, some) : newLine();
  const index = order.returns.length;
  const items = [asked(scene, some.lineIndex, some.units)];
  const request = openReturn(order, items, at, true, byEdit ? [] : [goods]);
  processReturn(order, index, at);
  if (byEdit) editOrder(order, at, { add: [goods] });
  const lineIndex = order.lines.length - 1;
  fulfill(order, at, [{ lineIndex, units: goods.quantity }]);
  const taken = byEdit ? [lineIndex] : [];
  if (order.payment === "PAID") refundReturn(order, index, at, restock(random), taken);
  closeReturn(order, request, at);
  return true;
}

/** Cancels the order if nothing was sent. */
function cancel({ random, order, at }: Scene): boolean {
  if (order.fulfillments.some(({ canceled }) => !canceled) || liveItems(order).length > 0) return false;
  cancelOrder(order, at, random.pick(["CANCEL", "NO_RESTOCK"]));
  return true;
}
