import type { SourceKind } from "../store/queries/data-source.ts";

const HOUR_MS = 3_600_000;
const SHORTEST_MS = { store: HOUR_MS / 4, label_cost: HOUR_MS };
/** A third of the 36 hours after which a source is stale, so that two polls may fail. */
const LONGEST_MS = 12 * HOUR_MS;
const WEEK_MS = 7 * 24 * HOUR_MS;

/**
 * The interval until the next poll of a source: the average time between a store's orders, from 15 minutes (label sources: an
 * hour) to 12 hours. If webhooks report changes, a poll only checks that they reported all.
 */
export function pollIntervalMs(
  kind: SourceKind,
  activity: { weekOrders: number; isToldByWebhooks: boolean },
): number {
  if (activity.isToldByWebhooks) return LONGEST_MS;
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS[kind], WEEK_MS / activity.weekOrders));
}
