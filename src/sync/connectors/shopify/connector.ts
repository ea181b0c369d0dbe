import { findConnection } from "../../../store/queries/data-source.ts";
import { requestRun } from "../../../store/queries/sync-request.ts";
import { SourceFailed } from "../../connector.ts";
import type { Connector, Source, SourcePlace, SyncContext, SyncOutcome } from "../../connector.ts";
import { applyFetched } from "./apply-fetched.ts";
import type { Applied } from "./apply-fetched.ts";
import { fetchEverything, giveUpBackfill } from "./fetch/backfill.ts";
import { ALL_ORDERS_SCOPE, checkShop, openTokenClient, readShopAccess } from "./install/access.ts";
import { createTokenSource } from "./install/token.ts";
import type { TokenOptions } from "./install/token.ts";
import { registerWebhooks } from "./install/webhook-registration.ts";
import { openClient, SHOPIFY_RETRY_POLICY } from "./api/client.ts";
import type { ShopifyClient, ShopifyRetryPolicy } from "./api/client.ts";
import { TITLE } from "./api/objects.ts";
import { readCursor } from "./cursor.ts";
import { fetchOrders } from "./fetch/orders.ts";
import { fetchProducts } from "./fetch/products.ts";
import { listChanges, listOpenReturns } from "./fetch/listing.ts";
import { limitNotes, notesOf } from "./notes.ts";
import { SHOPIFY, step } from "./run.ts";
import type { ShopifyRun } from "./run.ts";
import { readSettings, SETTING_OPTIONS } from "./settings.ts";
import { settleWebhooks } from "./webhooks/settle.ts";

export type ShopifyConnectorOptions = Pick<TokenOptions, "clientId" | "clientSecret"> & {
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
  key: { secret: "accessToken", title: "token" },
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
};

/** For a few requests with secrets that are not stored yet. */
function clientAt({ url, secrets, signal }: SourcePlace): ShopifyClient {
  return openTokenClient(url, secrets["accessToken"] ?? "", signal);
}

/**
 * The store source Shopify. Until a first backfill is finished every run continues or begins one, whatever kind it is;
 * later the other kinds leave an unfinished one behind. Settings are those of `readSettings`.
 */
export function createShopifyConnector(options: ShopifyConnectorOptions): Connector & Source {
  return { ...SHOPIFY_SOURCE, sync: (context) => sync(options, context) };
}

async function sync(options: ShopifyConnectorOptions, context: SyncContext): Promise<SyncOutcome> {
  const { credentials, database, shopKey, signal, currencyCode } = context;
  const { retryPolicy, ...app } = options;
  const shop = readSettings(context.settings);
  const client = openClient({
    url: shop.url,
    tokens: createTokenSource({ credentials, url: shop.url, ...app, now: () => context.now() }),
    signal,
    retryPolicy: { ...SHOPIFY_RETRY_POLICY, ...retryPolicy },
  });
  const access = await checkShop(client, currencyCode);
  await settleWebhooks(database, { shopKey, source: SHOPIFY }, client);
  const connection = await findConnection(database, shopKey, SHOPIFY);
  const cursor = readCursor(connection?.cursor);
  const run: ShopifyRun = { ...context, client, shop, access, cursor };
  const { counts, anomalies, warnings } = await fetchAndApply(run);
  if (access.hasAllOrders && run.cursor.limit !== null) await askForBackfill(run);
  return { counts, notes: [...limitNotes(run.cursor.limit, access), ...notesOf(anomalies, warnings)] };
}

/** What the app could not see while it lacked read_all_orders is read as soon as it has it. */
async function askForBackfill({ database, shopKey }: ShopifyRun): Promise<void> {
  await requestRun(database, { shopKey, source: SHOPIFY, kind: "backfill", requestedBy: "schedule" });
}

async function fetchAndApply(run: ShopifyRun): Promise<Applied> {
  const { watermark, backfill } = run.cursor;
  if (run.kind === "backfill" || watermark === null) {
    await fetchEverything(run);
    return applyFetched(run, new Date(run.cursor.backfill?.startedAt ?? run.now()));
  }
  // It was taken back, or keeps failing: what an earlier one has read is kept up with all the same.
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
  await listChanges(run, watermark);
  await step(run, async () => ({ ...run.cursor, listedAt: listedAt.toISOString() }));
}
