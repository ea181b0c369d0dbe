import { monthOfDate, monthToText } from "../../../lib/month.ts";
import { requestRun } from "../../../store/queries/sync-request.ts";
import { SourceFailed } from "../../connector.ts";
import type { Connector, Source, SourcePlace, SyncContext, SyncOutcome } from "../../connector.ts";
import { followPurchase } from "../../purchase.ts";
import { mapProduct } from "../shared/map-product.ts";
import { anomalyNotes, applyStoreRun, GONE, step, drainPending } from "../shared/store-run.ts";
import { openClient, SHOPIFY_RETRY_POLICY } from "./api/client.ts";
import type { ShopifyClient, ShopifyRetryPolicy } from "./api/client.ts";
import { isShopHost, isShopUrl } from "./api/hosts.ts";
import { TITLE } from "./api/objects.ts";
import { readCursor, readSettings, SETTING_OPTIONS, SHOPIFY } from "./settings.ts";
import type { HistoryLimit, ShopifyRun } from "./settings.ts";
import { fetchEverything, giveUpBackfill } from "./fetch/backfill.ts";
import { limitAfter, surelyVisibleFrom } from "./fetch/history.ts";
import { fetchOrders, fetchProducts, listChanges, listOpenReturns } from "./fetch/orders.ts";
import {
  ALL_ORDERS_SCOPE,
  checkShop,
  openTokenClient,
  readShopAccess,
  createTokenSource,
} from "./install/access.ts";
import type { OrderAccess, TokenOptions } from "./install/access.ts";
import { addAnomalies, assembleOrder, assembleProduct, mapOrder, NO_ANOMALIES } from "./map/map-order.ts";
import type { OrderAnomalies } from "./map/map-order.ts";
import { addPending } from "../../../store/queries/sync-record.ts";
import { DOCUMENTS } from "./api/documents.ts";
import { allPages, openNodeReader } from "./api/nodes.ts";
import { RETURN } from "./webhooks/topics.ts";

type ShopifyConnectorOptions = Pick<TokenOptions, "clientId" | "clientSecret"> & {
  /** By the names of subscriptions. */
  plans?: ReadonlyMap<string, string>;
  /** The service's own address, for webhooks; null = shops cannot reach it. */
  publicUrl?: string | null;
  /** Replaces parts of the default. */
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
  registerWebhooks: (place, publicUrl) => registerWebhooks(clientAt(place), publicUrl),
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
  const { retryPolicy, plans, publicUrl = null, ...app } = options;
  const shop = readSettings(context.settings);
  const client = openClient({
    url: shop.url,
    tokens: createTokenSource({ credentials, url: shop.url, ...app, now: () => context.now() }),
    signal,
    retryPolicy: { ...SHOPIFY_RETRY_POLICY, ...retryPolicy },
  });
  const access = await checkShop(client, currencyCode);
  const subscription = access.paid && { ...access.paid, plan: plans?.get(access.paid.name) ?? null };
  await followPurchase(database, { shopKey, source: SHOPIFY, subscription, now: context.now() });
  const cursor = readCursor(context.cursor);
  const run: ShopifyRun = { ...context, source: SHOPIFY, client, shop, access, cursor };
  await settleWebhooks(run);
  const isDaily = run.kind === "open_returns" && publicUrl !== null;
  const webhookNotes = isDaily ? await renewWebhooks(client, publicUrl) : [];
  const outcome = await fetchAndApply(run);
  const { limit } = run.cursor;
  // Data that the app could not see without read_all_orders is read as soon as it has the scope.
  if (access.hasAllOrders && limit !== null)
    await requestRun(database, { shopKey, source: SHOPIFY, kind: "backfill", requestedBy: "schedule" });
  return { ...outcome, notes: [...webhookNotes, ...limitNotes(limit, access), ...outcome.notes] };
}

async function fetchAndApply(run: ShopifyRun): Promise<SyncOutcome> {
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

/** A run that was interrupted after its list is continued with that list. */
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

/** Applies and publishes all that was fetched. The shop's as-of becomes `asOf` (M5). */
async function applyFetched(run: ShopifyRun, asOf: Date): Promise<SyncOutcome> {
  const { shop, currencyCode } = run;
  const { backfill } = run.cursor;
  const limit = limitAfter(run.cursor, run.access, asOf);
  const historyFrom = limit?.historyFrom ?? null;
  const visibleFrom = backfill?.hasAllOrders === true ? null : surelyVisibleFrom(asOf);
  const anomalies: OrderAnomalies = { ...NO_ANOMALIES, unbalancedLines: [] };
  const { counts, notes, isChanged } = await applyStoreRun(run, {
    asOf,
    cursor: { watermark: asOf.toISOString(), listedAt: null, backfill: null, limit },
    isBackfill: backfill !== null,
    listed: { prefix: "gid://shopify/Order/", part: "order", visibleFrom },
    productsOf: (rows) => assembleProduct(rows).map((product) => mapProduct(product, shop, currencyCode)),
    orderOf: (rows) => {
      const order = assembleOrder(rows);
      if (order === null) return GONE;
      // Orders from before the history are left out.
      if (order === undefined || (historyFrom !== null && order.order.processedAt < historyFrom)) return null;
      const mapped = mapOrder(order, currencyCode);
      addAnomalies(anomalies, mapped.anomalies);
      return mapped.part;
    },
  });
  const unbalanced = anomalies.unbalancedLines.length;
  return {
    counts: { ...counts, ...(unbalanced === 0 ? {} : { unbalanced_lines: unbalanced }) },
    notes: [...notesOf(anomalies), ...notes],
    isChanged,
  };
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

/** How many are named. */
const MOST_NAMED = 10;

/** Notes for the operator about a successful run. */
export function notesOf({ unbalancedLines, ...anomalies }: OrderAnomalies): string[] {
  const notes = anomalyNotes(ANOMALY_TEXTS, anomalies);
  if (unbalancedLines.length > 0) {
    const named = unbalancedLines.slice(0, MOST_NAMED).join(", ");
    const others = unbalancedLines.length > MOST_NAMED ? ", …" : "";
    notes.push(
      `${unbalancedLines.length} lines have lost a different number of units than their sales ledger says; ` +
        `they are counted by the ledger: ${named}${others}.`,
    );
  }
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

/** As many nodes as one request may name. */
const MOST_NODES = 250;

/**
 * Asks the platform for what webhook payloads leave out: the orders of changed returns, which are fetched again. A deleted return
 * has changed its order, which the next listing of changed orders finds.
 */
async function settleWebhooks(run: ShopifyRun): Promise<void> {
  const { database, shopKey, source, client } = run;
  const returns = openNodeReader(client, DOCUMENTS.returnOrders, MOST_NODES);
  await drainPending(
    run,
    { kind: RETURN, stage: "changed returns" },
    () => MOST_NODES,
    async (returnIds) => {
      const nodes = await returns.read(returnIds);
      const orderIds = nodes.flatMap((node) => (node === null ? [] : [node.order.id]));
      await addPending(database, shopKey, source, "order", orderIds);
      return [];
    },
  );
}

/** `includeFields`: those of its payloads; none = all. */
type Subscription = { topic: string; includeFields: readonly string[] };

/**
 * For some minutes, Shopify drops deliveries with the same payload as an earlier one: without its time, the second of two changes
 * of a record would not arrive.
 */
const CHANGED = ["id", "admin_graphql_api_id", "updated_at"];

/**
 * A shop's webhook subscriptions; orders arrive without the customer. The privacy topics cannot be subscribed to here: they belong
 * in the app's own configuration.
 */
const SUBSCRIPTIONS: readonly Subscription[] = [
  // Returns have no such time, so their whole payload arrives.
  ...["APPROVE", "CANCEL", "CLOSE", "DECLINE", "PROCESS", "REOPEN", "REQUEST", "UPDATE"].map((event) => ({
    topic: `RETURNS_${event}`,
    includeFields: [],
  })),
  { topic: "REFUNDS_CREATE", includeFields: ["id", "order_id"] },
  { topic: "ORDERS_UPDATED", includeFields: CHANGED },
  { topic: "ORDERS_CANCELLED", includeFields: CHANGED },
  { topic: "ORDERS_DELETE", includeFields: [] },
  { topic: "PRODUCTS_UPDATE", includeFields: CHANGED },
  { topic: "PRODUCTS_DELETE", includeFields: [] },
  { topic: "BULK_OPERATIONS_FINISH", includeFields: [] },
  { topic: "APP_UNINSTALLED", includeFields: [] },
  { topic: "APP_SUBSCRIPTIONS_UPDATE", includeFields: [] },
];

/**
 * Subscribes the service at `publicUrl` to all topics of the shop that are missing or have other fields; idempotent. Throws
 * `SourceFailed` with the platform's reason, or as the client.
 */
async function registerWebhooks(client: ShopifyClient, publicUrl: string): Promise<void> {
  const uri = `${publicUrl}/webhooks/shopify`;
  const registered = await listSubscriptions(client, uri);
  for (const { topic, includeFields } of SUBSCRIPTIONS) {
    const known = registered.get(topic);
    if (known?.includeFields.join() === includeFields.join()) continue;
    const subscription = { uri, format: "JSON", includeFields };
    const { made } =
      known === undefined
        ? await client.query(DOCUMENTS.webhookCreate, { topic, subscription })
        : await client.query(DOCUMENTS.webhookUpdate, { id: known.id, subscription });
    const [problem] = made.userErrors;
    if (problem !== undefined) {
      throw new SourceFailed(`Shopify does not send ${topic} to ${uri}: ${problem.message}.`);
    }
  }
}

async function listSubscriptions(client: ShopifyClient, uri: string) {
  const pageAfter = async (after: string | null) =>
    (await client.query(DOCUMENTS.webhookList, { after })).page;
  const subscriptions = await allPages(await pageAfter(null), pageAfter);
  return new Map(subscriptions.filter((one) => one.uri === uri).map((one) => [one.topic, one]));
}

/** The platform deletes a subscription after eight failed deliveries in a row. */
async function renewWebhooks(client: ShopifyClient, publicUrl: string): Promise<string[]> {
  try {
    await registerWebhooks(client, publicUrl);
    return [];
  } catch (error) {
    if (!(error instanceof SourceFailed)) throw error;
    return [`Webhooks are not registered: ${error.message}`];
  }
}
