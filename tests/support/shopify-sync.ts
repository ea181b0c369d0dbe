import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { startShopifySimulator, type ShopifySimulator } from "../../tools/simulators/shopify/start.ts";
import type { ShopifyOptions } from "../../tools/simulators/shopify/options.ts";
import { findConnection, putConnection } from "../../src/store/queries/data-source.ts";
import { addPending } from "../../src/store/queries/sync-record.ts";
import { createShopifyConnector } from "../../src/sync/connectors/shopify/connector.ts";
import type { ShopifyRetryPolicy } from "../../src/sync/connectors/shopify/api/client.ts";
import type { Credentials, Secrets, SyncOutcome, SyncProgress } from "../../src/sync/connector.ts";
import type { SyncKind } from "../../src/store/queries/sync-request.ts";
import { startImportWorkspace, type ImportWorkspace } from "./import-workspace.ts";
import { makeFolder } from "./folder.ts";
import { memoryCredentials } from "./secret.ts";

/** A workspace that is connected to a simulated shop. */
export type ShopifyWorkspace = {
  shopKey: number;
  sync(kind: SyncKind, options?: SyncOptions): Promise<SyncOutcome>;
  /** Begins a run that is stopped when it reports a stage. */
  stopAt(kind: SyncKind, stage: string): Promise<void>;
  /** Has the next run fetch records, as webhooks do. */
  ask(kind: string, ids: readonly string[]): Promise<void>;
  /** Ids of the stored orders, the earliest first. */
  orderIds(): Promise<string[]>;
  /** Every column of the rows that answers are computed from. */
  cohorts(): Promise<unknown[]>;
};

export type SyncOptions = {
  signal?: AbortSignal;
  settings?: Record<string, unknown>;
  /** The plan that each name of a subscription stands for. */
  plans?: ReadonlyMap<string, string>;
  publicUrl?: string;
  onProgress?: (progress: SyncProgress) => void;
};

/** A simulated shop, and a database to sync it into. */
export type ShopifySync = {
  simulator: ShopifySimulator;
  shop: ImportWorkspace;
  /** A new workspace; the lasting token of a custom app unless told otherwise. */
  connect: (secrets?: Secrets, currencyCode?: string) => Promise<ShopifyWorkspace>;
  /** The cohort rows of the shop as it is now, imported as a folder into a separate workspace. */
  exportedCohorts(): Promise<unknown[]>;
  stop(): Promise<void>;
};

/** Short waits for tests. */
export const QUICK: Partial<ShopifyRetryPolicy> = { firstDelayMs: 5, maxDelayMs: 40, pollMs: 10 };

export async function startShopifySync(
  options: Partial<ShopifyOptions> = {},
  retryPolicy: Partial<ShopifyRetryPolicy> = QUICK,
): Promise<ShopifySync> {
  const now = "2026-06-01T00:00:00Z";
  const simulator = await startShopifySimulator({
    now,
    bulkMillis: 5,
    bucketPoints: 20_000,
    restorePerSecond: 20_000,
    ...options,
  });
  const shop = await startImportWorkspace();
  const cohortsOf = async (shopKey: number) => {
    const rows = await shop.rows<{ row: unknown }>(
      `select to_jsonb(c) - 'shop_key' as row from cohort c where shop_key = $1
        order by entity_kind, entity_key, cohort_month, listing_id`,
      [shopKey],
    );
    return rows.map(({ row }) => row);
  };
  const { currencyCode = "EUR" } = options;
  return {
    simulator,
    shop,
    connect: async (secrets = { accessToken: simulator.token }, currency = currencyCode) => {
      const shopKey = await shop.open(currency);
      const credentials = memoryCredentials(secrets);
      await putConnection(shop.database, {
        shopKey,
        source: "shopify",
        kind: "store",
        settings: { url: simulator.url },
        sealedCredentials: Buffer.alloc(0),
      });
      const place = { simulator, shop, shopKey, credentials, currency, retryPolicy };
      const sync: ShopifyWorkspace["sync"] = (kind, given = {}) => syncOnce(place, kind, given);
      return {
        shopKey,
        cohorts: () => cohortsOf(shopKey),
        sync,
        stopAt: async (kind, stage) => {
          const stop = new AbortController();
          const reason = new Error(`stopped at ${stage}`);
          const onProgress = (progress: SyncProgress): void => {
            if (progress.stage === stage) stop.abort(reason);
          };
          await assert.rejects(sync(kind, { signal: stop.signal, onProgress }), reason);
        },
        ask: (kind, ids) => addPending(shop.database, shopKey, "shopify", kind, ids),
        orderIds: async () => {
          const rows = await shop.rows<{ order_id: string }>(
            `select d.order_id from order_document d left join order_line l using (shop_key, order_id)
              where d.shop_key = $1 group by d.order_id order by min(l.ordered_on), d.order_id`,
            [shopKey],
          );
          return rows.map((row) => row.order_id);
        },
      };
    },
    exportedCohorts: async () => {
      const shopKey = await shop.open(currencyCode);
      const folder = makeFolder();
      await simulator.control("export", { folder });
      await shop.import(shopKey, {}, { folder, asOf: new Date(now), now: new Date(now) });
      return cohortsOf(shopKey);
    },
    stop: async () => {
      await simulator.stop();
      await shop.stop();
    },
  };
}

/** The same for one test, which stops it. */
export async function openShopifySync(
  context: TestContext,
  ...options: Parameters<typeof startShopifySync>
): Promise<ShopifySync> {
  const sync = await startShopifySync(...options);
  context.after(() => sync.stop());
  return sync;
}

/** Sends a query to the shop as the custom app does. */
export async function askShop(simulator: ShopifySimulator, query: string, variables = {}): Promise<unknown> {
  const answer = await fetch(`${simulator.url}/admin/api/2026-10/graphql.json`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-shopify-access-token": simulator.token },
    body: JSON.stringify({ query, variables }),
  });
  return answer.json();
}

type Place = {
  simulator: ShopifySimulator;
  shop: ImportWorkspace;
  shopKey: number;
  credentials: Credentials;
  currency: string;
  retryPolicy: Partial<ShopifyRetryPolicy>;
};

/** Runs a sync by the shop's clock, which stands still until a change moves it. */
async function syncOnce(place: Place, kind: SyncKind, options: SyncOptions): Promise<SyncOutcome> {
  const { simulator, shop, shopKey, credentials, currency, retryPolicy } = place;
  const clock = await simulator.control("clock", {});
  const now = (): Date => new Date(clock.now);
  const { clientId, clientSecret } = simulator.options;
  const connector = createShopifyConnector({
    clientId,
    clientSecret,
    plans: options.plans ?? new Map(),
    publicUrl: options.publicUrl ?? null,
    retryPolicy,
  });
  const connection = await findConnection(shop.database, shopKey, connector.source);
  return connector.sync({
    database: shop.database,
    shopKey,
    cursor: connection?.cursor ?? null,
    currencyCode: currency,
    kind,
    settings: { url: simulator.url, ...options.settings },
    credentials,
    signal: options.signal ?? new AbortController().signal,
    now,
    progress: options.onProgress ?? (() => {}),
  });
}
