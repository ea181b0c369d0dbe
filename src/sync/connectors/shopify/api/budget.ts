import { isObject } from "../../kit/json.ts";
import type { Json } from "../../kit/json.ts";

/**
 * The points that the platform lets an app spend on a shop, from its last answer plus the points restored since.
 * Times are milliseconds of one clock.
 */
export type Budget = {
  /** How long to wait before a request of this document may be sent; reckons with its last cost. */
  waitMs(documentName: string, nowMs: number): number;
  /** Points are taken when a request leaves, and corrected by its answer. */
  spend(documentName: string): void;
  learn(documentName: string, extensions: unknown, nowMs: number): void;
  /** How long to wait after a refusal: (requested − available) ÷ restore rate. */
  throttledMs(extensions: unknown): number;
};

const THROTTLED_MS = 1000;

export function openBudget(): Budget {
  const costs = new Map<string, number>();
  let available = Infinity;
  let maximum = Infinity;
  let restorePerSecond = 0;
  let learnedMs = 0;
  return {
    waitMs: (documentName, nowMs) => {
      const restored = available + ((nowMs - learnedMs) / 1000) * restorePerSecond;
      const missing = (costs.get(documentName) ?? 0) - Math.min(maximum, restored);
      return missing <= 0 || restorePerSecond === 0 ? 0 : (missing / restorePerSecond) * 1000;
    },
    spend: (documentName) => {
      available -= costs.get(documentName) ?? 0;
    },
    learn: (documentName, extensions, nowMs) => {
      const cost = costOf(extensions);
      if (cost === null) return;
      if (cost.requested !== null) costs.set(documentName, cost.requested);
      ({ available, maximum, restorePerSecond } = cost);
      learnedMs = nowMs;
    },
    throttledMs: (extensions) => {
      const cost = costOf(extensions);
      if (cost === null || cost.restorePerSecond <= 0) return THROTTLED_MS;
      const missing = (cost.requested ?? 0) - cost.available;
      return Math.max(0, (missing / cost.restorePerSecond) * 1000);
    },
  };
}

type Cost = { requested: number | null; available: number; maximum: number; restorePerSecond: number };

/** null when an answer has no cost, as some errors do. */
function costOf(extensions: unknown): Cost | null {
  const cost = memberOf(extensions, "cost");
  const status = memberOf(cost, "throttleStatus");
  const available = status?.["currentlyAvailable"];
  const maximum = status?.["maximumAvailable"];
  const restorePerSecond = status?.["restoreRate"];
  const requested = cost?.["requestedQueryCost"];
  if (typeof available !== "number" || typeof maximum !== "number" || typeof restorePerSecond !== "number") {
    return null;
  }
  return {
    requested: typeof requested === "number" ? requested : null,
    available,
    maximum,
    restorePerSecond,
  };
}

function memberOf(value: unknown, name: string): Json | null {
  const member = isObject(value) ? value[name] : null;
  return isObject(member) ? member : null;
}
