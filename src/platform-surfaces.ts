import type { Config } from "./config.ts";
import { beginInstallation, finishInstallation } from "./control/connect-oauth.ts";
import { createConnectSurfaces } from "./http/connect.ts";
import type { Surface } from "./http/server.ts";
import { createWebhookSurface } from "./http/webhooks.ts";
import type { Keys } from "./lib/keys.ts";
import type { Database } from "./store/database.ts";
import { readDelivery } from "./sync/connectors/shopify/webhook.ts";
import { receiveWebhook } from "./sync/connectors/shopify/webhook-receive.ts";

/**
 * Where the store platform tells of changes, and where merchants connect their shops. Writes to `database`.
 * `onRefusedWebhook` hears the status of each delivery that is refused.
 */
export function createPlatformSurfaces(
  config: Config,
  keys: Keys,
  database: Database,
  onRefusedWebhook: (status: number) => void,
): Surface[] {
  const { publicUrl, shopifyClientId: clientId, shopifyClientSecret: clientSecret } = config;
  const { sealingKey } = keys;
  const app = clientId === null || clientSecret === null ? null : { clientId, clientSecret };
  const environment = { database, sealingKey, publicUrl, app, now: () => new Date() };
  const receiver = { database, sealingKey, clientSecret };
  return [
    createWebhookSurface(async (webhook) => {
      const answer = await receiveWebhook(receiver, readDelivery(webhook));
      if (answer.status !== 200) onRefusedWebhook(answer.status);
      return answer;
    }),
    ...createConnectSurfaces({
      begin: (query) => beginInstallation(environment, query),
      finish: (query) => finishInstallation(environment, query),
    }),
  ];
}
