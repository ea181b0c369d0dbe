import type { ShopifyClient } from "../api/client.ts";
import { DOCUMENTS } from "../api/documents.ts";
import { listAt, objectAt, textAt } from "../../kit/json.ts";
import type { Json } from "../../kit/json.ts";
import { allNodes, nextOf, pageAt } from "../api/nodes.ts";
import type { Page } from "../api/nodes.ts";
import { readAgreement, readSale } from "../map/read-order.ts";
import type { AgreementRecord, SaleRecord } from "../map/records.ts";

export type OrderLedger = { agreements: AgreementRecord[]; sales: SaleRecord[]; tipLineIds: string[] };

/** An agreement's node, and the cursor of the one before it (null = it is the first). */
type PlacedAgreement = { node: Json; previous: string | null };

/** The sales ledger of an order's node, with all its pages. */
export async function fetchAgreements(
  client: ShopifyClient,
  orderId: string,
  order: Json,
): Promise<OrderLedger> {
  const ledger: OrderLedger = { agreements: [], sales: [], tipLineIds: [] };
  for (const { node, previous } of await placedAgreements(client, orderId, order)) {
    const agreement = readAgreement(node);
    if (agreement !== null) ledger.agreements.push(agreement);
    const agreementId = textAt(node, "id", "SalesAgreement");
    for (const sale of await salesOf(client, orderId, node, previous)) {
      const read = readSale(sale, agreementId);
      if (read === null) continue;
      if ("tip" in read) ledger.tipLineIds.push(read.tip.lineId);
      else if (agreement !== null) ledger.sales.push(read.sale);
    }
  }
  return ledger;
}

async function placedAgreements(
  client: ShopifyClient,
  orderId: string,
  order: Json,
): Promise<PlacedAgreement[]> {
  const edges = await allNodes(edgesOf(order), async (after) => {
    const data = await client.query(DOCUMENTS.orderAgreements, { id: orderId, after });
    return edgesOf(objectAt(data, "order", "QueryRoot"));
  });
  return edges.map((edge, index) => {
    const before = edges[index - 1];
    const previous = before === undefined ? null : textAt(before, "cursor", "SalesAgreementEdge");
    return { node: objectAt(edge, "node", "SalesAgreementEdge"), previous };
  });
}

/** A page of edges, whose cursors lead to the sales of their successors. */
function edgesOf(order: Json): Page {
  const connection = objectAt(order, "agreements", "Order");
  return { nodes: listAt(connection, "edges", "SalesAgreementConnection"), next: nextOf(connection) };
}

async function salesOf(
  client: ShopifyClient,
  orderId: string,
  agreement: Json,
  previous: string | null,
): Promise<Json[]> {
  return allNodes(pageAt(agreement, "sales", "SalesAgreement"), async (after) => {
    const data = await client.query(DOCUMENTS.agreementSales, { id: orderId, previous, after });
    const [found] = pageAtStart(objectAt(data, "order", "QueryRoot"));
    return found === undefined ? { nodes: [], next: null } : pageAt(found, "sales", "SalesAgreement");
  });
}

function pageAtStart(order: Json): Json[] {
  return listAt(objectAt(order, "agreements", "Order"), "nodes", "SalesAgreementConnection");
}
