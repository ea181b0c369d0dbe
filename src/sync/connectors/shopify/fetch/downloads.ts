import Type from "typebox";
import type { Connection } from "../../../../store/database.ts";
import { askForRefunds, askForTrackings, countRecords } from "../../../../store/queries/sync-record.ts";
import { object, reader, Text, type Json } from "../../shared/foreign.ts";
import { openRecordBuffer, type FetchedRecord } from "../../shared/store-run.ts";
import {
  BULK_DOCUMENTS,
  bulkProductsDocument,
  DownloadBroken,
  largestFileBytes,
  readLines,
  type Document,
  type MetafieldName,
} from "../api/documents.ts";
import {
  AGREEMENT,
  id,
  LINE,
  ORDER,
  PRODUCT,
  RETURN,
  RETURN_LINE,
  SALE,
  TITLE,
  VARIANT,
} from "../api/objects.ts";
import type { DownloadName } from "../cursor.ts";
import {
  toAgreement,
  toLine,
  toOrder,
  toProduct,
  toReturn,
  toReturnLine,
  toSale,
  toVariant,
} from "../map/records.ts";
import { SHOPIFY, type ShopifyRun } from "../settings.ts";

/** The bulk document of a download. */
export function documentOf(name: DownloadName, familyMetafield: MetafieldName | null): Document {
  return name === "products" ? bulkProductsDocument(familyMetafield) : BULK_DOCUMENTS[name];
}

/** The parts of `sync_record` that a download brings. */
const PARTS: Readonly<Record<DownloadName, readonly string[]>> = {
  products: ["product", "variant"],
  orders: ["order", "line"],
  returns: ["return", "return_line"],
  ledger: ["agreement", "sale", "tip"],
};

const readProduct = reader(TITLE, object("Product", PRODUCT));
const readOrder = reader(TITLE, object("Order", { ...ORDER, refunds: Type.Array(id("Refund")) }));
export const readLine = reader(TITLE, LINE);
export const readReturnLine = reader(TITLE, RETURN_LINE);
export const readSale = reader(TITLE, SALE);
const readVariant = reader(TITLE, VARIANT);
const readReturn = reader(TITLE, object("Return", RETURN));
const readAgreement = reader(TITLE, object("SalesAgreement", AGREEMENT));
/** Children are on separate lines, with the id of their parent. */
const readChild = reader(TITLE, object("Child", { __parentId: Text }));

/** The content of a line of a download; `parentId` null = a root. Null = nothing that counts. */
type ReadRow = (node: Json, parentId: string | null) => FetchedRecord | null;

const READ_ROW: Readonly<Record<DownloadName, ReadRow>> = {
  products: (node, parentId) =>
    parentId === null
      ? row("product", toProduct(readProduct(node)), null)
      : row("variant", toVariant(readVariant(node)), parentId),
  orders: (node, parentId) => {
    if (parentId !== null) return row("line", toLine(readLine(node)), parentId);
    const order = readOrder(node);
    // Which orders' refunds have to be fetched by pages is read from here.
    return row("order", { ...toOrder(order), hasRefunds: order.refunds.length > 0 }, null);
  },
  returns: (node, parentId) => {
    if (parentId === null) return null;
    return "__typename" in node
      ? row("return_line", toReturnLine(readReturnLine(node), parentId), parentId)
      : row("return", toReturn(readReturn(node)), parentId);
  },
  ledger: (node, parentId) => {
    if (parentId === null) return null;
    if (!("actionType" in node)) return row("agreement", toAgreement(readAgreement(node)), parentId);
    const read = toSale(readSale(node), parentId);
    if (read === null) return null;
    return "tip" in read ? row("tip", read.tip, parentId) : row("sale", read.sale, parentId);
  },
};

function parentOf(node: Json): string | null {
  if (!("__parentId" in node)) return null;
  const { __parentId: parentId } = readChild(node);
  return parentId;
}

function row(
  part: string,
  record: { id: string; hasRefunds?: boolean },
  parentId: string | null,
): FetchedRecord {
  return { part, recordId: record.id, parentId, record };
}

/**
 * Streams the file of a bulk operation into `sync_record`, and requests data that only pages contain. Throws DownloadBroken if
 * the file has fewer records than the platform reports.
 */
export async function storeDownload(
  run: ShopifyRun,
  connection: Connection,
  name: DownloadName,
  { objects, url }: { objects: number; url: string | null },
): Promise<void> {
  if (url !== null) {
    const { lines, leftOut } = await copyDownload(run, connection, name, url, objects);
    if (lines < objects) throw new DownloadBroken(`${lines} of ${objects} lines`);
    // Rows may come twice, and hide that others are missing.
    const found = leftOut + (await countRecords(connection, run.shopKey, SHOPIFY, PARTS[name]));
    if (found < objects) throw new DownloadBroken(`${found} of ${objects} records`);
  }
  if (name === "orders") await askForRefunds(connection, run.shopKey, SHOPIFY);
  if (name === "returns") await askForTrackings(connection, run.shopKey, SHOPIFY);
}

async function copyDownload(
  run: ShopifyRun,
  connection: Connection,
  name: DownloadName,
  url: string,
  objects: number,
): Promise<{ lines: number; leftOut: number }> {
  const readRow = READ_ROW[name];
  let leftOut = 0;
  const buffer = openRecordBuffer(connection, run);
  const body = await run.client.download(url);
  try {
    const lines = await readLines(
      body,
      (node) => {
        const stored = readRow(node, parentOf(node));
        if (stored === null) leftOut += 1;
        else buffer.add(stored);
      },
      async (done) => {
        run.signal.throwIfAborted();
        run.progress({ stage: name, done, total: objects });
        await buffer.sendIfFull();
      },
      largestFileBytes(objects),
    );
    return { lines, leftOut };
  } finally {
    // A batch that still travels has to arrive before anything else may run on the connection, also a rollback.
    await buffer.send();
  }
}
