import type { MetafieldName } from "../api/documents.ts";
import { BULK_DOCUMENTS, bulkProductsDocument } from "../api/documents.ts";
import type { Document } from "../api/documents.ts";
import type { DownloadName } from "../cursor.ts";
import { listAt, textAt } from "../../kit/json.ts";
import type { Json } from "../../kit/json.ts";
import {
  readAgreement,
  readLine,
  readOrder,
  readReturn,
  readReturnLine,
  readSale,
} from "../map/read-order.ts";
import type { OrderRecord } from "../map/records.ts";
import { readProduct, readVariant } from "../map/read-product.ts";

/** A record on its way to `sync_record`. */
export type StoredRecord = { part: string; recordId: string; parentId: string | null; record: unknown };

/** Which orders' refunds have to be fetched by pages is read from here. */
type DownloadedOrder = OrderRecord & { hasRefunds: boolean };

/** The bulk document of a download. */
export function documentOf(name: DownloadName, familyMetafield: MetafieldName | null): Document {
  return name === "products" ? bulkProductsDocument(familyMetafield) : BULK_DOCUMENTS[name];
}

/** The parts of `sync_record` that a download brings. */
export const PARTS: Readonly<Record<DownloadName, readonly string[]>> = {
  products: ["product", "variant"],
  orders: ["order", "line"],
  returns: ["return", "return_line"],
  ledger: ["agreement", "sale", "tip"],
};

/** The content of a line of a download; null = nothing that counts. Children carry the id of their parent. */
export const READ_ROW: Readonly<Record<DownloadName, (node: Json) => StoredRecord | null>> = {
  products: (node) => {
    if (isRoot(node)) return rootRecord("product", readProduct(node));
    return childRecord("variant", readVariant(node), parentOf(node));
  },
  orders: (node) => {
    if (!isRoot(node)) return childRecord("line", readLine(node), parentOf(node));
    const order: DownloadedOrder = {
      ...readOrder(node),
      hasRefunds: listAt(node, "refunds", "Order").length > 0,
    };
    return rootRecord("order", order);
  },
  returns: (node) => {
    if (isRoot(node)) return null;
    if (!("__typename" in node)) return childRecord("return", readReturn(node), parentOf(node));
    return childRecord("return_line", readReturnLine(node, parentOf(node)), parentOf(node));
  },
  ledger: (node) => (isRoot(node) ? null : readLedgerRow(node, parentOf(node))),
};

function readLedgerRow(node: Json, parentId: string): StoredRecord | null {
  if (!("actionType" in node)) {
    const agreement = readAgreement(node);
    return agreement === null ? null : childRecord("agreement", agreement, parentId);
  }
  const read = readSale(node, parentId);
  if (read === null) return null;
  // A tip finds its order through its line: the agreement of an order's sale is not kept.
  return "tip" in read
    ? childRecord("tip", read.tip, read.tip.lineId)
    : childRecord("sale", read.sale, parentId);
}

function isRoot(node: Json): boolean {
  return !("__parentId" in node);
}

function parentOf(node: Json): string {
  return textAt(node, "__parentId", "a line of a bulk operation");
}

function rootRecord(part: string, record: { id: string }): StoredRecord {
  return { part, recordId: record.id, parentId: null, record };
}

function childRecord(part: string, record: { id: string }, parentId: string): StoredRecord {
  return { part, recordId: record.id, parentId, record };
}
