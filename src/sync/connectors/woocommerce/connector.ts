import { bisector } from "d3-array";
import { findDocuments } from "../../../store/queries/order-document.ts";
import { addGoneOrders, addPending, askAboutGoneOrders } from "../../../store/queries/sync-record.ts";
import { clearRecords, listStoredOrders } from "../../../store/queries/sync-record.ts";
import { SourceFailed } from "../../connector.ts";
import type { Connector, Source, SourcePlace, SyncContext, SyncOutcome } from "../../connector.ts";
import { readStored } from "../../stored-document.ts";
import { AnswerTooLarge, CHECK_POLICY, RETRY_POLICY, type RetryPolicy } from "../shared/http.ts";
import { productOptions, readProductSettings, readText, type MappedProduct } from "../shared/map-product.ts";
import { anomalyNotes, applyStoreRun, drainPending, GONE, step, storeRecords } from "../shared/store-run.ts";
import type { FetchedRecord, StoreRun } from "../shared/store-run.ts";
import { INDEX, isShopUrl, NO_ORDER, NO_ROUTE, openClient, ORDER, orNull } from "./client.ts";
import {
  PRODUCT,
  REFUND,
  ROW,
  TITLE,
  VARIATION,
  type WooClient,
  type WooOrder,
  type WooRefund,
  type WooVariation,
} from "./client.ts";
import { ANOMALY_TEXTS, gidOf, keepVariations, mapOrder, mapWooProduct, ORDER_PREFIX } from "./map.ts";
import { SELLS_NOTHING, type MappedOrder, type WooAnomalies, type WooSettings } from "./map.ts";
import { accountOf, registerWebhooks, WOOCOMMERCE } from "./webhooks.ts";

export const WOOCOMMERCE_SOURCE: Source = {
  source: WOOCOMMERCE,
  title: TITLE,
  summary: "Orders, refunds and products of a WooCommerce shop.",
  kind: "store",
  address: null,
  shops: {
    label: "The shop’s address",
    allowed: "its address, which begins with https://, such as https://shop.example",
    example: "https://shop.example",
    find: (name) => {
      const url = URL.parse(name.includes("://") ? name : `https://${name}`);
      const isShop = url !== null && isShopUrl(url);
      return isShop ? { shop: null, url: url.href.replace(/(?<!\/)\/+$/u, "") } : null;
    },
    isUrl: isShopUrl,
  },
  key: {
    secret: "consumerKey",
    title: "key",
    help: "In WordPress, go to WooCommerce → Settings → Advanced → REST API and add a key of an administrator or shop manager with the permission Read/Write. Enter the consumer key and the consumer secret, joined by a colon: ck_…:cs_…. Write is needed only to register webhooks.",
  },
  otherSecrets: [
    {
      secret: "webhookSecret",
      title: "webhook secret",
      description: "Only for webhooks that were added by hand.",
    },
  ],
  options: [
    {
      setting: "refundsBeforeCompletion",
      flags: "--refunds-before-completion <kind>",
      description:
        "what refunded units count as while their order is not completed: canceled (they were not sent) or returned (default: canceled)",
      label: "Refunds before an order is completed",
      isList: false,
    },
    ...productOptions("the prefix of a tag that names a product's family (default: its first category)"),
  ],
  checkSettings: readSettings,
  check,
  registerWebhooks,
  deletionsFound: "within a day",
};

function readSettings(settings: Readonly<Record<string, unknown>>): WooSettings {
  const refunds = readText(settings, "refundsBeforeCompletion", TITLE) ?? "canceled";
  if (refunds !== "canceled" && refunds !== "returned")
    throw new SourceFailed("Refunds before an order is completed must be canceled or returned.");
  return {
    url: readText(settings, "url", TITLE) ?? "",
    refundsBeforeCompletion: refunds,
    familyMetafield: null,
    ...readProductSettings(settings, TITLE),
  };
}

/** Whether orders and products can be read, in which currency, and the shop's own address. */
async function check(place: SourcePlace) {
  const client = openClient(place, CHECK_POLICY);
  const currencyCode = await client.currency();
  for (const list of ["products", "orders"]) await client.list(list, ROW, { per_page: 1 });
  return { account: await accountAt(client, place.url), currencyCode, notes: [] };
}

/**
 * As the shop's webhooks name it; the address itself where security plugins hide it, or where it names another host: a shop could
 * claim to be another one, which could then not be connected.
 */
async function accountAt(client: WooClient, url: string): Promise<string> {
  const own = accountOf(url);
  const hostOf = (account: string) => account.replace(/^www\./u, "").split("/", 1)[0];
  // The index of all REST APIs of the shop.
  const index = await client.one("../../", INDEX).catch((error: unknown) => {
    if (error instanceof SourceFailed) return { home: null };
    throw error;
  });
  const home = accountOf(index.home ?? url);
  return hostOf(home) === hostOf(own) ? home : own;
}

/** What the connector stores between runs; it survives a crash. */
type Cursor = {
  /** ISO 8601: changes up to then are applied; null before the first backfill. */
  watermark: string | null;
  /** A run in progress. */
  reading: Reading | null;
  /** The place of a daily check in progress. */
  checked?: Place | null;
};

type Reading = Place & {
  /** ISO 8601: at its end, the run has read everything that the shop held at this time. */
  startedAt: string;
  /** ISO 8601: changes since then are read; null: everything, for a backfill. */
  since: string | null;
  /** The current list of `stagesOf`. */
  stage: number;
  /** As `settingsOf` has those by which its records are mapped; earlier versions did not store them. */
  settings?: string;
};

/** The last id read from a list, the position to continue at, and how many rows were read, which earlier versions did not store. */
type Place = { lastId: number; offset: number; read?: number };

const BEGIN: Place = { lastId: 0, offset: 0, read: 0 };

type Run = StoreRun<Cursor> & { client: WooClient; shop: WooSettings };

/** Of a page of 100 orders: a hostile shop could otherwise fill the memory. */
const MOST_BYTES = 16 * 1024 * 1024;

export function createWooConnector(retryPolicy: Partial<RetryPolicy> = {}): Connector & Source {
  return {
    ...WOOCOMMERCE_SOURCE,
    sync: (context) => sync(context, { ...RETRY_POLICY, maxAnswerBytes: MOST_BYTES, ...retryPolicy }),
  };
}

async function sync(context: SyncContext, retryPolicy: RetryPolicy): Promise<SyncOutcome> {
  const { shopKey, currencyCode, credentials, turn = context.signal } = context;
  const shop = readSettings(context.settings);
  // A shop may take as long as it likes. What it has sent is stored page by page.
  const signal = AbortSignal.any([context.signal, turn]);
  const client = openClient({ url: shop.url, secrets: await credentials.read(), signal }, retryPolicy);
  const current = await client.currency();
  if (current !== currencyCode) {
    throw new SourceFailed(
      `The shop sells in ${current} now, but the workspace counts in ${currencyCode}: create a workspace with that currency.`,
    );
  }
  const cursor = (context.cursor ?? { watermark: null, reading: null }) as Cursor;
  const run: Run = { ...context, source: WOOCOMMERCE, client, shop, cursor };
  const kind = cursor.watermark === null ? "backfill" : context.kind;
  await giveUpOther(run, kind);
  if (kind === "backfill" || kind === "incremental") await readLists(run, kind);
  if (kind === "open_returns") await findMissed(run);
  if (kind === "backfill") {
    // A list may leave out an order that is there: each that is stored is asked for by itself, as in `readOrders`.
    await step(run, async (connection) => {
      await addGoneOrders(connection, shopKey, WOOCOMMERCE, LISTED);
      await askAboutGoneOrders(connection, shopKey, WOOCOMMERCE, "order");
      return null;
    });
  }
  const read = (orderIds: readonly string[]) => readOrders(run, orderIds.map(numberOf));
  await drainPending(run, { kind: "order", stage: "changed orders" }, () => PAGE, read);
  return applyRecords(run);
}

const numberOf = (orderId: string) => Number(orderId.slice(ORDER_PREFIX.length));
/** Places among orders by their numbers. */
const byNumber = bisector(numberOf);

/** The records of orders that a backfill reads. */
const LISTED = { prefix: ORDER_PREFIX, part: "whole_order", visibleFrom: null };

/** All settings of a connection but its time. */
const settingsOf = ({ settings: { connectedAt: _connectedAt, ...settings } }: Run) =>
  JSON.stringify(settings);

/**
 * An unfinished full read is repeated, unless this run continues it by the same settings. Changes that an unfinished poll has read
 * are valid and applied; the next poll continues it, and a full read includes it.
 */
async function giveUpOther(run: Run, kind: string): Promise<void> {
  const { reading } = run.cursor;
  if (reading === null) return;
  const isFull = reading.since === null;
  const { settings = settingsOf(run) } = reading;
  if (isFull === (kind === "backfill") && settings === settingsOf(run)) return;
  await step(run, async (connection) => {
    if (isFull) await clearRecords(connection, run.shopKey, WOOCOMMERCE);
    return { ...run.cursor, reading: null };
  });
}

/** The lists that a run reads in sequence. */
const stagesOf = ({ since }: Reading) => [
  { list: "orders", status: "any" },
  { list: "orders", status: "trash" },
  { list: "products", status: "any" },
  // Orders also name products in the trash; later changes of these affect no order.
  { list: since === null ? "products" : "variations", status: since === null ? "trash" : "any" },
];

/** Dates of the API are in seconds, clocks differ, and a filter by local time repeats or skips an hour with it. */
const OVERLAP_MS = 70 * 60_000;

async function readLists(run: Run, kind: "backfill" | "incremental"): Promise<void> {
  const changedMs = Date.parse(run.cursor.watermark ?? "") - OVERLAP_MS;
  const fresh: Reading = {
    ...BEGIN,
    startedAt: run.now().toISOString(),
    since: kind === "backfill" ? null : new Date(changedMs).toISOString(),
    stage: 0,
    settings: settingsOf(run),
  };
  for (;;) {
    const reading = run.cursor.reading ?? fresh;
    const stage = stagesOf(reading)[reading.stage];
    if (stage === undefined) return;
    const { list, status } = stage;
    // Without an offset, which the API would read as local time.
    const since = reading.since === null ? {} : { modified_after: reading.since.slice(0, 19) };
    const filter = { status, ...since, _fields: "id,parent_id" };
    for await (const { rows, done, total, ...place } of readPages(run, list, filter, reading)) {
      const ids = [...new Set(rows.map((row) => (list === "variations" ? (row.parent_id ?? 0) : row.id)))];
      const records = await (list === "orders" ? readOrders(run, ids, status) : readProducts(run, ids));
      await step(run, async (connection) => {
        await storeRecords(connection, run, records);
        return { ...run.cursor, reading: { ...reading, ...place } };
      });
      run.progress({ stage: list, done, total });
    }
    const next = { ...reading, ...BEGIN, stage: reading.stage + 1 };
    await step(run, async () => ({ ...run.cursor, reading: next }));
  }
}

const PAGE = 100;
/** Rows of the previous page with which a page begins, so that pages overlap. */
const SEEN = 5;
/** This many pages without a new row mean that a plugin or a proxy ignores the offset. */
const MOST_KNOWN_PAGES = 20;
/** No shop has as many; endless ids would fill the disk. */
const MOST_ROWS = 10_000_000;
const MOST_VARIATIONS = 10_000;

/**
 * The rows of a list by id, after `lastId`. Rows that leave the list during reading move later ones up: if a page begins
 * after the last row read, an earlier page is requested, so that no row is skipped. Pages may be shorter than was asked for.
 */
async function* readPages(
  { client, signal }: Run,
  list: string,
  filter: Readonly<Record<string, string>>,
  { lastId, offset, read = offset }: Place,
) {
  let longest = SEEN + 1;
  for (let known = 0; ;) {
    signal.throwIfAborted();
    const query = { ...filter, dates_are_gmt: "true", orderby: "id", order: "asc", per_page: PAGE, offset };
    const asked = client.list(list, ROW, query);
    const page = list === "variations" ? await orNull(NO_ROUTE, asked) : await asked;
    if (page === null) {
      // Before WooCommerce 10.3 there is no list of variations. If the plugin was switched off, there is no currency either.
      await client.currency();
      return;
    }
    const { total } = page;
    const rows = page.rows.slice(0, PAGE);
    longest = Math.max(longest, rows.length);
    if (offset > 0 && (rows[0]?.id ?? Infinity) > lastId) {
      offset = Math.max(0, offset - longest);
      continue;
    }
    const later = rows.filter(({ id }) => id > lastId);
    read += later.length;
    known = later.length === 0 ? known + 1 : 0;
    const endless = `The shop's list of ${list} does not end: it`;
    if (known === MOST_KNOWN_PAGES) throw new SourceFailed(`${endless} repeats the rows of its pages.`);
    if (Math.max(offset, read) > MOST_ROWS)
      throw new SourceFailed(`${endless} has more than ${MOST_ROWS} rows.`);
    // A shorter page without anything new is the end, whatever a plugin makes of the total and of the length of pages.
    const isLast = known > 0 && rows.length < longest;
    const done = offset + rows.length;
    lastId = Math.max(lastId, ...later.map(({ id }) => id));
    offset += Math.max(1, rows.length - SEEN);
    if (known === 0) yield { rows: later, lastId, offset, read, done, total };
    if (isLast) return;
  }
}

/** What a request for rows by their ids has in common. */
const queryOf = (ids: readonly number[]) => ({ include: ids.join(","), per_page: PAGE, orderby: "id" });
/** Amounts as they are stored, not rounded for display. */
const EXACT = { dp: 6 };

/**
 * Orders by their ids, each with its refunds. The list leaves out statuses that the shop does not know, as those of a plugin that is
 * not active for a while: such an order is asked for by itself before it counts as gone.
 */
function readOrders(run: Run, ids: readonly number[], status = "any"): Promise<FetchedRecord[]> {
  return inHalves(ids, (some) => readSomeOrders(run, some, status));
}

/** In halves where an answer is longer than one may be: orders may have hundreds of lines, each with the data of plugins. */
async function inHalves(
  ids: readonly number[],
  read: (some: readonly number[]) => Promise<FetchedRecord[]>,
): Promise<FetchedRecord[]> {
  try {
    return await read(ids);
  } catch (error) {
    if (!(error instanceof AnswerTooLarge) || ids.length < 2) throw error;
    const half = Math.ceil(ids.length / 2);
    return [...(await inHalves(ids.slice(0, half), read)), ...(await inHalves(ids.slice(half), read))];
  }
}

async function readSomeOrders(run: Run, ids: readonly number[], status: string): Promise<FetchedRecord[]> {
  const { client, shop, currencyCode } = run;
  const { rows } = await client.list("orders", ORDER, { ...queryOf(ids), ...EXACT, status });
  const orders = new Map(rows.map((order) => [order.id, order]));
  for (const id of ids.filter((one) => !orders.has(one))) {
    const hidden = await orNull(NO_ORDER, client.one(`orders/${id}`, ORDER, EXACT));
    if (hidden !== null) orders.set(id, hidden);
  }
  const refunds = await readRefunds(client, [...orders.values()]);
  return ids.map((id) => {
    const order = orders.get(id);
    const record = order === undefined ? null : mapOrder(order, refunds.get(id) ?? [], shop, currencyCode);
    return { part: "whole_order", recordId: `${ORDER_PREFIX}${id}`, parentId: null, record };
  });
}

/** By id from the list of all refunds; those that it lacks, as before WooCommerce 9.0, order by order. */
async function readRefunds(client: WooClient, orders: readonly WooOrder[]) {
  const ids = orders.flatMap(({ refunds }) => refunds.map(({ id }) => id));
  const found: WooRefund[] = [];
  for (let start = 0; start < ids.length; start += PAGE) {
    const query = { ...queryOf(ids.slice(start, start + PAGE)), ...EXACT };
    found.push(...((await orNull(NO_ROUTE, client.list("refunds", REFUND, query)))?.rows ?? []));
  }
  const byOrder = Map.groupBy(found, ({ parent_id: orderId }) => orderId ?? 0);
  for (const { id, refunds } of orders) {
    if ((byOrder.get(id)?.length ?? 0) === refunds.length) continue;
    const query = { per_page: PAGE, orderby: "id", ...EXACT };
    byOrder.set(id, (await client.list(`orders/${id}/refunds`, REFUND, query)).rows);
  }
  return byOrder;
}

/** Products with their variations. A product that no longer exists keeps its last known values. */
function readProducts(run: Run, ids: readonly number[]): Promise<FetchedRecord[]> {
  return inHalves(ids, (some) => readSomeProducts(run, some));
}

async function readSomeProducts(run: Run, ids: readonly number[]): Promise<FetchedRecord[]> {
  const { client, shop, currencyCode } = run;
  const records: FetchedRecord[] = [];
  for (const status of ["any", "trash"]) {
    for (const product of (await client.list("products", PRODUCT, { ...queryOf(ids), status })).rows) {
      const isVariable = product.type.startsWith("variable");
      const variations = isVariable ? await readVariations(client, product.id, status) : [];
      const record = mapWooProduct(product, variations, shop, currencyCode);
      records.push({ part: "whole_product", recordId: record.product.product_gid, parentId: null, record });
    }
  }
  return records;
}

/** The variations of a product in the trash are there too. */
async function readVariations(client: WooClient, id: number, status: string): Promise<WooVariation[]> {
  const all: WooVariation[] = [];
  for (let page = 1; ; page += 1) {
    const query = { status, per_page: PAGE, page, orderby: "id", order: "asc" };
    const { rows, total } = await client.list(`products/${id}/variations`, VARIATION, query);
    all.push(...rows);
    // A shop may give shorter pages than it was asked for.
    if (rows.length === 0 || (rows.length < PAGE && all.length >= (total ?? 0))) return all;
    if (all.length >= MOST_VARIATIONS)
      throw new SourceFailed(`The product ${id} of the shop lists more than ${MOST_VARIATIONS} variations.`);
  }
}

/** Age in days of the orders that are checked every day. */
const LOOKED_AT_DAYS = 180;
const DAY_MS = 86_400_000;

/**
 * Requests each stored order that the shop no longer lists, or that lost a refund, and each listed one that is not stored, although
 * it sells: none of these need have changed an order's modification time.
 */
async function findMissed(run: Run): Promise<void> {
  const { database, shopKey, signal } = run;
  const sinceMs = run.now().getTime() - LOOKED_AT_DAYS * DAY_MS;
  const after = new Date(sinceMs).toISOString().slice(0, 19);
  const day = new Date(sinceMs + DAY_MS).toISOString().slice(0, 10);
  const found = await listStoredOrders(database, shopKey, ORDER_PREFIX, day);
  const stored = found.toSorted((left, right) => numberOf(left) - numberOf(right));
  const begin = run.cursor.checked ?? BEGIN;
  let at = byNumber.right(stored, begin.lastId);
  const store = (missed: Iterable<string>, checked: Place | null) =>
    step(run, async (connection) => {
      await addPending(connection, shopKey, WOOCOMMERCE, "order", [...missed]);
      return { ...run.cursor, checked };
    });
  const nextUpTo = (id: number): string[] => {
    const from = at;
    at = byNumber.right(stored, id);
    return stored.slice(from, at);
  };
  const pages = readPages(run, "orders", { status: "any", after }, begin);
  for await (const { rows, done, total, ...place } of pages) {
    const listed = new Map(rows.map((row) => [`${ORDER_PREFIX}${row.id}`, row]));
    const missed = new Set(nextUpTo(place.lastId));
    for (const [orderId, { status }] of listed) {
      if (SELLS_NOTHING.test(status ?? "draft")) missed.delete(orderId);
      else missed.add(orderId);
    }
    for (let orderIds = [...listed.keys()]; orderIds.length > 0;) {
      const { documents, left } = await database.transaction(
        (connection) => findDocuments(connection, shopKey, orderIds),
        signal,
      );
      for (const [orderId, document] of documents) {
        const { refunds, amountRefunds = [] } = readStored(orderId, document);
        const known = new Set(listed.get(orderId)?.refunds?.map(({ id }) => gidOf("Refund", id)));
        const isSame = [...refunds, ...amountRefunds].every(({ refundId }) => known.has(refundId));
        if (isSame) missed.delete(orderId);
        else missed.add(orderId);
      }
      orderIds = [...left];
    }
    await store(missed, place);
    run.progress({ stage: "checked orders", done, total });
  }
  await store(nextUpTo(Infinity), null);
}

async function applyRecords(run: Run): Promise<SyncOutcome> {
  const { watermark, reading } = run.cursor;
  const read = reading !== null && reading.stage === stagesOf(reading).length ? reading : null;
  const asOf = new Date(read?.startedAt ?? watermark ?? run.now());
  const anomalies: WooAnomalies = {};
  const { counts, notes, isChanged } = await applyStoreRun(run, {
    asOf,
    cursor: read === null ? run.cursor : { ...run.cursor, watermark: asOf.toISOString(), reading: null },
    isBackfill: read?.since === null,
    listed: LISTED,
    productsOf: (rows) => [JSON.parse(rows.at(-1)?.record ?? "") as MappedProduct],
    orderOf: (rows, stored) => {
      const mapped = JSON.parse(rows.at(-1)?.record ?? "") as MappedOrder | null;
      for (const name of Object.keys(ANOMALY_TEXTS) as (keyof WooAnomalies)[])
        anomalies[name] = (anomalies[name] ?? 0) + (mapped?.anomalies[name] ?? 0);
      return keepVariations(mapped?.part ?? GONE, stored);
    },
  });
  // The API has no returns.
  const { returns: _returns, ...others } = counts;
  return { counts: others, notes: [...anomalyNotes(ANOMALY_TEXTS, anomalies), ...notes], isChanged };
}
