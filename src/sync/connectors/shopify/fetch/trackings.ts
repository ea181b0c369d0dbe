import type { ShopifyClient } from "../api/client.ts";
import { DOCUMENTS } from "../api/documents.ts";
import { drainPending } from "./drain.ts";
import { allNodes, allOf, openNodeReader } from "../api/nodes.ts";
import { toTrackingNumber } from "../map/records.ts";
import type { TrackingRecord } from "../map/records.ts";
import type { ShopifyRun } from "../run.ts";

const RETURNS_PER_REQUEST = 50;

type ReturnNode = NonNullable<ReturnType<typeof DOCUMENTS.trackings.read>["nodes"][number]>;

/** The tracking numbers of those returns that have one; a return that is gone has none. */
export type TrackingReader = {
  /** So many returns are worth fetching together. */
  portion: () => number;
  read: (returnIds: readonly string[]) => Promise<TrackingRecord[]>;
};

export function openTrackingReader(client: ShopifyClient): TrackingReader {
  const returns = openNodeReader(client, DOCUMENTS.trackings, RETURNS_PER_REQUEST);
  return {
    portion: returns.portion,
    read: async (returnIds) => {
      const nodes = (await returns.read(returnIds)).filter((node) => node !== null);
      const trackings = await allOf(nodes.map((node) => readTrackings(client, node)));
      return trackings.filter(({ trackingNumbers }) => trackingNumbers.length > 0);
    },
  };
}

/** The tracking numbers of all returns that were asked for. */
export async function fetchTrackings(run: ShopifyRun): Promise<void> {
  const reader = openTrackingReader(run.client);
  await drainPending(run, "tracking", reader.portion, async (returnIds) => {
    const trackings = await reader.read(returnIds);
    return trackings.map((record) => ({
      part: "tracking",
      recordId: record.returnId,
      parentId: record.returnId,
      record,
    }));
  });
}

/** The numbers that stand in a return's node, and those on further pages. */
async function readTrackings(client: ShopifyClient, node: ReturnNode): Promise<TrackingRecord> {
  const numbers = new Set<string>();
  const orders = await allNodes(client, node.reverseFulfillmentOrders, DOCUMENTS.reverseOrders, node.id);
  for (const { id, reverseDeliveries } of orders) {
    const deliveries = await allNodes(client, reverseDeliveries, DOCUMENTS.reverseDeliveries, id);
    for (const delivery of deliveries) {
      const number = toTrackingNumber(delivery);
      if (number !== null) numbers.add(number);
    }
  }
  return { returnId: node.id, trackingNumbers: [...numbers] };
}
