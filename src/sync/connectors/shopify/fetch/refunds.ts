import type { ShopifyClient } from "../api/client.ts";
import { DOCUMENTS } from "../api/documents.ts";
import { drainPending } from "./drain.ts";
import { listAt, naming, objectAt, textAt } from "../../kit/json.ts";
import type { Json } from "../../kit/json.ts";
import { allNodes, allOf, openNodeReader, pageAt } from "../api/nodes.ts";
import { readRefund, readRefundLine } from "../map/read-order.ts";
import type { RefundRecord } from "../map/records.ts";
import type { ShopifyRun } from "../run.ts";

const ORDERS_PER_REQUEST = 25;

/** The refunds of all orders that were asked for, with their lines. */
export async function fetchRefunds(run: ShopifyRun): Promise<void> {
  const reader = openNodeReader(run.client, DOCUMENTS.refunds, ORDERS_PER_REQUEST);
  await drainPending(run, "refunds", reader.portion, async (orderIds) => {
    const orders = (await reader.read(orderIds)).filter((node) => node !== null);
    const refunds = await allOf(
      orders.map(async (node) => {
        const parentId = textAt(node, "id", "Order");
        const found = await naming(node, () => readRefunds(run.client, node));
        return found.map((record) => ({ part: "refund", recordId: record.id, parentId, record }));
      }),
    );
    return refunds.flat();
  });
}

/** The refunds that stand in an order's node, each with all its lines. */
export async function readRefunds(client: ShopifyClient, order: Json): Promise<RefundRecord[]> {
  const refunds: RefundRecord[] = [];
  for (const node of listAt(order, "refunds", "Order")) {
    const refund = readRefund(node);
    const lines = await allNodes(pageAt(node, "refundLineItems", "Refund"), async (after) => {
      const data = await client.query(DOCUMENTS.refundLines, { id: refund.id, after });
      return pageAt(objectAt(data, "refund", "QueryRoot"), "refundLineItems", "Refund");
    });
    refunds.push({ ...refund, lines: lines.map(readRefundLine) });
  }
  return refunds;
}
