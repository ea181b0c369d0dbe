import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startShopifySimulator } from "../simulators/shopify/start.ts";
import type { ShopifySimulator } from "../simulators/shopify/start.ts";
import type { WebhookMessage } from "../simulators/shopify/webhooks.ts";
import type { Change } from "../simulators/shopify/changes.ts";
import { OPERATOR } from "../../src/actions/actor.ts";
import { importIntoWorkspace } from "../../src/actions/uploads/actions.ts";
import { runAction } from "../../src/actions/action.ts";
import { textInput } from "../../src/actions/field.ts";
import { requestSync } from "../../src/actions/sources/actions.ts";
import { connectSource } from "../../src/actions/sources/connect.ts";
import { createToken } from "../../src/actions/tokens/actions.ts";
import { SCOPES } from "../../src/contract/endpoint.ts";
import type { Database } from "../../src/store/database.ts";
import type { DirectoryRow } from "../../src/store/queries/workspace-directory.ts";
import { openTestKeys } from "../../tests/support/secret.ts";
import { makeWorkspace } from "../../tests/support/workspace.ts";

/** A simulated shop that changes: synced by one workspace, exported for the imports of others. */
export type SimulatedStore = {
  simulator: ShopifySimulator;
  /** Exports of the shop, each after more changes. */
  versions: string[];
  /** Changes the shop; resolves to the webhooks of its new orders. */
  change(): Promise<WebhookMessage[]>;
  /** Exports the current shop. */
  export(): Promise<void>;
};

export type CitusShop = { workspace: DirectoryRow; shopKey: number; token: string; store: SimulatedStore };

const ORDERS = 120;
const PRODUCTS = 12;
const CURRENCY = "EUR";
/** A plan with a counted quota, which no run uses up. */
const PLAN = "scale";

export async function startStores(
  count: number,
): Promise<{ stores: SimulatedStore[]; stop(this: void): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "returns-chaos-stores-"));
  const stores: SimulatedStore[] = [];
  for (let number = 1; number <= count; number++) {
    const simulator = await startShopifySimulator({
      seed: number,
      orders: ORDERS,
      products: PRODUCTS,
      currencyCode: CURRENCY,
      domain: `store-${number}.myshopify.com`,
      bulkMillis: 200,
      bucketPoints: 20_000,
      restorePerSecond: 20_000,
    });
    const versions: string[] = [];
    let round = 0;
    stores.push({
      simulator,
      versions,
      change: async () => {
        const results = (await simulator.control("change", changesOf((round += 1)))) as (Placed | null)[];
        await simulator.control("drop-messages", {});
        return results.flatMap((placed) => (placed?.id === undefined ? [] : [messageOf(placed.id)]));
      },
      export: async () => {
        const version = join(folder, `store-${number}-version-${versions.length}`);
        await simulator.control("export", { folder: version });
        versions.push(version);
      },
    });
  }
  const stop = async (): Promise<void> => {
    for (const { simulator } of stores) await simulator.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { stores, stop };
}

type Placed = { id?: string };

function messageOf(id: string): WebhookMessage {
  const payload = { id: Number(id.slice(id.lastIndexOf("/") + 1)), admin_graphql_api_id: id };
  return { topic: "ORDERS_CREATE", payload };
}

function changesOf(round: number): Change[] {
  return [
    { do: "placeOrder", lines: [{ product: (round % PRODUCTS) + 1, units: (round % 4) + 1 }] },
    {
      do: "placeOrder",
      lines: [{ product: ((round * 5) % PRODUCTS) + 1, units: 2 }],
      processedAt: "2026-06-15T10:00:00Z",
    },
    { do: "changeProduct", product: (round % PRODUCTS) + 1, set: { productType: `Type ${round % 5}` } },
    { do: "touchOrders", count: 5, seed: round },
  ];
}

async function callerOf(database: Database, workspace: DirectoryRow) {
  const keys = await openTestKeys(database);
  const connecting = { publicUrl: null, app: null };
  return { database, keys, connecting, workspace, actor: OPERATOR, now: new Date() };
}

/** A separate workspace for a store, with a token of every scope. */
export async function openShop(
  database: Database,
  store: SimulatedStore,
  domain: string,
): Promise<CitusShop> {
  const workspace = await makeWorkspace(database, domain, { currency: CURRENCY, plan: PLAN });
  const input = textInput({ name: "chaos", scopes: SCOPES });
  const { secret } = await runAction(createToken, await callerOf(database, workspace), input);
  return { workspace, shopKey: workspace.shop_key, token: secret?.reveal() ?? "", store };
}

/** Connects a shop to its store, which requests a backfill. */
export async function connectShop(database: Database, { workspace, store }: CitusShop): Promise<void> {
  const { url, token, options } = store.simulator;
  const given = { source: "shopify", shop: options.domain, address: url, "secret-accessToken": token };
  await runAction(connectSource, await callerOf(database, workspace), textInput(given));
}

export async function syncShop(database: Database, { workspace }: CitusShop): Promise<void> {
  await runAction(requestSync, await callerOf(database, workspace), textInput({ source: "shopify" }));
}

/** Imports one version of its store into a shop. */
export async function importVersion(
  database: Database,
  shop: Pick<CitusShop, "workspace" | "store">,
  version: number,
  asOf: Date,
): Promise<void> {
  const folder = shop.store.versions[version];
  if (folder === undefined) throw new Error(`the store has no version ${version}`);
  const request = { folder, asOf, now: new Date(), skipInvalid: false, onProgress: () => {} };
  const { imported, invalid } = await importIntoWorkspace(database, OPERATOR, shop.workspace, request);
  if (!imported) throw new Error(`rows were refused: ${JSON.stringify(invalid).slice(0, 300)}`);
}
