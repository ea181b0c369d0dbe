import type { OrderDocument } from "../metrics/order.ts";
import type { Connection } from "../store/database.ts";
import {
  closeStagedOrders,
  nextStagedOrders,
  openStagedOrders,
  putDocuments,
} from "../store/queries/order-document.ts";
import type { StagedOrderRow } from "../store/queries/order-document.ts";
import { openCopyBuffer } from "./copy.ts";
import { mergeDocument } from "./document-merge.ts";
import { openFactWriter, replaceFacts } from "./project.ts";
import type { WarningCounts } from "./project.ts";

const ORDERS_PER_FETCH = 200;

export type MergedOrders = { changedOrders: number; unchangedOrders: number; warnings: WarningCounts };

/**
 * Merges the staged rows of every order into its stored document; changed documents are stored, projected, and their
 * facts replaced. `onOrders` is told how many orders are done.
 */
export async function mergeStagedOrders(
  connection: Connection,
  shopKey: number,
  onOrders: (done: number) => void,
): Promise<MergedOrders> {
  const facts = openFactWriter(connection);
  const newDocuments = openCopyBuffer(connection, "order_document (shop_key, order_id, document)");
  const changedDocuments = openCopyBuffer(connection, "changed_document (order_id, document)");
  let changedOrders = 0;
  let unchangedOrders = 0;
  await openStagedOrders(connection, shopKey);
  let rows = await nextStagedOrders(connection, ORDERS_PER_FETCH);
  while (rows.length > 0) {
    // The database groups the next orders while these are merged.
    const next = nextStagedOrders(connection, ORDERS_PER_FETCH);
    // It is awaited below; a failure of this round must not leave it unhandled.
    next.catch(() => {});
    for (const row of rows) {
      const stored = row.document as OrderDocument | null;
      const document = mergeDocument(stored, row.order_id, partOf(row));
      if (document === null) {
        unchangedOrders += 1;
        continue;
      }
      changedOrders += 1;
      const text = JSON.stringify(document);
      if (stored === null) newDocuments.add([shopKey, row.order_id, text]);
      else changedDocuments.add([row.order_id, text]);
      facts.add(document, stored !== null);
    }
    rows = await next;
    for (const buffer of [newDocuments, changedDocuments, facts]) await buffer.send();
    onOrders(changedOrders + unchangedOrders);
  }
  await closeStagedOrders(connection);
  if (changedOrders > 0) {
    await putDocuments(connection, shopKey);
    await replaceFacts(connection, shopKey);
  }
  return { changedOrders, unchangedOrders, warnings: facts.warnings };
}

function partOf(row: StagedOrderRow): Omit<OrderDocument, "orderId"> {
  return {
    lines: JSON.parse(row.lines ?? "[]") as OrderDocument["lines"],
    returns: JSON.parse(row.returns ?? "[]") as OrderDocument["returns"],
    refunds: JSON.parse(row.refunds ?? "[]") as OrderDocument["refunds"],
  };
}
