import type { ProductKind } from "./assortment.ts";
import { BATCH_DEFECT_RATE } from "./bad-batch.ts";
import { DAY_MS } from "./calendar.ts";
import type { Order, OrderLine, OrderedItem } from "./orders.ts";
import { soldUnits } from "./orders.ts";
import type { Random, WeightedDraw } from "./random.ts";
import { weightedDraw } from "./random.ts";

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

function drawReason(item: OrderedItem, random: Random): string {
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

export type DemoReturnStatus = "REQUESTED" | "OPEN" | "CLOSED" | "DECLINED" | "CANCELED";

/** One return request of an order, as it stands at the end of the store's history. */
export interface ReturnCase {
  returnId: string;
  status: DemoReturnStatus;
  requestedAt: number;
  closedAt: number | null;
  /** Settled by sending another size: closed without any refund. */
  exchange: boolean;
  lines: ReturnedLine[];
}

export interface ReturnedLine {
  line: OrderLine;
  item: OrderedItem;
  units: number;
  /** Units that arrived and were accepted, at least one. */
  acceptedUnits: number;
  /** Whether the platform says how many units were processed. */
  processedReported: boolean;
  reason: string;
}

interface Timing {
  requestedAt: number;
  settledAt: number;
}

type Outcome = "CLOSED" | "DECLINED" | "CANCELED" | "STALLED";

/** Out of a hundred requests; only CLOSED ones count, so that more are drawn than the return rate says. */
const OUTCOME_WEIGHTS: Record<Outcome, number> = { CLOSED: 92, DECLINED: 4, CANCELED: 3.4, STALLED: 0.6 };
const CLOSED_SHARE = OUTCOME_WEIGHTS.CLOSED / 100;
const drawOutcome = weightedDraw(
  ["CLOSED", "DECLINED", "CANCELED", "STALLED"] satisfies Outcome[],
  (outcome) => OUTCOME_WEIGHTS[outcome],
);

/** Simulates the return requests of an order up to endAt; later ones are left out. */
export function simulateReturns(
  order: Order,
  endAt: number,
  nextReturnId: () => string,
  random: Random,
): ReturnCase[] {
  const wishes = order.lines.flatMap((line) => wishToReturn(order, line, random) ?? []);
  return groupIntoParcels(wishes, random).flatMap((lines) => {
    const fromBadBatch = lines.some(({ item }) => item.fromBadBatch);
    const timing = fromBadBatch ? fastTiming(order.orderedAt, random) : usualTiming(order.orderedAt, random);
    const outcome = fromBadBatch ? "CLOSED" : drawOutcome(random);
    const exchange =
      !fromBadBatch && lines.every(({ item }) => item.product.kind !== "home") && random.chance(0.1);
    if (timing.requestedAt >= endAt) return [];
    return [{ returnId: nextReturnId(), ...stateAt(endAt, outcome, timing), exchange, lines }];
  });
}

function wishToReturn(order: Order, line: OrderLine, random: Random): ReturnedLine | null {
  const sold = soldUnits(order, line);
  const { item } = line;
  if (item === null || sold === 0) return null;
  const defective = item.fromBadBatch && random.chance(BATCH_DEFECT_RATE);
  if (!defective && !random.chance(Math.min(0.8, item.returnRate / CLOSED_SHARE))) return null;
  const units = sold === 1 || random.chance(0.7) ? sold : random.integer(1, sold - 1);
  return {
    line,
    item,
    units,
    acceptedUnits: units > 1 && random.chance(0.2) ? units - 1 : units,
    processedReported: random.chance(0.9),
    reason: defective ? "defective" : drawReason(item, random),
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
