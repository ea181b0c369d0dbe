import type { Config } from "./config.ts";
import { connectingOf } from "./actions/sources/connect.ts";
import { beginInstallation, finishInstallation } from "./actions/sources/install.ts";
import { createBrowserCookie } from "./http/browser-cookie.ts";
import { createConnectRoutes } from "./http/connect.ts";
import type { RouteGroup } from "./http/server.ts";
import { createWebhookRoute } from "./http/webhooks.ts";
import type { Keys } from "./lib/keys.ts";
import type { Database } from "./store/database.ts";
import { readDelivery } from "./sync/connectors/shopify/webhooks/delivery.ts";
import { receiveWebhook } from "./sync/connectors/shopify/webhooks/receive.ts";
import type { WebhookOptions } from "./sync/connectors/shopify/webhooks/receive.ts";

/** What the platform's surfaces report of deliveries: a log, and the status of each refused one. */
export type PlatformListeners = {
  log: WebhookOptions["log"];
  onRefusedWebhook: (status: number) => void;
};

/** Where the store platform reports changes, and where merchants connect their shops. Writes to `database`. */
export function createPlatformRoutes(
  config: Config,
  keys: Keys,
  database: Database,
  { log, onRefusedWebhook }: PlatformListeners,
): RouteGroup[] {
  const { publicUrl, shopifyClientId: clientId, shopifyClientSecret: clientSecret } = config;
  const { sealingKey } = keys;
  const environment = { database, keys, connecting: connectingOf(config), now: () => new Date() };
  const receiver = { database, sealingKey, clientId, clientSecret, log };
  return [
    createWebhookRoute((webhook) => receiveWebhook(receiver, readDelivery(webhook)), onRefusedWebhook),
    ...createConnectRoutes(
      {
        begin: (query, browser) => beginInstallation(environment, query, browser),
        finish: (query, browser) => finishInstallation(environment, query, browser),
      },
      createBrowserCookie(publicUrl?.startsWith("https:") === true),
    ),
  ];
}
