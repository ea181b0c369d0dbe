import type { ShopifyClient } from "../api/client.ts";
import { DOCUMENTS } from "../api/documents.ts";
import { allNodes, allOf, openNodeReader } from "../api/nodes.ts";
import { toRefund } from "../map/records.ts";
import type { RefundRecord } from "../map/records.ts";
import type { ShopifyRun } from "../run.ts";
import { drainPending } from "./drain.ts";

const ORDERS_PER_REQUEST = 25;

type OrderRefunds = NonNullable<ReturnType<typeof DOCUMENTS.refunds.read>["nodes"][number]>;

/** The refunds of all orders that were asked for, with their lines. */
export async function fetchRefunds(run: ShopifyRun): Promise<void> {
  const reader = openNodeReader(run.client, DOCUMENTS.refunds, ORDERS_PER_REQUEST);
  await drainPending(run, "refunds", reader.portion, async (orderIds) => {
    const orders = (await reader.read(orderIds)).filter((node) => node !== null);
    const refunds = await allOf(
      orders.map(async ({ id: parentId, refunds: first }) => {
        const found = await readRefunds(run.client, first);
        return found.map((record) => ({ part: "refund", recordId: record.id, parentId, record }));
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
