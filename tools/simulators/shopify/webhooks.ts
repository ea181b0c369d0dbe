import { createHmac, randomUUID } from "node:crypto";
import type { Shop, Statistics } from "./shop.ts";
import { gid } from "./world/ids.ts";
import { randomOf } from "./world/random.ts";

type Subscription = { typeName: string; id: string; topic: string; uri: string };

export type Subscriptions = ReturnType<typeof makeSubscriptions>;

/** A message that waits for its delivery. */
export interface WebhookMessage {
  topic: string;
  payload: unknown;
}

interface SentDelivery {
  topic: string;
  uri: string;
  webhookId: string;
  /** The receiver's status, 0 when it did not answer. */
  status: number;
}

export interface DeliveryOptions {
  /** How often each message is sent, under one webhook id. */
  copies: number;
  shuffled: boolean;
  /** Sends messages without a subscriber to this address. */
  uri?: string;
  /** Signs with a wrong secret. */
  forged: boolean;
}

type SubscriptionRequest = {
  topic: string;
  webhookSubscription: { uri?: string; callbackUrl?: string };
};

export function makeSubscriptions() {
  const subscriptions: Subscription[] = [];
  return {
    find: (id: string): Subscription | null => subscriptions.find((one) => one.id === id) ?? null,
    list: (topics: string[]): Subscription[] =>
      subscriptions.filter(({ topic }) => topics.length === 0 || topics.includes(topic)),
    create: ({ topic, webhookSubscription: asked }: SubscriptionRequest): unknown => {
      const uri = asked.uri ?? asked.callbackUrl ?? "";
      const problem = problemOf(subscriptions, topic, uri);
      if (problem !== undefined) {
        const field = ["webhookSubscription", "callbackUrl"];
        return { webhookSubscription: null, userErrors: [{ field, message: problem }] };
      }
      const id = gid("WebhookSubscription", subscriptions.length + 1);
      const made = { typeName: "WebhookSubscription", id, topic, uri };
      subscriptions.push(made);
      return { webhookSubscription: made, userErrors: [] };
    },
  };
}

function problemOf(subscriptions: Subscription[], topic: string, uri: string): string | undefined {
  if (!/^https?:\/\//.test(uri)) return "Address is not allowed";
  const taken = subscriptions.some((other) => other.topic === topic && other.uri === uri);
  return taken ? "Address for this topic has already been taken" : undefined;
}

/** RETURNS_CLOSE is returns/close on the wire. */
export function wireTopic(topic: string): string {
  if (topic.startsWith("BULK_OPERATIONS_")) return `bulk_operations/${topic.slice(16).toLowerCase()}`;
  if (topic.startsWith("APP_SUBSCRIPTIONS_")) return `app_subscriptions/${topic.slice(18).toLowerCase()}`;
  const [group = "", ...rest] = topic.toLowerCase().split("_");
  return `${group}/${rest.join("_")}`;
}

/** Sends the messages to their subscribers, each signed as the platform signs. */
export async function deliver(
  shop: Shop,
  statistics: Statistics,
  subscriptions: Subscriptions,
  messages: WebhookMessage[],
  options: DeliveryOptions,
): Promise<SentDelivery[]> {
  const posts = messages.flatMap(({ topic, payload }) => {
    const uris = subscriptions.list([topic]).map(({ uri }) => uri);
    if (options.uri !== undefined && uris.length === 0) uris.push(options.uri);
    return uris.flatMap((uri) => {
      const webhookId = randomUUID();
      return Array.from({ length: options.copies }, () => ({ topic, payload, uri, webhookId }));
    });
  });
  if (options.shuffled) {
    const random = randomOf(shop.options.seed, shop.world.version);
    const order = new Map(posts.map((post) => [post, random.next()]));
    posts.sort((one, other) => (order.get(one) ?? 0) - (order.get(other) ?? 0));
  }
  const deliveries: SentDelivery[] = [];
  for (const { topic, payload, uri, webhookId } of posts) {
    const body = JSON.stringify(payload);
    const status = await send(shop, uri, topic, webhookId, body, options.forged);
    statistics.webhooksSent += 1;
    if (status < 200 || status > 299) statistics.webhooksRefused += 1;
    deliveries.push({ topic: wireTopic(topic), uri, webhookId, status });
  }
  return deliveries;
}

async function send(
  shop: Shop,
  uri: string,
  topic: string,
  webhookId: string,
  body: string,
  forged: boolean,
): Promise<number> {
  const { clientSecret, domain } = shop.options;
  const secret = forged ? `${clientSecret}-forged` : clientSecret;
  try {
    const response = await fetch(uri, {
      method: "POST",
      body,
      signal: AbortSignal.timeout(5000),
      headers: {
        "content-type": "application/json",
        "x-shopify-topic": wireTopic(topic),
        "x-shopify-shop-domain": domain,
        "x-shopify-webhook-id": webhookId,
        "x-shopify-event-id": webhookId,
        "x-shopify-api-version": "2026-10",
        "x-shopify-triggered-at": new Date(shop.clock.now() * 1000).toISOString(),
        "x-shopify-hmac-sha256": createHmac("sha256", secret).update(body).digest("base64"),
      },
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}
