import Type from "typebox";
import type { Static } from "typebox";
import { Compile } from "typebox/compile";
import { pause } from "../../shared/http.ts";

/** The points that the platform lets an app spend on a shop, from its last answer plus the points restored since. */
export type Budget = {
  /** Waits until a request of this document may be sent, by its last cost, and takes the points it will cost. */
  spend(documentName: string, signal: AbortSignal): Promise<void>;
  /** How long that takes. */
  waitMs(documentName: string): number;
  learn(documentName: string, extensions: unknown): void;
  /** How long to wait after a refusal: (requested − available) ÷ restore rate. */
  throttledMs(extensions: unknown): number;
};

const THROTTLED_MS = 1000;

/** Some errors have no cost. */
const COST = Type.Object({
  cost: Type.Object({
    requestedQueryCost: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
    throttleStatus: Type.Object({
      currentlyAvailable: Type.Number(),
      maximumAvailable: Type.Number(),
      restoreRate: Type.Number(),
    }),
  }),
});
const hasCost = Compile(COST);

/** `nowMs`: milliseconds of a clock that never goes back. */
export function openBudget(nowMs: () => number = () => performance.now()): Budget {
  const costs = new Map<string, number>();
  let status = { currentlyAvailable: Infinity, maximumAvailable: Infinity, restoreRate: 0 };
  let learnedMs = 0;
  const waitMs = (documentName: string): number => {
    const restored = status.currentlyAvailable + ((nowMs() - learnedMs) / 1000) * status.restoreRate;
    const missing = (costs.get(documentName) ?? 0) - Math.min(status.maximumAvailable, restored);
    return missing <= 0 || status.restoreRate === 0 ? 0 : (missing / status.restoreRate) * 1000;
  };
  return {
    waitMs,
    spend: async (documentName, signal) => {
      const delayMs = waitMs(documentName);
      if (delayMs > 0) await pause(delayMs, signal);
      status.currentlyAvailable -= costs.get(documentName) ?? 0;
    },
    learn: (documentName, extensions) => {
      const cost = costOf(extensions);
      if (cost === null) return;
      if (cost.requestedQueryCost) costs.set(documentName, cost.requestedQueryCost);
      status = { ...cost.throttleStatus };
      learnedMs = nowMs();
    },
    throttledMs: (extensions) => {
      const cost = costOf(extensions);
      if (cost === null || cost.throttleStatus.restoreRate <= 0) return THROTTLED_MS;
      const missing = (cost.requestedQueryCost ?? 0) - cost.throttleStatus.currentlyAvailable;
      return Math.max(0, (missing / cost.throttleStatus.restoreRate) * 1000);
    },
  };
}

function costOf(extensions: unknown): Static<typeof COST>["cost"] | null {
  return hasCost.Check(extensions) ? extensions.cost : null;
}
