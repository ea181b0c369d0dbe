import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { NamedRecord } from "../../../../store/queries/webhook-delivery.ts";
import { SUBSCRIPTION } from "./billing.ts";
import { isObject } from "../../kit/foreign.ts";
import type { Json } from "../../kit/foreign.ts";
import { isPayloadOf } from "./payloads.ts";

/** A delivery as it arrived; `body` is what its signature is over. */
export type Delivery = {
  topic: string;
  /** The shop it says it is of. */
  shop: string;
  webhookId: string;
  /** When it was triggered, as the platform writes it; null = it does not say. */
  triggeredAt: string | null;
  signature: string;
  body: Buffer;
};

/** The platform's headers, whose names arrive in lower case. What is missing is empty, and then nothing is signed. */
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

/** What a customer or the platform asks for; orders by their numbers. */
export type PrivacyAct =
  | { topic: "customers/data_request" | "shop/redact" }
  | { topic: "customers/redact"; orderNumbers: string[] };

/** What a delivery means. `records` have to be fetched again. */
export type Meaning =
  | { act: "refresh"; records: NamedRecord[] }
  | { act: "uninstall" }
  | { act: "privacy"; request: PrivacyAct }
  | { act: "nothing" };

/** The kind of pending record of a return whose order was not told. */
export const RETURN = "return";
/** Of an order that was deleted: the platform's not knowing it means that it is gone, whatever else hides orders. */
export const DELETED_ORDER = "deleted_order";

/** What a connection that is made later would not find out by itself. */
export const LASTING_KINDS: ReadonlySet<string> = new Set([DELETED_ORDER, SUBSCRIPTION]);

/** HMAC-SHA-256 over the raw body, base64, compared in constant time. */
export function isSigned({ body, signature }: Delivery, clientSecret: string): boolean {
  const expected = createHmac("sha256", clientSecret).update(body).digest();
  const given = Buffer.from(signature, "base64");
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** The body as an object; null for anything else. */
export function readPayload(body: Buffer): Json | null {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * Whether a delivery may mean what it does for the shop in its header. Topic and shop are not signed: a payload that
 * names a shop must name this one, and what ends a connection or removes data must name it.
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

/** Topics whose payload is sent once: whatever comes with the same body is a repetition. */
const SENT_ONCE: ReadonlySet<string> = new Set([
  "refunds/create",
  "orders/delete",
  "products/delete",
  "app/uninstalled",
  "customers/data_request",
  "customers/redact",
  "shop/redact",
]);

/**
 * What a repetition of a delivery has in common with it. Webhook ids are not signed, so that a body which is sent once
 * is known by its digest. Two changes of a record tell the same: they are known by their ids, and only ask the platform.
 */
export function replayKeyOf({ topic, webhookId, body }: Delivery): string {
  return SENT_ONCE.has(topic) ? `body ${createHash("sha256").update(body).digest("hex")}` : `id ${webhookId}`;
}

/**
 * What a topic and its payload mean; null when the payload is not one of the topic. Topics that nobody asked for mean
 * nothing.
 */
export function meaningOf(topic: string, payload: Json): Meaning | null {
  if (!isPayloadOf(topic, payload)) return null;
  if (topic.startsWith("returns/"))
    return refresh(orderOf(payload["order"]) ?? record(RETURN, "Return", payload));
  switch (topic) {
    case "refunds/create":
      return refresh(orderOf({ id: payload["order_id"] }));
    case "orders/updated":
    case "orders/cancelled":
      return refresh(orderOf(payload));
    case "orders/delete":
      return refresh(record(DELETED_ORDER, "Order", payload));
    case "products/update":
    case "products/delete":
      return refresh(record("product", "Product", payload));
    case "bulk_operations/finish":
      return { act: "refresh", records: [] };
    case "app/uninstalled":
      return { act: "uninstall" };
    case "app_subscriptions/update":
      return readSubscription(payload["app_subscription"]);
    case "customers/data_request":
    case "shop/redact":
      return { act: "privacy", request: { topic } };
    case "customers/redact":
      return {
        act: "privacy",
        request: { topic, orderNumbers: ((payload["orders_to_redact"] ?? []) as unknown[]).map(String) },
      };
    default:
      return { act: "nothing" };
  }
}

function refresh(named: NamedRecord | null): Meaning | null {
  return named === null ? null : { act: "refresh", records: [named] };
}

function orderOf(order: unknown): NamedRecord | null {
  return isObject(order) ? record("order", "Order", order) : null;
}

/** Its status is asked for rather than believed: whose subscription it is, the payload does not tell. */
function readSubscription(subscription: unknown): Meaning | null {
  return isObject(subscription) ? refresh(record(SUBSCRIPTION, "AppSubscription", subscription)) : null;
}

/** By the gid where the payload has it, else by the number that the gid ends in. */
function record(kind: string, type: string, payload: Json): NamedRecord | null {
  const { admin_graphql_api_id: gid, id } = payload;
  const prefix = `gid://shopify/${type}/`;
  if (typeof gid === "string" && gid.startsWith(prefix) && gid.length <= 255) return { kind, recordId: gid };
  const isId = Number.isSafeInteger(id) || (typeof id === "string" && /^\d{1,20}$/u.test(id));
  return isId ? { kind, recordId: `${prefix}${String(id)}` } : null;
}
