import { askForOpenReturns, listOrdersSince, addPending } from "../../../../store/queries/sync-record.ts";
import { drainPending, type FetchedRecord } from "../../shared/store-run.ts";
import { timeOf } from "../../shared/text.ts";
import type { ShopifyClient } from "../api/client.ts";
import { DOCUMENTS, productsDocument } from "../api/documents.ts";
import { allNodes, nextOf, openNodeReader, allOf, allPages } from "../api/nodes.ts";
import type { NodeReader, NodePage } from "../api/nodes.ts";
import {
  toLine,
  toOrder,
  toProduct,
  toReturn,
  toReturnLine,
  toVariant,
  toAgreement,
  toFulfillment,
  toRefund,
  toSale,
  toTrackingNumber,
} from "../map/records.ts";
import type {
  ReturnRecord,
  ShopifyOrder,
  FulfillmentRecord,
  RefundRecord,
  TrackingRecord,
} from "../map/records.ts";
import { SHOPIFY, type ShopifyRun } from "../settings.ts";
import { DELETED_ORDER } from "../webhooks/topics.ts";
import { surelyVisibleFrom } from "./history.ts";

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

/** Of orders that the platform does not show, those that it would show if they existed. */
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

/** An order has one of these as long as a return of it is not closed. */
const OPEN_STATUSES = ["return_requested", "in_progress", "inspection_complete"];

/**
 * Requests every order with an open return, according to the platform or to the stored data: a change of a return may not change
 * its order's update time, and an ended one is in no list.
 */
export async function listOpenReturns(run: ShopifyRun): Promise<void> {
  const filter = `(${OPEN_STATUSES.map((status) => `return_status:${status}`).join(" OR ")})`;
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

const REFUNDED_PER_REQUEST = 25;

type OrderRefunds = NonNullable<ReturnType<typeof DOCUMENTS.refunds.read>["nodes"][number]>;

/** The refunds of all requested orders, with their lines, and the units shipped by then. */
export async function fetchRefunds(run: ShopifyRun): Promise<void> {
  const reader = openNodeReader(run.client, DOCUMENTS.refunds, REFUNDED_PER_REQUEST);
  await drainPending(run, { kind: "refunds" }, reader.portion, async (orderIds) => {
    const orders = (await reader.read(orderIds)).filter((node) => node !== null);
    const refunds = await allOf(
      orders.map(async ({ id: parentId, refunds: first, fulfillments }) => {
        const rows = (part: string, found: readonly { id: string }[]): FetchedRecord[] =>
          found.map((record) => ({ part, recordId: record.id, parentId, record }));
        const sent = await readFulfillments(run.client, fulfillments);
        return [...rows("refund", await readRefunds(run.client, first)), ...rows("fulfillment", sent)];
      }),
    );
    return refunds.flat();
  });
}

/** Refunds of an order, each with all its lines. */
async function readRefunds(client: ShopifyClient, refunds: OrderRefunds["refunds"]): Promise<RefundRecord[]> {
  const whole: RefundRecord[] = [];
  for (const refund of refunds) {
    const lines = await allNodes(client, refund.refundLineItems, DOCUMENTS.refundLines, refund.id);
    whole.push(toRefund(refund, lines));
  }
  return whole;
}

async function readFulfillments(
  client: ShopifyClient,
  fulfillments: OrderRefunds["fulfillments"],
): Promise<FulfillmentRecord[]> {
  const whole: FulfillmentRecord[] = [];
  for (const sent of fulfillments) {
    const lines = await allNodes(client, sent.fulfillmentLineItems, DOCUMENTS.fulfillmentLines, sent.id);
    const fulfillment = toFulfillment(sent, lines);
    if (fulfillment !== null) whole.push(fulfillment);
  }
  return whole;
}

type AgreementEdge = ReturnType<typeof DOCUMENTS.orderAgreements.read>["parent"]["page"]["nodes"][number];

/** The sales ledger of an order, with all its pages. */
async function fetchAgreements(
  client: ShopifyClient,
  id: string,
  first: NodePage<AgreementEdge>,
): Promise<Pick<ShopifyOrder, "agreements" | "sales" | "tipLineIds">> {
  const ledger = { agreements: [], sales: [], tipLineIds: [] } as Awaited<ReturnType<typeof fetchAgreements>>;
  let previous: string | null = null;
  for (const { node, cursor } of await allNodes(client, first, DOCUMENTS.orderAgreements, id)) {
    ledger.agreements.push(toAgreement(node));
    const place = { id, previous };
    const sales = await allPages(node.sales, async (after) => {
      const { order } = await client.query(DOCUMENTS.agreementSales, { ...place, after });
      return order.agreements.nodes[0]?.sales;
    });
    for (const sale of sales) {
      const read = toSale(sale, node.id);
      if (read === null) continue;
      if ("tip" in read) ledger.tipLineIds.push(read.tip.lineId);
      else ledger.sales.push(read.sale);
    }
    previous = cursor;
  }
  return ledger;
}

const RETURNS_PER_REQUEST = 50;

type TrackedNode = NonNullable<ReturnType<typeof DOCUMENTS.trackings.read>["nodes"][number]>;

/** The tracking numbers of returns that have one; a deleted return has none. */
function openTrackingReader(client: ShopifyClient) {
  const returns = openNodeReader(client, DOCUMENTS.trackings, RETURNS_PER_REQUEST);
  return {
    portion: returns.portion,
    read: async (returnIds: readonly string[]): Promise<TrackingRecord[]> => {
      const nodes = (await returns.read(returnIds)).filter((node) => node !== null);
      const trackings = await allOf(nodes.map((node) => readTrackings(client, node)));
      return trackings.filter(({ trackingNumbers }) => trackingNumbers.length > 0);
    },
  };
}

/** The tracking numbers of all requested returns. */
export async function fetchTrackings(run: ShopifyRun): Promise<void> {
  const reader = openTrackingReader(run.client);
  await drainPending(run, { kind: "tracking" }, reader.portion, async (returnIds) => {
    const trackings = await reader.read(returnIds);
    return trackings.map((record) => ({
      part: "tracking",
      recordId: record.returnId,
      parentId: record.returnId,
      record,
    }));
  });
}

/** The numbers in a return's node, and those on further pages. */
async function readTrackings(client: ShopifyClient, node: TrackedNode): Promise<TrackingRecord> {
  const numbers = new Set<string>();
  const orders = await allNodes(client, node.reverseFulfillmentOrders, DOCUMENTS.reverseOrders, node.id);
  for (const { id, reverseDeliveries } of orders) {
    const deliveries = await allNodes(client, reverseDeliveries, DOCUMENTS.reverseDeliveries, id);
    for (const delivery of deliveries) {
      const number = toTrackingNumber(delivery);
      if (number !== null) numbers.add(number);
    }
  }
  return { returnId: node.id, trackingNumbers: [...numbers] };
}
