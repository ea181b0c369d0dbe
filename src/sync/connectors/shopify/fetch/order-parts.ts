import { drainPending, type FetchedRecord } from "../../shared/store-run.ts";
import type { ShopifyClient } from "../api/client.ts";
import { DOCUMENTS } from "../api/documents.ts";
import { allNodes, allOf, allPages, openNodeReader } from "../api/nodes.ts";
import type { NodePage } from "../api/nodes.ts";
import { toAgreement, toFulfillment, toRefund, toSale, toTrackingNumber } from "../map/records.ts";
import type { FulfillmentRecord, RefundRecord, ShopifyOrder, TrackingRecord } from "../map/records.ts";
import type { ShopifyRun } from "../settings.ts";

const ORDERS_PER_REQUEST = 25;

type OrderRefunds = NonNullable<ReturnType<typeof DOCUMENTS.refunds.read>["nodes"][number]>;

/** The refunds of all requested orders, with their lines, and the units shipped by then. */
export async function fetchRefunds(run: ShopifyRun): Promise<void> {
  const reader = openNodeReader(run.client, DOCUMENTS.refunds, ORDERS_PER_REQUEST);
  await drainPending(run, { kind: "refunds" }, reader.portion, async (orderIds) => {
    const orders = (await reader.read(orderIds)).filter((node) => node !== null);
    const refunds = await allOf(
      orders.map(async ({ id: parentId, refunds: first, fulfillments }) => {
        const rows = (part: string, found: readonly { id: string }[]): FetchedRecord[] =>
          found.map((record) => ({ part, recordId: record.id, parentId, record }));
        const sent = await readFulfillments(run.client, fulfillments);
        return [...rows("refund", await readRefunds(run.client, first)), ...rows("fulfillment", sent)];
      }),
    );
    return refunds.flat();
  });
}

/** Refunds of an order, each with all its lines. */
export async function readRefunds(
  client: ShopifyClient,
  refunds: OrderRefunds["refunds"],
): Promise<RefundRecord[]> {
  const whole: RefundRecord[] = [];
  for (const refund of refunds) {
    const lines = await allNodes(client, refund.refundLineItems, DOCUMENTS.refundLines, refund.id);
    whole.push(toRefund(refund, lines));
  }
  return whole;
}

export async function readFulfillments(
  client: ShopifyClient,
  fulfillments: OrderRefunds["fulfillments"],
): Promise<FulfillmentRecord[]> {
  const whole: FulfillmentRecord[] = [];
  for (const sent of fulfillments) {
    const lines = await allNodes(client, sent.fulfillmentLineItems, DOCUMENTS.fulfillmentLines, sent.id);
    const fulfillment = toFulfillment(sent, lines);
    if (fulfillment !== null) whole.push(fulfillment);
  }
  return whole;
}

type AgreementEdge = ReturnType<typeof DOCUMENTS.orderAgreements.read>["parent"]["page"]["nodes"][number];

/** The sales ledger of an order, with all its pages. */
export async function fetchAgreements(
  client: ShopifyClient,
  id: string,
  first: NodePage<AgreementEdge>,
): Promise<Pick<ShopifyOrder, "agreements" | "sales" | "tipLineIds">> {
  const ledger = { agreements: [], sales: [], tipLineIds: [] } as Awaited<ReturnType<typeof fetchAgreements>>;
  let previous: string | null = null;
  for (const { node, cursor } of await allNodes(client, first, DOCUMENTS.orderAgreements, id)) {
    ledger.agreements.push(toAgreement(node));
    const place = { id, previous };
    const sales = await allPages(node.sales, async (after) => {
      const { order } = await client.query(DOCUMENTS.agreementSales, { ...place, after });
      return order.agreements.nodes[0]?.sales;
    });
    for (const sale of sales) {
      const read = toSale(sale, node.id);
      if (read === null) continue;
      if ("tip" in read) ledger.tipLineIds.push(read.tip.lineId);
      else ledger.sales.push(read.sale);
    }
    previous = cursor;
  }
  return ledger;
}

const RETURNS_PER_REQUEST = 50;

type ReturnNode = NonNullable<ReturnType<typeof DOCUMENTS.trackings.read>["nodes"][number]>;

/** The tracking numbers of returns that have one; a deleted return has none. */
export function openTrackingReader(client: ShopifyClient) {
  const returns = openNodeReader(client, DOCUMENTS.trackings, RETURNS_PER_REQUEST);
  return {
    portion: returns.portion,
    read: async (returnIds: readonly string[]): Promise<TrackingRecord[]> => {
      const nodes = (await returns.read(returnIds)).filter((node) => node !== null);
      const trackings = await allOf(nodes.map((node) => readTrackings(client, node)));
      return trackings.filter(({ trackingNumbers }) => trackingNumbers.length > 0);
    },
  };
}

/** The tracking numbers of all requested returns. */
export async function fetchTrackings(run: ShopifyRun): Promise<void> {
  const reader = openTrackingReader(run.client);
  await drainPending(run, { kind: "tracking" }, reader.portion, async (returnIds) => {
    const trackings = await reader.read(returnIds);
    return trackings.map((record) => ({
      part: "tracking",
      recordId: record.returnId,
      parentId: record.returnId,
      record,
    }));
  });
}

/** The numbers in a return's node, and those on further pages. */
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
