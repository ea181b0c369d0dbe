import Type from "typebox";
import {
  askAboutGoneOrders,
  clearPending,
  clearRecords,
  askForRefunds,
  askForTrackings,
  countRecords,
} from "../../../../store/queries/sync-record.ts";
import { SourceFailed } from "../../../connector.ts";
import { pause } from "../../shared/http.ts";
import { step, openRecordBuffer, type FetchedRecord } from "../../shared/store-run.ts";
import { DownloadGone, type ShopifyClient } from "../api/client.ts";
import {
  DOCUMENTS,
  DownloadBroken,
  BULK_DOCUMENTS,
  bulkProductsDocument,
  largestFileBytes,
  readLines,
} from "../api/documents.ts";
import type { Document, MetafieldName } from "../api/documents.ts";
import { DOWNLOAD_NAMES, newBackfill, withDownload, SHOPIFY } from "../settings.ts";
import type { BackfillState, DownloadName, DownloadState, ShopifyRun } from "../settings.ts";
import { DELETED_ORDER } from "../webhooks/topics.ts";
import { historyFromOf, isOutdated } from "./history.ts";
import { fetchRefunds, fetchTrackings } from "./orders.ts";
import type { Connection } from "../../../../store/database.ts";
import { object, reader, Text, type Json } from "../../shared/foreign.ts";
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

/** Attempts of one bulk operation, and downloads of one file, before a run fails. */
const MAX_FAILURES = 4;

/**
 * Fetches all of the shop's data into `sync_record`, or the rest of an earlier run: concurrent bulk operations, then pages for
 * data that they cannot contain. Every download and every page is recorded with its content.
 */
export async function fetchEverything(run: ShopifyRun): Promise<void> {
  const { cursor, access } = run;
  const familyMetafield = nameOf(run.shop.familyMetafield);
  if (cursor.backfill === null || isOutdated(cursor.backfill, { access, familyMetafield, now: run.now() })) {
    await begin(run, familyMetafield);
  }
  const seen: BulkWatch = { watched: new Map(), failures: new Map() };
  let idleSinceMs = performance.now();
  while (unstored(run).length > 0) {
    await startMissing(run);
    if (await storeCompleted(run, seen)) continue;
    if (unstored(run).some((name) => stateOf(run, name).operationId !== null))
      idleSinceMs = performance.now();
    if (performance.now() - idleSinceMs > run.client.retryPolicy.stallMs) {
      throw new SourceFailed(
        "Shopify is running other bulk operations of this app and did not start this one.",
      );
    }
    await pause(run.client.retryPolicy.pollMs, run.signal);
  }
  await fetchRefunds(run);
  await fetchTrackings(run);
}

/** This run's state of its bulk operations. */
type BulkWatch = {
  /** How many objects each running operation had found, and since when it has not found more. */
  watched: Map<string, { objects: number; sinceMs: number }>;
  /** How often each download has failed in this run. */
  failures: Map<DownloadName, number>;
};

/**
 * Deletes records that an earlier run has fetched but not applied: the backfill reads them again, except deletions, which are
 * checked again.
 */
async function begin(run: ShopifyRun, familyMetafield: string | null): Promise<void> {
  const { access, cursor } = run;
  await cancelUnfinished(run);
  const now = run.now();
  const historyFrom = historyFromOf(cursor, access, now);
  const backfill = newBackfill(now, { hasAllOrders: access.hasAllOrders, familyMetafield, historyFrom });
  await replaceBackfill(run, backfill);
}

/** Abandons an unfinished backfill, with all that it has fetched. */
export async function giveUpBackfill(run: ShopifyRun): Promise<void> {
  await cancelUnfinished(run);
  await replaceBackfill(run, null);
}

async function replaceBackfill(run: ShopifyRun, backfill: BackfillState | null): Promise<void> {
  const { cursor, shopKey } = run;
  await step(run, async (connection) => {
    await askAboutGoneOrders(connection, shopKey, SHOPIFY, DELETED_ORDER);
    await clearRecords(connection, shopKey, SHOPIFY);
    await clearPending(connection, shopKey, SHOPIFY, ["refunds", "tracking"]);
    return { ...cursor, listedAt: null, backfill };
  });
}

/** The platform runs few bulk operations at a time: those of an abandoned backfill make room. */
async function cancelUnfinished({ client, cursor }: ShopifyRun): Promise<void> {
  for (const { operationId, isStored } of Object.values(cursor.backfill?.downloads ?? {})) {
    if (operationId === null || isStored) continue;
    const { is } = await pollOperation(client, operationId);
    if (is === "running") await cancelOperation(client, operationId);
  }
}

function nameOf(metafield: MetafieldName | null): string | null {
  return metafield === null ? null : `${metafield.namespace}.${metafield.key}`;
}

function unstored(run: ShopifyRun): DownloadName[] {
  return DOWNLOAD_NAMES.filter((name) => !stateOf(run, name).isStored);
}

function stateOf(run: ShopifyRun, name: DownloadName): DownloadState {
  return backfillOf(run).downloads[name];
}

function backfillOf(run: ShopifyRun): BackfillState {
  if (run.cursor.backfill === null) throw new Error("no backfill is under way");
  return run.cursor.backfill;
}

/** Starts the operations that do not run yet, as far as the platform lets it. */
async function startMissing(run: ShopifyRun): Promise<void> {
  for (const name of unstored(run)) {
    if (stateOf(run, name).operationId !== null) continue;
    run.signal.throwIfAborted();
    const operationId = await startOperation(run.client, documentOf(name, run.shop.familyMetafield));
    if (operationId === null) return;
    await remember(run, name, { operationId });
  }
}

/** Stores the operations completed since the last poll; returns whether there were any. */
async function storeCompleted(run: ShopifyRun, seen: BulkWatch): Promise<boolean> {
  let stored = false;
  for (const name of unstored(run)) {
    const { operationId } = stateOf(run, name);
    if (operationId === null) continue;
    const state = await pollOperation(run.client, operationId);
    if (state.is === "running") await watch(run, name, operationId, state.objects, seen);
    else if (state.is === "lost") await fail(run, name, state.why, seen);
    else stored = (await store(run, name, state, seen)) || stored;
  }
  return stored;
}

async function watch(
  run: ShopifyRun,
  name: DownloadName,
  operationId: string,
  objects: number,
  seen: BulkWatch,
): Promise<void> {
  run.progress({ stage: name, done: objects, total: null });
  const nowMs = performance.now();
  const before = seen.watched.get(operationId);
  if (before?.objects !== objects) {
    seen.watched.set(operationId, { objects, sinceMs: nowMs });
  } else if (nowMs - before.sinceMs > run.client.retryPolicy.stallMs) {
    await cancelOperation(run.client, operationId);
    await fail(run, name, "it did not finish", seen);
  }
}

/** Downloads and stores one file; an interrupted file is downloaded again, a missing one is created again. */
async function store(
  run: ShopifyRun,
  name: DownloadName,
  state: OperationState & { is: "completed" },
  seen: BulkWatch,
): Promise<boolean> {
  for (let attempt = 1; attempt <= MAX_FAILURES; attempt += 1) {
    try {
      await step(run, async (connection) => {
        await storeDownload(run, connection, name, state);
        return { ...run.cursor, backfill: withDownload(backfillOf(run), name, { isStored: true }) };
      });
      return true;
    } catch (error) {
      run.signal.throwIfAborted();
      if (error instanceof DownloadGone) break;
      if (!(error instanceof DownloadBroken)) throw error;
    }
  }
  await fail(run, name, "its file is gone or incomplete", seen);
  return false;
}

/** The next check restarts the operation, unless it has failed too often in this run. */
async function fail(
  run: ShopifyRun,
  name: DownloadName,
  why: string,
  { failures }: BulkWatch,
): Promise<void> {
  await remember(run, name, { operationId: null });
  const count = (failures.get(name) ?? 0) + 1;
  failures.set(name, count);
  if (count < MAX_FAILURES) return;
  throw new SourceFailed(
    `Shopify's bulk operation of ${name} failed ${count} times, the last time because ${why}.`,
  );
}

async function remember(run: ShopifyRun, name: DownloadName, state: Partial<DownloadState>): Promise<void> {
  await step(run, async () => ({ ...run.cursor, backfill: withDownload(backfillOf(run), name, state) }));
}

/** Where a bulk operation is; `lost` = it has to be started again. */
type OperationState =
  | { is: "running"; objects: number }
  | { is: "completed"; objects: number; url: string | null }
  | { is: "lost"; why: string };

/** Starts a bulk operation; null while the platform runs as many as it allows. */
async function startOperation(client: ShopifyClient, document: Document): Promise<string | null> {
  const { bulkOperationRunQuery: started } = await client.query(DOCUMENTS.bulkRun, { query: document.text });
  const { bulkOperation: operation, userErrors: errors } = started;
  const isBusy = errors.some(({ code }) => code === "OPERATION_IN_PROGRESS" || code === "LIMIT_REACHED");
  if (isBusy) return null;
  if (errors.length === 0 && operation) return operation.id;
  const messages = errors.map(({ message }) => message).join("; ");
  throw new SourceFailed(`Shopify refused the bulk operation ${document.name}: ${messages}`);
}

async function pollOperation(client: ShopifyClient, operationId: string): Promise<OperationState> {
  const { bulkOperation: operation } = await client.query(DOCUMENTS.bulkPoll, { id: operationId });
  if (!operation) return { is: "lost", why: "it is no longer known" };
  const { status, url = null, errorCode: code } = operation;
  const objects = Number(operation.objectCount);
  switch (status) {
    case "CREATED":
    case "RUNNING":
    case "CANCELING":
      return { is: "running", objects };
    case "COMPLETED":
      // Without matches there is no file. Otherwise a file without address has expired.
      if (url === null && objects > 0) return { is: "lost", why: "its file is gone" };
      return { is: "completed", objects, url };
    default:
      return { is: "lost", why: `it ended as ${status}${code ? ` (${code})` : ""}` };
  }
}

/** Cancels an operation that does not finish. */
async function cancelOperation(client: ShopifyClient, operationId: string): Promise<void> {
  await client.query(DOCUMENTS.bulkCancel, { id: operationId });
}

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
async function storeDownload(
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
