import { askForOpenReturns, listOrdersSince, addPending } from "../../../../store/queries/sync-record.ts";
import { drainPending, type FetchedRecord } from "../../shared/store-run.ts";
import { timeOf } from "../../shared/text.ts";
import type { ShopifyClient } from "../api/client.ts";
import { DOCUMENTS, productsDocument } from "../api/documents.ts";
import { allNodes, nextOf, openNodeReader } from "../api/nodes.ts";
import type { NodeReader } from "../api/nodes.ts";
import { toLine, toOrder, toProduct, toReturn, toReturnLine, toVariant } from "../map/records.ts";
import type { ReturnRecord, ShopifyOrder } from "../map/records.ts";
import { SHOPIFY } from "../settings.ts";
import type { ShopifyRun } from "../settings.ts";
import { DELETED_ORDER } from "../webhooks/topics.ts";
import { surelyVisibleFrom } from "./history.ts";
import { fetchAgreements, openTrackingReader, readFulfillments, readRefunds } from "./order-parts.ts";

const ORDERS_PER_REQUEST = 10;

/**
 * All requested orders, each complete; a deleted order becomes a record without content. One that the app may merely no longer
 * see is left unchanged, unless the platform has reported its deletion.
 */
export async function fetchOrders(run: ShopifyRun): Promise<void> {
  const reader = openOrderReader(run.client);
  await drainPending(run, { kind: "order" }, reader.portion, async (orderIds) => {
    const orders = await reader.read(orderIds);
    const missing = orderIds.filter((_, index) => orders[index] === null);
    const gone = new Set(await goneOf(run, missing));
    return recordsOf(orderIds, orders).filter(
      ({ record, recordId }) => record !== null || gone.has(recordId),
    );
  });
  await drainPending(run, { kind: DELETED_ORDER }, reader.portion, async (orderIds) =>
    recordsOf(orderIds, await reader.read(orderIds)),
  );
}

/** Of orders that the platform does not show, those that it would show if they were there. */
async function goneOf(run: ShopifyRun, missing: string[]): Promise<string[]> {
  if (run.access.hasAllOrders || missing.length === 0) return missing;
  return listOrdersSince(run.database, run.shopKey, missing, surelyVisibleFrom(run.now()));
}

function recordsOf(orderIds: readonly string[], orders: readonly (ShopifyOrder | null)[]): FetchedRecord[] {
  return orderIds.map((recordId, index) => ({
    part: "whole_order",
    recordId,
    parentId: null,
    record: orders[index] ?? null,
  }));
}

/** An order as requested, with the first pages of its connections. */
type OrderNode = NonNullable<ReturnType<typeof DOCUMENTS.orders.read>["nodes"][number]>;
type ReturnNode = OrderNode["returns"]["nodes"][number];

/** Orders, whole. */
export function openOrderReader(client: ShopifyClient): NodeReader<ShopifyOrder> {
  const orders = openNodeReader(client, DOCUMENTS.orders, ORDERS_PER_REQUEST);
  const returns = openTrackingReader(client);
  const read = async (orderIds: readonly string[]): Promise<(ShopifyOrder | null)[]> => {
    const whole: (ShopifyOrder | null)[] = [];
    for (const node of await orders.read(orderIds)) {
      whole.push(node === null ? null : await completeOrder(client, node));
    }
    const known = whole.filter((order) => order !== null);
    const underWay = known.flatMap((order) => order.returns.filter(mayHaveParcel).map(({ id }) => id));
    const trackings = new Map((await returns.read(underWay)).map((row) => [row.returnId, row]));
    for (const order of known) {
      order.trackings = order.returns.flatMap(({ id }) => trackings.get(id) ?? []);
    }
    return whole;
  };
  return { portion: orders.portion, read };
}

function mayHaveParcel({ status }: ReturnRecord): boolean {
  return status === "OPEN" || status === "CLOSED";
}

/** Fetches the data missing from the first pages of an order; without trackings. */
async function completeOrder(client: ShopifyClient, node: OrderNode): Promise<ShopifyOrder> {
  const { id } = node;
  const lines = await allNodes(client, node.lineItems, DOCUMENTS.orderLines, id);
  const returns = await allNodes(client, node.returns, DOCUMENTS.orderReturns, id);
  const returnLines = [];
  for (const returned of returns) returnLines.push(...(await readReturnLines(client, returned)));
  return {
    order: toOrder(node),
    lines: lines.map(toLine),
    returns: returns.map(toReturn),
    returnLines,
    refunds: await readRefunds(client, node.refunds),
    fulfillments: await readFulfillments(client, node.fulfillments),
    ...(await fetchAgreements(client, id, node.agreements)),
    trackings: [],
  };
}

async function readReturnLines(client: ShopifyClient, { id, returnLineItems }: ReturnNode) {
  const lines = await allNodes(client, returnLineItems, DOCUMENTS.returnLines, id);
  return lines.map((line) => toReturnLine(line, id));
}

const PRODUCTS_PER_REQUEST = 20;

/** All requested products, with their variants. A deleted product keeps its last known state. */
export async function fetchProducts(run: ShopifyRun): Promise<void> {
  const { client } = run;
  const reader = openNodeReader(client, productsDocument(run.shop.familyMetafield), PRODUCTS_PER_REQUEST);
  await drainPending(run, { kind: "product" }, reader.portion, async (productIds) => {
    const products: FetchedRecord[] = [];
    for (const node of await reader.read(productIds)) {
      if (node === null) continue;
      const variants = await allNodes(client, node.variants, DOCUMENTS.productVariants, node.id);
      const record = { product: toProduct(node), variants: variants.map(toVariant) };
      products.push({ part: "whole_product", recordId: node.id, parentId: null, record });
    }
    return products;
  });
}

/** Changes shortly before the last list may be missing from it, and clocks differ. */
const OVERLAP_MS = 10 * 60_000;
/** The pages of one list end at 25,000 records; a longer list continues from the last update time. */
const MAX_LISTED = 20_000;

type Listing = {
  document: typeof DOCUMENTS.changedOrders;
  field: "orders" | "products";
  kind: string;
  filter: string | null;
};

/** Requests every order and product that changed since a moment; returns how many it found. */
export async function listChanges(run: ShopifyRun, since: string): Promise<number> {
  const from = new Date(Date.parse(since) - OVERLAP_MS).toISOString();
  const { changedOrders, changedProducts } = DOCUMENTS;
  const orders = { document: changedOrders, field: "orders", kind: "order", filter: null } as const;
  const products = { document: changedProducts, field: "products", kind: "product", filter: null } as const;
  return (await listRecords(run, orders, from)) + (await listRecords(run, products, from));
}

/**
 * Requests every order with an open return, according to the platform or to the stored data: a change of a return may not change
 * its order's update time, and an ended one is in no list.
 */
export async function listOpenReturns(run: ShopifyRun): Promise<void> {
  const filter = "(return_status:return_requested OR return_status:in_progress)";
  await listRecords(run, { document: DOCUMENTS.changedOrders, field: "orders", kind: "order", filter }, null);
  await askForOpenReturns(run.database, run.shopKey, SHOPIFY, "order");
}

/** `since` null = from the first. Returns how many records it found. */
async function listRecords(run: ShopifyRun, listing: Listing, since: string | null): Promise<number> {
  const { document, field, kind } = listing;
  let from = since;
  let listed = 0;
  let after = null as string | null;
  let listedFrom = 0;
  for (;;) {
    run.signal.throwIfAborted();
    const { page } = await run.client.query(document, { query: queryOf(listing, from), after });
    const ids = page.nodes.map((node) => node.id);
    if (ids.length > 0) await addPending(run.database, run.shopKey, SHOPIFY, kind, ids);
    listed += ids.length;
    listedFrom += ids.length;
    run.progress({ stage: `changed ${field}`, done: listed, total: null });
    after = nextOf(page);
    const last = page.nodes.at(-1);
    const lastAt: string | null = last === undefined ? from : timeOf(last.updatedAt);
    if (after !== null && listedFrom >= MAX_LISTED && lastAt !== from) {
      [from, after, listedFrom] = [lastAt, null, 0];
    } else if (after === null) {
      return listed;
    }
  }
}

function queryOf({ filter }: Listing, from: string | null): string | null {
  const parts = [filter, from === null ? null : `updated_at:>='${from}'`].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(" AND ");
}
