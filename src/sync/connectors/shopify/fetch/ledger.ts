import type { ShopifyClient } from "../api/client.ts";
import { DOCUMENTS } from "../api/documents.ts";
import { allNodes, allPages } from "../api/nodes.ts";
import type { Page } from "../api/nodes.ts";
import { toAgreement, toSale } from "../map/records.ts";
import type { ShopifyOrder } from "../map/records.ts";

type AgreementEdge = ReturnType<typeof DOCUMENTS.orderAgreements.read>["parent"]["page"]["nodes"][number];

/** The sales ledger of an order, with all its pages. */
export async function fetchAgreements(
  client: ShopifyClient,
  id: string,
  first: Page<AgreementEdge>,
): Promise<Pick<ShopifyOrder, "agreements" | "sales" | "tipLineIds">> {
  const ledger = { agreements: [], sales: [], tipLineIds: [] } as Awaited<ReturnType<typeof fetchAgreements>>;
  let previous: string | null = null;
  for (const { node, cursor } of await allNodes(client, first, DOCUMENTS.orderAgreements, id)) {
    const agreement = toAgreement(node);
    if (agreement !== null) ledger.agreements.push(agreement);
    const place = { id, previous };
    const sales = await allPages(node.sales, async (after) => {
      const { order } = await client.query(DOCUMENTS.agreementSales, { ...place, after });
      return order.agreements.nodes[0]?.sales;
    });
    for (const sale of sales) {
      const read = toSale(sale, node.id);
      if (read === null) continue;
      if ("tip" in read) ledger.tipLineIds.push(read.tip.lineId);
      else if (agreement !== null) ledger.sales.push(read.sale);
    }
    previous = cursor;
  }
  return ledger;
}
