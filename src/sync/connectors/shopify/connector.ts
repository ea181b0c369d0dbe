import { monthOfDate, monthToText } from "../../../lib/month.ts";
import type { Connection } from "../../../store/database.ts";
import { addGoneOrders } from "../../../store/queries/sync-record.ts";
import { requestRun } from "../../../store/queries/sync-request.ts";
import { SourceFailed } from "../../connector.ts";
import type { Connector, Source, SourcePlace, SyncContext, SyncOutcome } from "../../connector.ts";
import { replaceDocument } from "../../document-merge.ts";
import type { SourceOrder, SourceOrders } from "../../document-merge.ts";
import { WARNING_TEXTS } from "../../project.ts";
import type { WarningCounts } from "../../project.ts";
import { followPurchase, NO_PLANS, type PlansByName } from "../../purchase.ts";
import { readStored } from "../../stored-document.ts";
import { openClient, SHOPIFY_RETRY_POLICY } from "./api/client.ts";
import type { ShopifyClient, ShopifyRetryPolicy } from "./api/client.ts";
import { isShopHost, isShopUrl } from "./api/hosts.ts";
import { TITLE } from "./api/objects.ts";
import { readCursor } from "./cursor.ts";
import type { HistoryLimit, ShopifyCursor } from "./cursor.ts";
import { fetchEverything, giveUpBackfill } from "./fetch/backfill.ts";
import { limitAfter, surelyVisibleFrom } from "./fetch/history.ts";
import { fetchOrders, fetchProducts, listChanges, listOpenReturns } from "./fetch/orders.ts";
import { ALL_ORDERS_SCOPE, checkShop, openTokenClient, readShopAccess } from "./install/access.ts";
import type { OrderAccess } from "./install/access.ts";
import { createTokenSource } from "./install/token.ts";
import type { TokenOptions } from "./install/token.ts";
import {
  addAnomalies,
  mapOrder,
  NO_ANOMALIES,
  openFetchedOrders,
  openFetchedProducts,
} from "./map/map-order.ts";
import type { FetchedOrder, MappedOrder, OrderAnomalies } from "./map/map-order.ts";
import { mapProduct } from "../shared/map-product.ts";
import { applyStoreRun } from "../shared/store-run.ts";
import { readSettings, SETTING_OPTIONS, SHOPIFY, step } from "./settings.ts";
import type { ShopifyRun } from "./settings.ts";
import { registerWebhooks, settleWebhooks } from "./webhooks/settle.ts";

type ShopifyConnectorOptions = Pick<TokenOptions, "clientId" | "clientSecret"> & {
  /** Left out: no name of a subscription stands for a plan. */
  plans?: PlansByName;
  /** Replaces parts of the usual one. */
  retryPolicy?: Partial<ShopifyRetryPolicy>;
};

/** An older list of changes is read again rather than continued. */
const FRESH_LIST_MS = 10 * 60_000;

export const SHOPIFY_SOURCE: Source = {
  source: SHOPIFY,
  title: TITLE,
  summary: "Orders, returns, refunds and products of a Shopify shop.",
  kind: "store",
  address: null,
  shops: {
    label: "The shop’s name at Shopify",
    allowed: "its domain at Shopify, such as my-store.myshopify.com",
    example: "my-store.myshopify.com",
    find: (name) => {
      const shop = name.toLowerCase();
      return isShopHost(shop) ? { shop, url: `https://${shop}` } : null;
    },
    isUrl: isShopUrl,
  },
  key: {
    secret: "accessToken",
    title: "token",
    help: "Use the token of a custom app with the scopes read_orders, read_returns, read_products and, for orders older than 60 days, read_all_orders.",
  },
  // The secret of the shop's own app outlives its token.
  otherSecrets: [
    {
      secret: "clientSecret",
      title: "client secret",
      description: "The custom app's API secret key, which signs its webhooks.",
    },
  ],
  options: SETTING_OPTIONS,
  checkSettings: readSettings,
  check: async (place) => {
    const {
      shop: account,
      currencyCode,
      missingScopes,
      hasAllOrders,
    } = await readShopAccess(clientAt(place));
    if (missingScopes.length > 0) {
      throw new SourceFailed(
        `The token may not read everything: give the app the scopes ${missingScopes.join(", ")}.`,
      );
    }
    const note = `Without the scope ${ALL_ORDERS_SCOPE} Shopify shows the orders of the last 60 days only.`;
    return { account, currencyCode, notes: hasAllOrders ? [] : [note] };
  },
  registerWebhooks: (place, publicUrl) => registerWebhooks(clientAt(place), `${publicUrl}/webhooks/shopify`),
  deletionsFound: "only by a backfill",
};

/** For a few requests with secrets that are not stored yet. */
function clientAt({ url, secrets, signal }: SourcePlace): ShopifyClient {
  return openTokenClient(url, secrets["accessToken"] ?? "", signal);
}

/**
 * The store source Shopify. Until a first backfill is finished every run resumes or begins one, whatever its kind; later the
 * other kinds ignore an unfinished one. Settings are those of `readSettings`.
 */
export function createShopifyConnector(options: ShopifyConnectorOptions): Connector & Source {
  return { ...SHOPIFY_SOURCE, sync: (context) => sync(options, context) };
}

async function sync(options: ShopifyConnectorOptions, context: SyncContext): Promise<SyncOutcome> {
  const { credentials, database, shopKey, signal, currencyCode } = context;
  const { retryPolicy, plans = NO_PLANS, ...app } = options;
  const shop = readSettings(context.settings);
  const client = openClient({
    url: shop.url,
    tokens: createTokenSource({ credentials, url: shop.url, ...app, now: () => context.now() }),
    signal,
    retryPolicy: { ...SHOPIFY_RETRY_POLICY, ...retryPolicy },
  });
  const access = await checkShop(client, currencyCode);
  const { subscription } = access;
  await followPurchase(database, { shopKey, source: SHOPIFY, subscription, plans, now: context.now() });
  await settleWebhooks(database, { shopKey, source: SHOPIFY }, client);
  const run: ShopifyRun = { ...context, client, shop, access, cursor: readCursor(context.cursor) };
  const { counts, anomalies, warnings, isChanged } = await fetchAndApply(run);
  if (access.hasAllOrders && run.cursor.limit !== null) await askForBackfill(run);
  const notes = [...limitNotes(run.cursor.limit, access), ...notesOf(anomalies, warnings)];
  return { counts, notes, isChanged };
}

/** Data that the app could not see without read_all_orders is read as soon as it has the scope. */
async function askForBackfill({ database, shopKey }: ShopifyRun): Promise<void> {
  await requestRun(database, { shopKey, source: SHOPIFY, kind: "backfill", requestedBy: "schedule" });
}

async function fetchAndApply(run: ShopifyRun): Promise<Applied> {
  const { watermark, backfill } = run.cursor;
  if (run.kind === "backfill" || watermark === null) {
    await fetchEverything(run);
    return applyFetched(run, new Date(run.cursor.backfill?.startedAt ?? run.now()));
  }
  // It was canceled, or keeps failing: data from an earlier one is kept up to date anyway.
  if (backfill !== null) await giveUpBackfill(run);
  if (run.kind === "incremental") await listOnce(run, watermark);
  if (run.kind === "open_returns") await listOpenReturns(run);
  await fetchOrders(run);
  await fetchProducts(run);
  return applyFetched(run, new Date(run.cursor.listedAt ?? watermark));
}

/** A run that was cut off behind its list is continued with it. */
async function listOnce(run: ShopifyRun, watermark: string): Promise<void> {
  const listedAt = run.now();
  const earlier = run.cursor.listedAt;
  if (earlier !== null && listedAt.getTime() - Date.parse(earlier) < FRESH_LIST_MS) return;
  const listed = await listChanges(run, watermark);
  const cursor = { ...run.cursor, listedAt: listedAt.toISOString() };
  // After an empty list there is nothing to resume.
  if (listed === 0) run.cursor = cursor;
  else await step(run, async () => cursor);
}

/** Counts of the applied records. */
const NO_COUNTS = { orders: 0, order_lines: 0, returns: 0, refunds: 0 };

type Applied = {
  counts: typeof NO_COUNTS & {
    products: number;
    variants: number;
    changed_orders: number;
    unbalanced_lines?: number;
  };
  anomalies: OrderAnomalies;
  warnings: WarningCounts;
  /** Whether anything that is served came out different. */
  isChanged: boolean;
};

/** Applies and publishes all that was fetched. The shop's as-of becomes `asOf` (M5). */
async function applyFetched(run: ShopifyRun, asOf: Date): Promise<Applied> {
  const { shopKey } = run;
  const { backfill } = run.cursor;
  const limit = limitAfter(run.cursor, run.access, asOf);
  const cursor: ShopifyCursor = { watermark: asOf.toISOString(), listedAt: null, backfill: null, limit };
  const tally: Tally = { counts: { ...NO_COUNTS }, anomalies: { ...NO_ANOMALIES, unbalancedLines: [] } };
  const { products, variants, changedOrders, warnings, isChanged } = await applyStoreRun(run, {
    source: SHOPIFY,
    asOf,
    cursor,
    isBackfill: backfill !== null,
    addGone: (connection) => {
      const visibleFrom = backfill?.hasAllOrders === true ? null : surelyVisibleFrom(asOf);
      const listed = { prefix: "gid://shopify/Order/", part: "order", visibleFrom };
      return addGoneOrders(connection, shopKey, SHOPIFY, listed);
    },
    openProducts: async (connection) => {
      const next = await openFetchedProducts(connection, shopKey, SHOPIFY);
      return async () => (await next()).map((product) => mapProduct(product, run.shop, run.currencyCode));
    },
    openOrders: (connection) => sourceOrders(run, connection, tally, limit?.historyFrom ?? null),
  });
  run.cursor = cursor;
  const { counts, anomalies } = tally;
  const unbalanced = anomalies.unbalancedLines.length;
  return {
    counts: {
      ...counts,
      products,
      variants,
      changed_orders: changedOrders,
      ...(unbalanced === 0 ? {} : { unbalanced_lines: unbalanced }),
    },
    anomalies,
    warnings,
    isChanged,
  };
}

type Tally = { counts: typeof NO_COUNTS; anomalies: OrderAnomalies };

/** The platform sends whole orders: parts that are missing are deleted. Orders from before `historyFrom` are omitted. */
async function sourceOrders(
  run: ShopifyRun,
  connection: Connection,
  tally: Tally,
  historyFrom: string | null,
): Promise<SourceOrders> {
  const next = await openFetchedOrders(connection, run.shopKey, SHOPIFY);
  const source = ({ orderId, order, document }: FetchedOrder): SourceOrder => {
    const mapped = order === null ? GONE : mapOrder(order, run.currencyCode);
    count(tally, mapped);
    const stored = document === null ? null : readStored(orderId, document);
    return { orderId, stored, part: mapped.part };
  };
  return {
    merge: replaceDocument,
    next: async () => {
      for (let portion = await next(); portion.length > 0; portion = await next()) {
        const counted = portion.filter((fetched) => !isBefore(fetched, historyFrom));
        if (counted.length > 0) return counted.map(source);
      }
      return [];
    },
  };
}

function isBefore({ order }: FetchedOrder, historyFrom: string | null): boolean {
  return historyFrom !== null && order !== null && order.order.processedAt < historyFrom;
}

/** An order without lines is one that the platform no longer has. */
const GONE: MappedOrder = { part: { lines: [], returns: [], refunds: [] }, anomalies: NO_ANOMALIES };

function count({ counts, anomalies }: Tally, { part, anomalies: found }: MappedOrder): void {
  counts.orders += 1;
  counts.order_lines += part.lines.length;
  counts.returns += part.returns.length;
  counts.refunds += part.refunds.length;
  addAnomalies(anomalies, found);
}

/** The text of a note after the number of each anomaly. */
const ANOMALY_TEXTS: Readonly<Record<Exclude<keyof OrderAnomalies, "unbalancedLines">, string>> = {
  unverifiedReturnLines: "returned units belong to no order line that Shopify knows.",
  undatedClosedReturns: "closed returns have no closing time; they are not counted.",
  foreignOrders: "orders are in an earlier currency of the shop; their money is left out.",
  ordersWithoutLedger: "orders have lines without a sales ledger; they are counted by their refund lines.",
  unbookedRefundUnits:
    "units of refund lines are in no entry of the sales ledger; they are not counted as refunded.",
  repeatedEntries: "entries of the sales ledger were sent twice; each is counted once.",
  earlyEntries: "entries of the sales ledger are dated before their order; they count in order of time.",
  unknownEntries: "entries of the sales ledger are of an unknown type; they are counted as order edits.",
  uncountedSales: "sales of the ledger have no units; those of their refund's lines are used.",
  unexpectedSales:
    "sales of the ledger have units that do not match their type; the sign decides, and a price change has none.",
};

/** So many are named. */
const MOST_NAMED = 10;

/** Notes for the operator about a successful run. */
export function notesOf(
  { unbalancedLines, ...anomalies }: OrderAnomalies,
  warnings: WarningCounts,
): string[] {
  const notes = Object.entries(ANOMALY_TEXTS).flatMap(([name, text]) => {
    const times = anomalies[name as keyof typeof anomalies];
    return times === 0 ? [] : [`${times} ${text}`];
  });
  if (unbalancedLines.length > 0) {
    const named = unbalancedLines.slice(0, MOST_NAMED).join(", ");
    const others = unbalancedLines.length > MOST_NAMED ? ", …" : "";
    notes.push(
      `${unbalancedLines.length} lines have lost a different number of units than their sales ledger says; ` +
        `they are counted by the ledger: ${named}${others}.`,
    );
  }
  for (const [kind, times] of warnings) notes.push(`${times} ${WARNING_TEXTS[kind]}.`);
  return notes;
}

/** The missing part of the shop's history, and why. */
function limitNotes(limit: HistoryLimit | null, { hasAllOrders }: OrderAccess): string[] {
  if (limit === null) return [];
  if (hasAllOrders) {
    return [
      "The app has the scope read_all_orders now: a backfill of the orders it could not see was requested.",
    ];
  }
  const { historyFrom, unread } = limit;
  const since =
    historyFrom === null
      ? "earlier orders stay as they were last read."
      : `figures begin with ${monthToText(monthOfDate(historyFrom))}, and what happens to an order after 60 days is not seen.`;
  const notes = [
    `Shopify shows this app only the orders of the last 60 days, because it lacks the scope read_all_orders: ${since}`,
  ];
  if (unread !== null) {
    notes.push(
      `Nothing was read between ${unread.from} and ${unread.until}, and Shopify no longer shows those days: ` +
        "their cohorts lack orders and returns until the app has the scope read_all_orders.",
    );
  }
  return notes;
}
