import { createHmac, randomUUID } from "node:crypto";
import { deriveKeys } from "../../src/lib/keys.ts";
import { registerConnection } from "../../src/store/queries/data-source.ts";
import { sealSecrets } from "../../src/sync/credentials.ts";
import { insertRows } from "./tenants.ts";
import { TEST_SECRET } from "./secret.ts";
import type { TestService } from "./service.ts";

export const APP = { clientId: "app-id", clientSecret: "app-secret" };

/** The options of a service that receives webhooks. */
export const APP_OPTIONS = { SHOPIFY_CLIENT_ID: APP.clientId, SHOPIFY_CLIENT_SECRET: APP.clientSecret };

export type SentWebhook = {
  topic: string;
  shop: string;
  payload: unknown;
  webhookId?: string;
  secret?: string;
  /** Instead of the correct one. */
  signature?: string;
  triggeredAt?: string;
};

/** Sends a delivery as the platform does, signed over its bytes. */
export async function sendWebhook(service: TestService, sent: SentWebhook): Promise<Response> {
  const body = JSON.stringify(sent.payload);
  const signature = createHmac("sha256", sent.secret ?? APP.clientSecret)
    .update(body)
    .digest("base64");
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "x-shopify-topic": sent.topic,
    "x-shopify-shop-domain": sent.shop,
    "x-shopify-webhook-id": sent.webhookId ?? randomUUID(),
    "x-shopify-hmac-sha256": sent.signature ?? signature,
  };
  if (sent.triggeredAt !== undefined) headers["x-shopify-triggered-at"] = sent.triggeredAt;
  return fetch(`${service.address}/webhooks/shopify`, { method: "POST", headers, body });
}

/** The message of an error. */
export async function messageOf(response: Response): Promise<string> {
  return ((await response.json()) as { error: { message: string } }).error.message;
}

/** Connects a workspace to a shop, with secrets of the test's own; `url` is where the shop answers. */
export async function connectShop(
  service: TestService,
  shopKey: number,
  shop: string,
  secrets: Record<string, string> = {},
  url = `https://${shop}`,
): Promise<void> {
  const { sealingKey } = deriveKeys(TEST_SECRET);
  const place = { sealingKey, shopKey, source: "shopify" };
  const sealed = sealSecrets(place, { accessToken: "token-of-the-shop", ...secrets });
  await insertRows(service.database, "data_source", [
    {
      shop_key: shopKey,
      source: "shopify",
      kind: "store",
      is_connection: true,
      status: "ok",
      settings: { url, shop, connectedAt: "2026-07-01T00:00:00Z" },
      sealed_credentials: `\\x${sealed.toString("hex")}`,
    },
  ]);
  const { database } = service.installation;
  await registerConnection(database, shopKey, {
    source: "shopify",
    kind: "store",
    account: shop,
    poll_at: new Date(Date.now() + 9 * 60_000),
  });
}

/** One workspace's rows of a table, as plain values. */
export async function rowsOf<Row>(
  service: TestService,
  table: string,
  shopKey: number,
  columns: string,
): Promise<Row[]> {
  const { rows } = await service.database.query(
    `select ${columns} from ${table} where shop_key = $1 order by 1, 2`,
    [shopKey],
  );
  return rows as Row[];
}
