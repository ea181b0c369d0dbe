import { listOrdersSince } from "../../../../store/queries/shopify-record.ts";
import type { ShopifyClient } from "../api/client.ts";
import { DOCUMENTS } from "../api/documents.ts";
import type { StoredRecord } from "./downloads.ts";
import { drainPending } from "./drain.ts";
import { fetchAgreements } from "./ledger.ts";
import { readRefunds } from "./refunds.ts";
import { openTrackingReader } from "./trackings.ts";
import { surelyVisibleFrom } from "./history.ts";
import { naming, objectAt } from "../../kit/json.ts";
import type { Json } from "../../kit/json.ts";
import { allNodes, openNodeReader, pageAt } from "../api/nodes.ts";
import { readLine, readOrder, readReturn, readReturnLine } from "../map/read-order.ts";
import type { ReturnLineRecord, ReturnRecord, ShopifyOrder } from "../map/records.ts";
import type { ShopifyRun } from "../run.ts";
import { DELETED_ORDER } from "../webhooks/delivery.ts";

const ORDERS_PER_REQUEST = 10;

/**
 * All orders that were asked for, each whole; an order that is gone becomes a record without content. One that the app
 * may just not see any more is left as it is stored, unless the platform has said that it is deleted.
 */
export async function fetchOrders(run: ShopifyRun): Promise<void> {
  const reader = openOrderReader(run.client);
  await drainPending(run, "order", reader.portion, async (orderIds) => {
    const orders = await reader.read(orderIds);
    const missing = orderIds.filter((_, index) => orders[index] === null);
    const gone = new Set(await goneOf(run, missing));
    return recordsOf(orderIds, orders).filter(
      ({ record, recordId }) => record !== null || gone.has(recordId),
    );
  });
  await drainPending(run, DELETED_ORDER, reader.portion, async (orderIds) =>
    recordsOf(orderIds, await reader.read(orderIds)),
  );
}

/** Of orders that the platform does not show, those that it would show if they were there. */
async function goneOf(run: ShopifyRun, missing: string[]): Promise<string[]> {
  if (run.access.hasAllOrders || missing.length === 0) return missing;
  return listOrdersSince(run.database, run.shopKey, missing, surelyVisibleFrom(run.now()));
}

function recordsOf(orderIds: readonly string[], orders: readonly (ShopifyOrder | null)[]): StoredRecord[] {
  return orderIds.map((recordId, index) => ({
    part: "whole_order",
    recordId,
    parentId: null,
    record: orders[index] ?? null,
  }));
}

type OrderReader = {
  portion: () => number;
  /** One order, whole, or null for each id. */
  read: (orderIds: readonly string[]) => Promise<(ShopifyOrder | null)[]>;
};

function openOrderReader(client: ShopifyClient): OrderReader {
  const orders = openNodeReader(client, DOCUMENTS.orders, ORDERS_PER_REQUEST);
  const returns = openTrackingReader(client);
  const read = async (orderIds: readonly string[]): Promise<(ShopifyOrder | null)[]> => {
    const whole: (ShopifyOrder | null)[] = [];
    for (const node of await orders.read(orderIds)) {
      whole.push(node === null ? null : await naming(node, () => completeOrder(client, node)));
    }
    const known = whole.filter((order) => order !== null);
    const underWay = known.flatMap((order) => order.returns.filter(mayHaveParcel).map(({ id }) => id));
    const trackings = new Map((await returns.read(underWay)).map((row) => [row.returnId, row]));
    for (const order of known) {
      order.trackings = order.returns.flatMap(({ id }) => trackings.get(id) ?? []);
    }
    return whole;
  };
  return { portion: orders.portion, read };
}

function mayHaveParcel({ status }: ReturnRecord): boolean {
  return status === "OPEN" || status === "CLOSED";
}

/** Reads an order's node and fetches what its first pages leave out; without trackings. */
async function completeOrder(client: ShopifyClient, node: Json): Promise<ShopifyOrder> {
  const order = readOrder(node);
  const lines = await allNodes(pageAt(node, "lineItems", "Order"), async (after) => {
    const data = await client.query(DOCUMENTS.orderLines, { id: order.id, after });
    return pageAt(objectAt(data, "order", "QueryRoot"), "lineItems", "Order");
  });
  const returnNodes = await allNodes(pageAt(node, "returns", "Order"), async (after) => {
    const data = await client.query(DOCUMENTS.orderReturns, { id: order.id, after });
    return pageAt(objectAt(data, "order", "QueryRoot"), "returns", "Order");
  });
  const returnLines: ReturnLineRecord[] = [];
  for (const returnNode of returnNodes) returnLines.push(...(await completeReturn(client, returnNode)));
  return {
    order,
    lines: lines.map(readLine),
    returns: returnNodes.map(readReturn),
    returnLines,
    refunds: await readRefunds(client, node),
    ...(await fetchAgreements(client, order.id, node)),
    trackings: [],
  };
}

async function completeReturn(client: ShopifyClient, node: Json): Promise<ReturnLineRecord[]> {
  const { id } = readReturn(node);
  const lines = await allNodes(pageAt(node, "returnLineItems", "Return"), async (after) => {
    const data = await client.query(DOCUMENTS.returnLines, { id, after });
    return pageAt(objectAt(data, "return", "QueryRoot"), "returnLineItems", "Return");
  });
  return lines.map((line) => readReturnLine(line, id));
}
