import type { OrderRules } from "../metrics/order-rules.ts";
import { exchangeName } from "../metrics/order-rules.ts";
import type { OrderDocument } from "../metrics/order.ts";
import type { Connection } from "../store/database.ts";
import { removeDocuments, listRedactedOrders } from "../store/queries/order-document.ts";
import { openCopyBuffer } from "./copy.ts";
import type { DocumentMerge, DocumentPart } from "./document-merge.ts";
import { loadRules } from "./order-rules.ts";
import { inPortions } from "./portions.ts";
import type { ChangedDocument, WarningCounts } from "./project.ts";
import { openFactWriter } from "./project.ts";
import { storedText } from "./stored-document.ts";
import type { ChangedKeys } from "./changed-keys.ts";

/** An order as a source reports it, and its stored document. */
export type SourceOrder = { orderId: string; stored: OrderDocument | null; part: DocumentPart };

/** The orders of a run, read from its stage in portions. */
export type SourceOrders = {
  /** The next orders, each order once in a run; empty at the end. Nothing else runs on the connection meanwhile. */
  next(): Promise<SourceOrder[]>;
  /** How the source's rows and the stored document become one. */
  merge: DocumentMerge;
};

export type MergedOrders = { changedOrders: number; unchangedOrders: number; warnings: WarningCounts };

/**
 * Merges orders reported by a source into their stored documents; changed documents and their facts replace the stored
 * ones, and what hangs on them is marked. An order of which no line is left is removed. `onOrders` gets the number of orders done.
 */
export async function mergeOrders(
  connection: Connection,
  shopKey: number,
  orders: SourceOrders,
  changedKeys: ChangedKeys,
  onOrders: (done: number) => void,
): Promise<MergedOrders> {
  const redacted = new Set(await listRedactedOrders(connection, shopKey));
  const facts = await openFactWriter(connection, shopKey, changedKeys);
  const { wanted: rules } = await loadRules(connection, shopKey);
  let changedOrders = 0;
  let unchangedOrders = 0;
  await inPortions(
    () => orders.next(),
    (portion) => {
      const documents = openCopyBuffer(connection, "order_document (shop_key, order_id, document)");
      const changed: ChangedDocument[] = [];
      for (const { orderId, stored, part } of portion) {
        const kept = redacted.has(orderId) ? withoutNames(part, rules) : part;
        const document = orders.merge(stored, orderId, kept);
        if (document === null) continue;
        changed.push({ document, existed: stored !== null });
        if (document.lines.length > 0) documents.add([shopKey, orderId, storedText(document)]);
      }
      const writeFacts = facts.project(changed);
      const replacedIds = changed.filter(({ existed }) => existed).map(({ document }) => document.orderId);
      changedOrders += changed.length;
      unchangedOrders += portion.length - changed.length;
      return async () => {
        if (replacedIds.length > 0) await removeDocuments(connection, shopKey, replacedIds);
        await documents.send();
        await writeFacts();
        onOrders(changedOrders + unchangedOrders);
      };
    },
  );
  if (changedOrders > 0) await facts.finish();
  return { changedOrders, unchangedOrders, warnings: facts.warnings };
}

/** What is stored again of an order whose customer asked to be forgotten: of its name, what says that it is an exchange. */
function withoutNames(
  { orderName = null, trackings: _trackings, ...part }: DocumentPart,
  rules: OrderRules,
): DocumentPart {
  const beginning = exchangeName(orderName, rules);
  return beginning === null ? part : { ...part, orderName: beginning };
}
