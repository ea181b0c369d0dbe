/** Full histories of orders: every event, in any order that the platform allows. */
import {
  addRefund,
  approveReturn,
  cancelOrder,
  closeReturn,
  editOrder,
  endReturn,
  failFulfillment,
  fulfill,
  openReturn,
  placeLines,
  processReturn,
  refundReturn,
  reopenReturn,
  shrinkReturn,
  unfulfill,
  type AskedItem,
} from "./events.ts";
import { orderName } from "./ids.ts";
import { lineAmounts, lineOf, liveItems, returnableUnits, sumOf, unsentUnits } from "./units.ts";
import type { WorldRandom } from "./random.ts";
import { REASONS } from "./types.ts";
import type { WorldLine, WorldOrder, WorldRestockType, Return, ReturnItem } from "./types.ts";

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
  [2, fail],
  [9, removeByEdit],
  [5, addByEdit],
  [6, increaseByEdit],
  [3, discountByEdit],
  [9, refundUnsent],
  [8, refundSent],
  [8, refundBoth],
  [5, refundAmount],
  [25, askReturn],
  [15, decide],
  [6, withdraw],
  [6, shrink],
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
  const steps = random.pick([0, 1, 2, 3, 4, 8, 12, 16, 20, 24]);
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
    if (line.kind !== "product") continue;
    if (random.chance(0.06)) line.requiresShipping = false;
    if (!random.chance(0.4)) continue;
    const quantity = random.between(2, 8);
    Object.assign(line, { quantity, currentQuantity: quantity });
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

/** A parcel that never left. */
function fail(scene: Scene): boolean {
  const some = someUnits(scene, toSend);
  if (some === undefined) return false;
  failFulfillment(scene.order, scene.at, some.lineIndex, some.units);
  return true;
}

/** Some edits remove units of two lines, or also add a line. */
function removeByEdit(scene: Scene): boolean {
  const { random, order, at, newLine } = scene;
  const some = someUnits(scene, toSend);
  if (some === undefined) return false;
  const other = someUnits(scene, (line, index) => (index === some.lineIndex ? 0 : toSend(line)));
  const remove = other !== undefined && random.chance(0.2) ? [some, other] : [some];
  const add = random.chance(0.3) ? [newLine()] : [];
  editOrder(order, at, { remove, add, ...besideRefund(scene) });
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

/** Lowers the price of a line of which nothing was taken back. */
function discountByEdit({ random, order, at }: Scene): boolean {
  const found = order.lines.flatMap(({ kind, unitPriceMinor, quantity, currentQuantity }, lineIndex) =>
    kind === "product" && unitPriceMinor > 0 && quantity === currentQuantity ? [lineIndex] : [],
  );
  if (found.length === 0) return false;
  editOrder(order, at, {
    discount: [{ lineIndex: random.pick(found), discountMinor: random.between(1, 200) }],
  });
  return true;
}

/** Of whose units it is not clear whether the customer keeps them. */
function hasUnclearReturn({ returns, returnSales }: WorldOrder): boolean {
  return returns.some(({ status, items }) => {
    const isPart = items.some(({ processed, quantity }) => processed < quantity);
    return status === "REQUESTED" || (status === "CLOSED" && isPart && returnSales !== "processing");
  });
}

/** Refunds unsent units; if some of a line were sent, only the restock type says that they were unsent. */
function refundUnsent(scene: Scene): boolean {
  const { random, order, at } = scene;
  const some = order.payment === "PAID" ? someUnits(scene, unsentUnits) : undefined;
  if (some === undefined) return false;
  const { lineIndex, units: quantity } = some;
  const areOthersBack = returnableUnits(order, lineIndex) === 0 && !hasUnclearReturn(order);
  const types: WorldRestockType[] = areOthersBack ? ["CANCEL", "NO_RESTOCK", "RETURN"] : ["CANCEL"];
  addRefund(order, { at, lines: [{ lineIndex, quantity, restockType: random.pick(types), sentAtMost: 0 }] });
  return true;
}

/** Refunds sent units. `processedAt`: that of a refund that was imported with its order. */
function refundSent(scene: Scene, processedAt = scene.at): boolean {
  const { random, order, at } = scene;
  const some =
    order.payment === "PAID" ? someUnits(scene, (_, index) => returnableUnits(order, index)) : undefined;
  if (some === undefined) return false;
  const { lineIndex, units } = some;
  const parts = units > 1 && random.chance(0.3) ? [units - 1, 1] : [units];
  const lines = parts.map((quantity) => {
    const restockType = random.pick(["RETURN", "NO_RESTOCK", "NO_RESTOCK", "LEGACY_RESTOCK"] as const);
    return { lineIndex, quantity, restockType };
  });
  const adjustmentMinor = random.chance(0.1) ? random.between(100, 900) : 0;
  addRefund(order, { at, processedAt, lines, adjustmentMinor });
  return true;
}

/** Refunds all sent units of a line and some unsent ones: without a CANCEL, which has its own row, the sent ones go first. */
function refundBoth(scene: Scene): boolean {
  const { random, order, at } = scene;
  const some = someUnits(scene, (line, index) => {
    const isClear = order.payment === "PAID" && !hasUnclearReturn(order);
    return isClear && returnableUnits(order, index) > 0 ? unsentUnits(line) : 0;
  });
  if (some === undefined) return false;
  const { lineIndex, units } = some;
  const sent = returnableUnits(order, lineIndex);
  const restockType = random.pick(["RETURN", "NO_RESTOCK"] as const);
  const unsent = { lineIndex, quantity: units, restockType: "CANCEL" as const };
  const apart = [{ lineIndex, quantity: sent, restockType }, unsent];
  const together = [{ lineIndex, quantity: sent + units, restockType, sentAtMost: sent }];
  addRefund(order, { at, lines: random.pick([together, together, apart, apart.toReversed()]) });
  return true;
}

/** Refunds the shipping, an amount of no line, or an amount of a line without units. */
function refundAmount({ random, order, at }: Scene): boolean {
  if (order.payment !== "PAID") return false;
  const shipped = order.shippingMinor > 0 && !order.refunds.some(({ shippingMinor }) => shippingMinor > 0);
  const lineIndex = order.lines.findIndex(
    ({ kind, unitPriceMinor }) => kind === "product" && unitPriceMinor > 0,
  );
  const part = {
    lineIndex,
    quantity: 0,
    restockType: "NO_RESTOCK",
    subtotalMinor: random.between(1, 400),
  } as const;
  if (shipped && random.chance(0.4)) addRefund(order, { at, lines: [], shippingMinor: order.shippingMinor });
  else if (lineIndex >= 0 && random.chance(0.5)) addRefund(order, { at, lines: [part] });
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
  const items = (other !== undefined && random.chance(0.3) ? [some, other] : [some]).flatMap(
    ({ lineIndex, units }) => askedOf(scene, lineIndex, units),
  );
  if (random.chance(0.03)) items.push(asked(scene, null, 1));
  const native = order.returnSales !== "refund" && random.chance(0.4);
  const exchange = native ? [random.chance(0.4) ? again(order, some) : newLine()] : [];
  if (native && random.chance(0.3)) exchange.push({ ...newLine(), quantity: 3, currentQuantity: 3 });
  const request = openReturn(order, items, at, random.chance(0.8), exchange);
  if (random.chance(0.5)) request.trackingNumbers.push(`1Z${order.number}${random.between(1000, 9999)}`);
  return true;
}

/** The index of a reason; some give none. */
export function makeReason(random: WorldRandom): number | null {
  return random.chance(0.08) ? null : Math.floor(random.next() ** 1.5 * REASONS.length);
}

/** Some units of a line come back for another reason than the others. */
function askedOf(scene: Scene, lineIndex: number, units: number): AskedItem[] {
  const first = units > 1 && scene.random.chance(0.3) ? scene.random.between(1, units - 1) : 0;
  return [first, units - first].flatMap((part) => (part > 0 ? [asked(scene, lineIndex, part)] : []));
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

/** Cancels a return of which nothing was processed or refunded, and whose exchanges, if they are sold already, are as they were. */
function withdraw(scene: Scene): boolean {
  const { order, at } = scene;
  const found = someReturn(scene, ({ status, items, exchanges }, index) => {
    const isUntouched = exchanges.every(({ processed, lineIndexes }) => {
      const lines = lineIndexes.map((lineIndex) => lineOf(order, lineIndex));
      if (order.returnSales !== "approval") return processed === 0;
      return lines.every((line) => line.fulfilled === 0 && line.currentQuantity >= processed);
    });
    const isProcessed = items.some(({ processed }) => processed > 0);
    return status === "OPEN" && isUntouched && !isProcessed && isNewest(order, index);
  });
  if (found === undefined) return false;
  endReturn(order, found.request, at, "CANCELED");
  return true;
}

/** Nothing was refunded since it was requested: nobody knows when a return was canceled or changed, so no refund depends on it. */
function isNewest({ returns, refunds }: WorldOrder, index: number): boolean {
  return refunds.every(({ createdAt }) => createdAt < (returns[index]?.createdAt ?? 0));
}

/** Takes units off an item of an open return that were not processed, or off an exchange of it that was not sent. */
function shrink(scene: Scene): boolean {
  const { random, order, at } = scene;
  if (order.returnSales === "refund") return false;
  const canShrink = ({ quantity, processed }: ReturnItem): boolean => quantity - Math.max(1, processed) > 0;
  const canLose = ({ processed, lineIndexes: [lineIndex] }: Return["exchanges"][number]): boolean => {
    if (order.returnSales !== "approval" || lineIndex === undefined || processed < 2) return false;
    const { fulfilled, currentQuantity } = lineOf(order, lineIndex);
    return fulfilled === 0 && currentQuantity >= processed;
  };
  const found = someReturn(scene, ({ status, items, exchanges }, index) => {
    const isPossible = items.some(canShrink) || exchanges.some(canLose);
    return status === "OPEN" && isPossible && isNewest(order, index);
  });
  if (found === undefined) return false;
  const { request, index } = found;
  const exchanges = request.exchanges.filter(canLose).slice(0, 1);
  const items = request.items.filter(canShrink).slice(exchanges.length > 0 && random.chance(0.5) ? 1 : 0);
  shrinkReturn(order, index, at, {
    items: items.slice(0, 1).map((item) => {
      return { item, units: random.between(1, item.quantity - Math.max(1, item.processed)) };
    }),
    exchanges: exchanges.map((exchange) => ({ exchange, units: random.between(1, exchange.processed - 1) })),
  });
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
  return random.pick(["RETURN", "RETURN", "RETURN", "LEGACY_RESTOCK", "NO_RESTOCK"]);
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

/** Reopens a return whose units that were not processed are still there. */
function reopen(scene: Scene): boolean {
  const { order } = scene;
  const found = someReturn(scene, ({ status, items }) => {
    const isThere = order.lines.every((_, lineIndex) => {
      const ofLine = items.filter((item) => item.lineIndex === lineIndex);
      const units = sumOf(ofLine, ({ quantity, processed }) => quantity - processed);
      return order.returnSales !== "processing" || units <= returnableUnits(order, lineIndex);
    });
    return status === "CLOSED" && isThere;
  });
  if (found === undefined) return false;
  reopenReturn(order, found.request, scene.at);
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
