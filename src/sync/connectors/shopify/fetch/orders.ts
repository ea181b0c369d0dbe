import { listOrdersSince } from "../../../../store/queries/shopify-record.ts";
import type { ShopifyClient } from "../api/client.ts";
import { DOCUMENTS } from "../api/documents.ts";
import type { StoredRecord } from "./downloads.ts";
import { drainPending } from "./drain.ts";
import { fetchAgreements, openTrackingReader, readFulfillments, readRefunds } from "./order-parts.ts";
import { allNodes, openNodeReader } from "../api/nodes.ts";
import type { NodeReader } from "../api/nodes.ts";
import { toLine, toOrder, toReturn, toReturnLine } from "../map/records.ts";
import { surelyVisibleFrom } from "./history.ts";
import type { ReturnRecord, ShopifyOrder } from "../map/records.ts";
import type { ShopifyRun } from "../run.ts";
import { DELETED_ORDER } from "../webhooks/topics.ts";

const ORDERS_PER_REQUEST = 10;

/**
 * All orders that were asked for, each whole; an order that is gone becomes a record without content. One that the app
 * may just not see any more is left as it is stored, unless the platform has reported that it is deleted.
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

/** An order as it is asked for, with the first pages of its connections. */
type OrderNode = NonNullable<ReturnType<typeof DOCUMENTS.orders.read>["nodes"][number]>;
type ReturnNode = OrderNode["returns"]["nodes"][number];

/** Orders, whole. */
export function openOrderReader(client: ShopifyClient): NodeReader<ShopifyOrder> {
  const orders = openNodeReader(client, DOCUMENTS.orders, ORDERS_PER_REQUEST);
  const returns = openTrackingReader(client);
  const read = async (orderIds: readonly string[]): Promise<(ShopifyOrder | null)[]> => {
    const whole: (ShopifyOrder | null)[] = [];
    for (const node of await orders.read(orderIds)) {
      whole.push(node === null ? null : await completeOrder(client, node));
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

/** Fetches what the first pages of an order leave out; without trackings. */
async function completeOrder(client: ShopifyClient, node: OrderNode): Promise<ShopifyOrder> {
  const { id } = node;
  const lines = await allNodes(client, node.lineItems, DOCUMENTS.orderLines, id);
  const returns = await allNodes(client, node.returns, DOCUMENTS.orderReturns, id);
  const returnLines = [];
  for (const returned of returns) returnLines.push(...(await readReturnLines(client, returned)));
  return {
    order: toOrder(node),
    lines: lines.map(toLine),
    returns: returns.map(toReturn),
    returnLines,
    refunds: await readRefunds(client, node.refunds),
    fulfillments: await readFulfillments(client, node.fulfillments),
    ...(await fetchAgreements(client, id, node.agreements)),
    trackings: [],
  };
}

async function readReturnLines(client: ShopifyClient, { id, returnLineItems }: ReturnNode) {
  const lines = await allNodes(client, returnLineItems, DOCUMENTS.returnLines, id);
  return lines.map((line) => toReturnLine(line, id));
}
