import type { AskedItem } from "./events.ts";
import { addRefund, closeReturn, endReturn, openReturn, reopenReturn } from "./events.ts";
import { hideLedger } from "./ledger.ts";
import { REASONS } from "./reasons.ts";
import { returnableUnits } from "./units.ts";
import type { Random } from "./random.ts";
import type { Order, RestockType, Return } from "./types.ts";

const HOUR = 3600;
const DAY = 24 * HOUR;

/** The order's returns up to `now`: about one order in five has one, few have two. */
export function addReturns(random: Random, order: Order, now: number): void {
  if (order.test && random.chance(0.5)) return;
  const count = random.chance(0.22) ? (random.chance(0.12) ? 2 : 1) : 0;
  let after = order.processedAt;
  for (let made = 0; made < count; made += 1) {
    const days = random.chance(0.9) ? random.between(3, 40) : random.between(40, 120);
    const at = after + days * DAY + random.between(0, 23) * HOUR;
    if (at > now) return;
    after = at;
    const items = makeItems(random, order);
    if (items.length > 0) live(random, order, openReturn(order, items, at, random.chance(0.95)), now);
  }
}

function makeItems(random: Random, order: Order): AskedItem[] {
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

function makeItem(random: Random, lineIndex: number | null, quantity: number): AskedItem {
  return { lineIndex, quantity, reason: makeReason(random) };
}

/** The index of a reason; some give none. */
export function makeReason(random: Random): number | null {
  return random.chance(0.08) ? null : Math.floor(random.next() ** 1.5 * REASONS.length);
}

/** From here on each step happens only if its day has come. */
function live(random: Random, order: Order, request: Return, now: number): void {
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

function processedUnits(random: Random, request: Return): number[] {
  return request.items.map(({ quantity }) => {
    const fate = random.next();
    if (fate < 0.88) return quantity;
    return fate < 0.95 ? random.between(0, quantity) : 0;
  });
}

function refundReturn(random: Random, order: Order, request: Return, at: number): void {
  const createdAt = Math.max(at, order.createdAt);
  const unitsByLine = new Map<number, number>();
  for (const { lineIndex, quantity } of request.items) {
    if (lineIndex !== null) unitsByLine.set(lineIndex, (unitsByLine.get(lineIndex) ?? 0) + quantity);
  }
  const restockType: RestockType = random.chance(0.8) ? "RETURN" : "NO_RESTOCK";
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
