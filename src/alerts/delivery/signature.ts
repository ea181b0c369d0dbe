import { createHmac, randomBytes } from "node:crypto";
import { seal, unsealJson } from "../../lib/seal.ts";
import type { EndpointPlace } from "../../store/queries/alert-delivery.ts";

const SECRET_PREFIX = "whsec_";
/** The specification requires 24 to 64 bytes. */
const SECRET_BYTES = 32;

/** A signing secret as the Standard Webhooks specification writes it: whsec_ and base64. */
export function newSigningSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString("base64");
}

type SignedMessage = {
  /** The same in every attempt. */
  messageId: string;
  /** The time of this attempt. */
  sentAt: Date;
  body: string;
};

/**
 * The headers of a message by the Standard Webhooks specification 1.0.0: HMAC-SHA-256 over id, timestamp in seconds and body,
 * with each of the secrets, so that a receiver with any of them can check it.
 */
export function signatureHeaders(
  { messageId, sentAt, body }: SignedMessage,
  secrets: readonly string[],
): Record<string, string> {
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
    return `v1,${createHmac("sha256", key).update(`${messageId}.${timestamp}.${body}`).digest("base64")}`;
  });
  return {
    "webhook-id": messageId,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  };
}

/** The encrypted part of an endpoint: its address, and the signing secrets. */
export type EndpointSecrets = {
  address: string;
  /** Of webhooks. */
  secret?: string;
  /** The one before the last rotation. */
  previousSecret?: string;
};

/** Bound to workspace and endpoint, so that a copied row cannot be opened. */
export function sealEndpoint(sealingKey: Buffer, place: EndpointPlace, secrets: EndpointSecrets): Buffer {
  return seal(sealingKey, contextOf(place), JSON.stringify(secrets));
}

/** null = they were sealed with another installation's secret. */
export function unsealEndpoint(
  sealingKey: Buffer,
  place: EndpointPlace,
  sealed: Buffer,
): EndpointSecrets | null {
  return unsealJson(sealingKey, contextOf(place), sealed) as EndpointSecrets | null;
}

function contextOf({ shopKey, endpointId }: EndpointPlace): string {
  return `${shopKey}:alert endpoint:${endpointId}`;
}
