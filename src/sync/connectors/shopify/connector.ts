import { findConnection } from "../../../store/queries/data-source.ts";
import type { Connector, SyncContext, SyncOutcome } from "../../connector.ts";
import { requestRun } from "../../run-request.ts";
import { applyFetched } from "./apply-fetched.ts";
import type { Applied } from "./apply-fetched.ts";
import { fetchEverything, giveUpBackfill } from "./fetch/backfill.ts";
import { checkShop } from "./install/check-shop.ts";
import { openClient } from "./api/client.ts";
import type { TokenSource } from "./api/client.ts";
import { readCursor } from "./cursor.ts";
import { fetchOrders } from "./fetch/orders.ts";
import { fetchProducts } from "./fetch/products.ts";
import { listChanges, listOpenReturns } from "./fetch/listing.ts";
import { limitNotes, notesOf } from "./notes.ts";
import { PACING } from "../kit/pacing.ts";
import type { Pacing } from "../kit/pacing.ts";
import { SHOPIFY, step } from "./run.ts";
import type { ShopifyRun } from "./run.ts";
import { readSettings } from "./settings.ts";
import { settleWebhooks } from "./webhooks/settle.ts";

export type ShopifyConnectorOptions = {
  /** The access tokens of one run; `url` is the shop's base address. */
  tokenSource(context: SyncContext, url: string): TokenSource;
  /** The retry policy; the default unless given. */
  pacing?: Partial<Pacing>;
};

/** An older list of changes is read again rather than continued. */
const FRESH_LIST_MS = 10 * 60_000;

/**
 * The store source Shopify. Until a first backfill is finished every run continues or begins one, whatever kind it is;
 * later the other kinds leave an unfinished one behind. Secrets are the token source's; settings are those of
 * `readSettings`.
 */
export function createShopifyConnector(options: ShopifyConnectorOptions): Connector {
  return {
    source: SHOPIFY,
    kind: "store",
    sync: (context) => sync(options, context),
  };
}

async function sync(options: ShopifyConnectorOptions, context: SyncContext): Promise<SyncOutcome> {
  const { database, shopKey, signal, currencyCode } = context;
  const shop = readSettings(context.settings);
  const client = openClient({
    url: shop.url,
    tokens: options.tokenSource(context, shop.url),
    signal,
    pacing: { ...PACING, ...options.pacing },
  });
  const access = await checkShop(client, currencyCode);
  await settleWebhooks(database, { shopKey, source: SHOPIFY }, client);
  const connection = await findConnection(database, shopKey, SHOPIFY);
  const cursor = readCursor(connection?.cursor);
  const run: ShopifyRun = { ...context, client, shop, access, cursor };
  const { counts, oddities, warnings } = await fetchAndApply(run);
  if (access.hasAllOrders && run.cursor.limit !== null) await askForBackfill(run);
  return { counts, notes: [...limitNotes(run.cursor.limit, access), ...notesOf(oddities, warnings)] };
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
