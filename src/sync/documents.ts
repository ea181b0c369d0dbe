import type { OrderDocument } from "../metrics/order.ts";
import type { Connection } from "../store/database.ts";
import { putDocuments, removeEmptyDocuments } from "../store/queries/order-document.ts";
import { listRedactedOrders } from "../store/queries/redacted-order.ts";
import { openCopyBuffer } from "./copy.ts";
import type { DocumentMerge, DocumentPart } from "./document-merge.ts";
import { analyzeFacts, finishFirstFacts, openFactWriter, placeFacts, replaceFacts } from "./project.ts";
import type { WarningCounts } from "./project.ts";

/** An order as a source reports it, and its stored document. */
export type SaidOrder = { orderId: string; stored: OrderDocument | null; said: DocumentPart };

/** The orders of a run, read from its stage in portions. */
export type SaidOrders = {
  /** The next orders, each order once in a run; empty at the end. Nothing else runs on the connection meanwhile. */
  next(): Promise<SaidOrder[]>;
  /** How the source's word and the stored document become one. */
  merge: DocumentMerge;
  /** true: the shop has no order yet, so that facts have nothing to replace. */
  areFirst?: boolean;
};

/** So many lines of a first import go to their place at once: more would wait, fewer cost a statement each. */
const LINES_PER_SLICE = 20_000;

export type MergedOrders = { changedOrders: number; unchangedOrders: number; warnings: WarningCounts };

/**
 * Merges orders reported by a source into their stored documents; changed documents are stored, projected, and their
 * facts replaced. `onOrders` gets the number of orders done.
 */
export async function mergeOrders(
  connection: Connection,
  shopKey: number,
  orders: SaidOrders,
  onOrders: (done: number) => void,
): Promise<MergedOrders> {
  const redacted = await listRedactedOrders(connection, shopKey);
  const facts = openFactWriter(connection);
  const newDocuments = openCopyBuffer(connection, "order_document (shop_key, order_id, document)");
  const changedDocuments = openCopyBuffer(connection, "changed_document (order_id, document)");
  const buffers = [newDocuments, changedDocuments, facts];
  let changedOrders = 0;
  let unchangedOrders = 0;
  let waitingLines = 0;
  let isAnalyzed = false;
  const mergePortion = (portion: readonly SaidOrder[]): void => {
    for (const { orderId, stored, said } of portion) {
      const part = redacted.has(orderId) ? withoutNames(said) : said;
      const document = orders.merge(stored, orderId, part);
      if (document === null) {
        unchangedOrders += 1;
        continue;
      }
      changedOrders += 1;
      waitingLines += document.lines.length;
      const text = JSON.stringify(document);
      if (stored === null) newDocuments.add([shopKey, orderId, text]);
      else changedDocuments.add([orderId, text]);
      facts.add(document, stored !== null);
    }
  };
  const writePortion = async (): Promise<void> => {
    for (const buffer of buffers) await buffer.send();
    if (orders.areFirst !== true || waitingLines < LINES_PER_SLICE) return;
    waitingLines = 0;
    // One slice is like another.
    if (!isAnalyzed) await analyzeFacts(connection);
    isAnalyzed = true;
    await placeFacts(connection, shopKey);
  };
  await overlap(orders, mergePortion, writePortion, () => onOrders(changedOrders + unchangedOrders));
  if (changedOrders > 0) {
    await putDocuments(connection, shopKey);
    await (orders.areFirst === true ? finishFirstFacts : replaceFacts)(connection, shopKey);
    await removeEmptyDocuments(connection, shopKey);
  }
  return { changedOrders, unchangedOrders, warnings: facts.warnings };
}

/** What is not stored again of an order whose customer asked to be forgotten. */
function withoutNames({ orderName: _orderName, trackings: _trackings, ...part }: DocumentPart): DocumentPart {
  return part;
}

/**
 * Merges one portion while the database writes the one before and gathers the one after. The connection has one thing
 * to do at a time, and nothing when this ends, also when it throws.
 */
async function overlap(
  orders: SaidOrders,
  mergePortion: (portion: readonly SaidOrder[]) => void,
  writePortion: () => Promise<void>,
  onPortion: () => void,
): Promise<void> {
  let portion = await orders.next();
  let working = portion.length > 0 ? orders.next() : Promise.resolve([]);
  try {
    while (portion.length > 0) {
      // It is awaited below; a failure meanwhile must not count as unhandled.
      working.catch(() => {});
      mergePortion(portion);
      portion = await working;
      const isLast = portion.length === 0;
      working = writePortion().then(() => (isLast ? [] : orders.next()));
      onPortion();
    }
    await working;
  } finally {
    await working.catch(() => {});
  }
}
