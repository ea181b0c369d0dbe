import type { ShopifyClient } from "../api/client.ts";
import { DOCUMENTS } from "../api/documents.ts";
import { drainPending } from "./drain.ts";
import { naming, objectAt, textAt } from "../../kit/json.ts";
import type { Json } from "../../kit/json.ts";
import { allNodes, allOf, openNodeReader, pageAt } from "../api/nodes.ts";
import { readTrackingNumber } from "../map/read-order.ts";
import type { TrackingRecord } from "../map/records.ts";
import type { ShopifyRun } from "../run.ts";

const RETURNS_PER_REQUEST = 50;

/** Fetches the tracking numbers of returns. */
export type TrackingReader = {
  /** So many returns are worth fetching together. */
  portion: () => number;
  /** Of those that have one; a return that is gone has none. */
  read: (returnIds: readonly string[]) => Promise<TrackingRecord[]>;
};

export function openTrackingReader(client: ShopifyClient): TrackingReader {
  const returns = openNodeReader(client, DOCUMENTS.trackings, RETURNS_PER_REQUEST);
  return {
    portion: returns.portion,
    read: async (returnIds) => {
      const nodes = (await returns.read(returnIds)).filter((node) => node !== null);
      const trackings = await allOf(nodes.map((node) => naming(node, () => readTrackings(client, node))));
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
async function readTrackings(client: ShopifyClient, node: Json): Promise<TrackingRecord> {
  const returnId = textAt(node, "id", "Return");
  const orders = await allNodes(pageAt(node, "reverseFulfillmentOrders", "Return"), async (after) => {
    const data = await client.query(DOCUMENTS.reverseOrders, { id: returnId, after });
    return pageAt(objectAt(data, "return", "QueryRoot"), "reverseFulfillmentOrders", "Return");
  });
  const numbers = new Set<string>();
  for (const order of orders) {
    for (const delivery of await readDeliveries(client, order)) {
      const number = readTrackingNumber(delivery);
      if (number !== null) numbers.add(number);
    }
  }
  return { returnId, trackingNumbers: [...numbers] };
}

async function readDeliveries(client: ShopifyClient, order: Json): Promise<Json[]> {
  const id = textAt(order, "id", "ReverseFulfillmentOrder");
  return allNodes(pageAt(order, "reverseDeliveries", "ReverseFulfillmentOrder"), async (after) => {
    const data = await client.query(DOCUMENTS.reverseDeliveries, { id, after });
    return pageAt(objectAt(data, "node", "QueryRoot"), "reverseDeliveries", "ReverseFulfillmentOrder");
  });
}
