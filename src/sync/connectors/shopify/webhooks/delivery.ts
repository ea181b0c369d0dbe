import { createHash } from "node:crypto";
import type { Json } from "../../shared/foreign.ts";
import { isSentOnce, type Meaning } from "./topics.ts";

/** A delivery as it arrived; `body` is what its signature is over. */
export type Delivery = {
  topic: string;
  /** The shop named in its header. */
  shop: string;
  webhookId: string;
  /** When it was triggered, as the platform writes it; null = it does not say. */
  triggeredAt: string | null;
  signature: string;
  body: Buffer;
};

/** The platform's headers, with names in lower case. Missing ones are empty, so the signature is invalid. */
export function readDelivery(received: {
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}): Delivery {
  const { headers, body } = received;
  const header = (name: string): string => headers[`x-shopify-${name}`] ?? "";
  return {
    topic: header("topic"),
    shop: header("shop-domain").toLowerCase(),
    webhookId: header("webhook-id"),
    triggeredAt: headers["x-shopify-triggered-at"] ?? null,
    signature: header("hmac-sha256"),
    body,
  };
}

/**
 * Whether a delivery may take effect for the shop in its header. Topic and shop are not signed: a payload that names a shop must
 * name this one, and a payload that ends a connection or removes data must name it.
 */
export function isOfItsShop({ topic, shop }: Delivery, payload: Json, meaning: Meaning): boolean {
  const named = shopOfPayload(topic, payload);
  const isHarmless = meaning.act === "refresh" || meaning.act === "nothing";
  return named === null ? isHarmless : named === shop;
}

function shopOfPayload(topic: string, payload: Json): string | null {
  const name = topic === "app/uninstalled" ? payload["myshopify_domain"] : payload["shop_domain"];
  return typeof name === "string" ? name.toLowerCase() : null;
}

/** Deliveries are repeated for days: one of before the shop was connected again must not end that connection. */
export function isOfEarlierConnection(
  triggeredAt: string | null,
  settings: Readonly<Record<string, unknown>> | null,
): boolean {
  const connectedAt = settings?.["connectedAt"];
  if (triggeredAt === null || typeof connectedAt !== "string") return false;
  return Date.parse(triggeredAt) < Date.parse(connectedAt);
}

/**
 * The common key of a delivery and its repetitions. Webhook ids are not signed, so bodies that are sent once are identified by
 * their digest. Two changes of a record have equal bodies: they are identified by their ids, and only cause requests to the
 * platform.
 */
export function replayKeyOf({ topic, webhookId, body }: Delivery): string {
  return isSentOnce(topic) ? `body ${createHash("sha256").update(body).digest("hex")}` : `id ${webhookId}`;
}
