import { createHash, createHmac } from "node:crypto";
import { listAccountWorkspaces } from "../../../store/directory.ts";
import type { Database } from "../../../store/database.ts";
import { requestRun } from "../../../store/queries/sync-request.ts";
import { recordDelivery } from "../../../store/queries/webhook-delivery.ts";
import type { SourcePlace } from "../../connector.ts";
import { tryUnseal } from "../../credentials.ts";
import { isSigned, readPayload } from "../shared/foreign.ts";
import { CHECK_POLICY } from "../shared/http.ts";
import { consumerSecretOf, openClient, WEBHOOK } from "./client.ts";
import { ORDER_PREFIX } from "./map.ts";

/** The name of this source everywhere. */
export const WOOCOMMERCE = "woocommerce";

/** Where shops report changes. */
export const WOOCOMMERCE_WEBHOOKS = {
  path: "/webhooks/woocommerce",
  signatureHeader: "x-wc-webhook-signature",
  notSigned: "The signature of this delivery does not match a webhook of the shop.",
};
const TOPICS = ["order.created", "order.updated", "order.deleted", "order.restored"];

/** The account at an address: "shop.example", or "shop.example/store". */
export function accountOf(address: string): string {
  const url = URL.parse(address);
  return url === null ? "" : `${url.host}${url.pathname.replace(/(?<!\/)\/+$/u, "")}`;
}

/** Secret of the webhooks that the service registers: known to both sides without being stored or sent again. */
export function webhookSecretOf(secrets: SourcePlace["secrets"]): string {
  return createHmac("sha256", consumerSecretOf(secrets)).update("returns webhooks").digest("hex");
}

/** Adds missing webhooks to the shop, and renews the secret of the others; idempotent. */
export async function registerWebhooks(place: SourcePlace, publicUrl: string): Promise<void> {
  const client = openClient(place, CHECK_POLICY);
  const url = `${publicUrl}${WOOCOMMERCE_WEBHOOKS.path}`;
  const { rows: known } = await client.list("webhooks", WEBHOOK, { per_page: 100 });
  for (const topic of TOPICS) {
    const existing = known.find((webhook) => webhook.topic === topic && webhook.delivery_url === url);
    await client.post(existing === undefined ? "webhooks" : `webhooks/${existing.id}`, {
      name: `Returns Analytics: ${topic}`,
      topic,
      delivery_url: url,
      secret: webhookSecretOf(place.secrets),
      status: "active",
    });
  }
}

/** Header names are in lower case; the signature covers the body. */
type Received = { headers: Readonly<Record<string, string>>; body: Buffer };

type Receiver = { database: Database; sealingKey: Buffer };

const NOT_SIGNED = { status: 401, message: WOOCOMMERCE_WEBHOOKS.notSigned } as const;

/**
 * Receives a delivery: the named shop's secret must have signed it; a run then reads the named order again. Deliveries of a
 * shop that is not connected cannot be verified.
 */
export async function receiveWooWebhook({ database, sealingKey }: Receiver, { headers, body }: Received) {
  const account = accountOf(headers["x-wc-webhook-source"] ?? "");
  const [workspace] = await listAccountWorkspaces(database, WOOCOMMERCE, account);
  const sealed = workspace?.sealed_credentials ?? null;
  if (workspace === undefined || sealed === null) return NOT_SIGNED;
  const { shop_key: shopKey } = workspace;
  const signature = headers[WOOCOMMERCE_WEBHOOKS.signatureHeader] ?? "";
  const secrets = tryUnseal({ sealingKey, shopKey, source: WOOCOMMERCE }, sealed);
  // Those of the registered webhooks, and of those added by hand.
  const signing = secrets === null ? [] : [webhookSecretOf(secrets), secrets["webhookSecret"] ?? ""];
  if (!signing.some((secret) => secret !== "" && isSigned({ body, signature }, secret))) return NOT_SIGNED;
  const topic = headers["x-wc-webhook-topic"] ?? "";
  const orderId = orderIdOf(body);
  if (!TOPICS.includes(topic)) return { status: 200 } as const;
  if (orderId === null)
    return { status: 400, message: `The payload is not one of the topic ${topic}.` } as const;
  // Deliveries within one second share an id, which is a hash of webhook and time.
  const digest = createHash("sha256").update(body).digest("hex");
  const webhookId = `${headers["x-wc-webhook-delivery-id"] ?? ""} ${digest}`.slice(-200);
  const place = { shopKey, source: WOOCOMMERCE };
  const records = [{ kind: "order", recordId: orderId }];
  const delivery = { ...place, webhookId, topic, replayKey: `id ${webhookId}`, records };
  await workspace.database.transaction(async (connection) => {
    if (!(await recordDelivery(connection, delivery)) || workspace.status === "disconnected") return;
    await requestRun(connection, { ...place, kind: "refresh", requestedBy: "webhook" });
  });
  return { status: 200 } as const;
}

function orderIdOf(body: Buffer): string | null {
  const id = Number(readPayload(body)?.["id"] ?? 0);
  return Number.isSafeInteger(id) && id > 0 ? `${ORDER_PREFIX}${id}` : null;
}
