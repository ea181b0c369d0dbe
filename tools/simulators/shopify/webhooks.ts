import { createHmac, randomUUID } from "node:crypto";
import type { Shop, Statistics } from "./shop.ts";
import { gid } from "./world/ids.ts";
import { randomOf } from "./world/random.ts";

type Subscription = { typeName: string; id: string; topic: string; uri: string; includeFields: string[] };

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
  /** Sends what was sent a short time ago, too. */
  repeated: boolean;
}

type SubscriptionInput = {
  webhookSubscription: { uri?: string; callbackUrl?: string; includeFields?: string[] };
};

/** Within this time a payload is sent once to each subscription. */
const DEBOUNCE_SECONDS = 15 * 60;

export function makeSubscriptions() {
  const subscriptions: Subscription[] = [];
  const sentAt = new Map<string, number>();
  const find = (id: string): Subscription | null => subscriptions.find((one) => one.id === id) ?? null;
  return {
    find,
    /** Whether a payload was sent to a subscription a short time ago. */
    isRepeated: (name: string, now: number): boolean => {
      if (now - (sentAt.get(name) ?? -Infinity) < DEBOUNCE_SECONDS) return true;
      sentAt.set(name, now);
      return false;
    },
    list: (topics: string[]): Subscription[] =>
      subscriptions.filter(({ topic }) => topics.length === 0 || topics.includes(topic)),
    create: ({ topic, webhookSubscription: asked }: SubscriptionInput & { topic: string }): unknown => {
      const uri = asked.uri ?? asked.callbackUrl ?? "";
      const problem = problemOf(subscriptions, topic, uri);
      if (problem !== undefined) {
        const field = ["webhookSubscription", "callbackUrl"];
        return { webhookSubscription: null, userErrors: [{ field, message: problem }] };
      }
      const id = gid("WebhookSubscription", subscriptions.length + 1);
      const { includeFields = [] } = asked;
      const made = { typeName: "WebhookSubscription", id, topic, uri, includeFields };
      subscriptions.push(made);
      return { webhookSubscription: made, userErrors: [] };
    },
    update: ({ id, webhookSubscription: asked }: SubscriptionInput & { id: string }): unknown => {
      const found = find(id);
      if (found === null) {
        const message = "Webhook subscription does not exist";
        return { webhookSubscription: null, userErrors: [{ field: ["id"], message }] };
      }
      found.includeFields = asked.includeFields ?? found.includeFields;
      return { webhookSubscription: found, userErrors: [] };
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

/** Sends the messages to their subscribers, each with the subscribed fields and signed as the platform signs. */
export async function deliver(
  shop: Shop,
  statistics: Statistics,
  subscriptions: Subscriptions,
  messages: WebhookMessage[],
  options: DeliveryOptions,
): Promise<SentDelivery[]> {
  const posts = messages.flatMap(({ topic, payload }) => {
    const receivers: Pick<Subscription, "uri" | "includeFields">[] = subscriptions.list([topic]);
    if (options.uri !== undefined && receivers.length === 0)
      receivers.push({ uri: options.uri, includeFields: [] });
    return receivers.flatMap(({ uri, includeFields }) => {
      const body = JSON.stringify(fieldsOf(payload, includeFields));
      const isRepeated = subscriptions.isRepeated(`${topic} ${uri} ${body}`, shop.clock.now());
      if (isRepeated && !options.repeated) return [];
      const webhookId = randomUUID();
      return Array.from({ length: options.copies }, () => ({ topic, body, uri, webhookId }));
    });
  });
  if (options.shuffled) {
    const random = randomOf(shop.options.seed, shop.world.version);
    const order = new Map(posts.map((post) => [post, random.next()]));
    posts.sort((one, other) => (order.get(one) ?? 0) - (order.get(other) ?? 0));
  }
  const deliveries: SentDelivery[] = [];
  for (const { topic, body, uri, webhookId } of posts) {
    const status = await send(shop, uri, topic, webhookId, body, options.forged);
    statistics.webhooksSent += 1;
    if (status < 200 || status > 299) statistics.webhooksRefused += 1;
    deliveries.push({ topic: wireTopic(topic), uri, webhookId, status });
  }
  return deliveries;
}

/** None means all. */
function fieldsOf(payload: unknown, names: readonly string[]): unknown {
  if (names.length === 0) return payload;
  return Object.fromEntries(Object.entries(payload as object).filter(([name]) => names.includes(name)));
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
