import type { SourceKind } from "../store/queries/data-source.ts";

const HOUR_MS = 3_600_000;
const SHORTEST_MS = { store: HOUR_MS / 4, label_cost: HOUR_MS };
/** A third of the 36 hours after which a source is stale, so that two polls may fail. */
const LONGEST_MS = 12 * HOUR_MS;
const WEEK_MS = 7 * 24 * HOUR_MS;

/**
 * How long after one poll of a source the next is due: as long as a store takes for an order, from a quarter of an hour (label
 * sources: an hour) to 12 hours. Where webhooks tell what changes, a poll only checks that they told all.
 */
export function pollIntervalMs(
  kind: SourceKind,
  activity: { weekOrders: number; isToldByWebhooks: boolean },
): number {
  if (activity.isToldByWebhooks) return LONGEST_MS;
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS[kind], WEEK_MS / activity.weekOrders));
}
