import { randomUUID } from "node:crypto";
import type { FeedAlert } from "../../endpoints/alerts.ts";
import { blockListOf, isLoopbackHost, type Network } from "../../lib/networks.ts";
import { noteFailure, traced } from "../../lib/trace.ts";
import type { DeliveryRow, EndpointPlace } from "../../store/queries/alert-delivery.ts";
import { unsealEndpoint, signatureHeaders, type EndpointSecrets } from "./signature.ts";
import { sendMail, type SmtpOptions } from "./mail.ts";
import { resolveByDns, resolveByMachine } from "../../lib/guarded-lookup.ts";
import { post, type PostOptions } from "./post.ts";
import { failed, type SendOutcome } from "./retry.ts";
import { mailText, slackText } from "./texts.ts";

/** The options of the environment that pushing takes. */
type PushSettings = {
  pushNetworks: readonly Network[];
  smtpUrl: URL | null;
  smtpFrom: string | null;
};

/** Per attempt, as the specification advises. */
const TIMEOUT_MS = 15_000;

export function pushOptions({ pushNetworks, smtpUrl, smtpFrom }: PushSettings): PushOptions {
  return {
    allowedNetworks: blockListOf(pushNetworks),
    // Names of a private network may be known only to this machine's resolver.
    resolve: pushNetworks.length === 0 ? resolveByDns : resolveByMachine,
    timeoutMs: TIMEOUT_MS,
    smtp: smtpUrl === null || smtpFrom === null ? null : smtpOptions(smtpUrl, smtpFrom),
  };
}

function smtpOptions(url: URL, from: string): SmtpOptions {
  const isImplicit = url.protocol === "smtps:";
  const host = url.hostname.replaceAll(/^\[|\]$/gu, "");
  const tls = isImplicit ? "implicit" : isLoopbackHost(host) ? "none" : "starttls";
  return {
    host,
    port: url.port === "" ? (isImplicit ? 465 : 587) : Number(url.port),
    tls,
    user: url.username === "" ? null : decodeURIComponent(url.username),
    password: url.password === "" ? null : decodeURIComponent(url.password),
    from,
  };
}

/** How this installation sends; `smtp` null = it sends no mail. */
export type PushOptions = PostOptions & { smtp: SmtpOptions | null };

/** The recipient of a message. */
type Addressee = { place: EndpointPlace } & Pick<
  DeliveryRow,
  "kind" | "sealed_secrets" | "previous_until" | "shop_domain"
>;

/** The same in every attempt. `alerts`: one for a webhook; one or more, oldest first, for the others. */
type PushMessage = { messageId: string; alerts: readonly [FeedAlert, ...FeedAlert[]] };

export type SendEnvironment = { sealingKey: Buffer; push: PushOptions; now: () => Date };

/**
 * Identifies an alert at one endpoint: the webhook-id. It contains no full stop, which separates the parts of the signed text.
 */
export function messageIdOf(alertId: string, endpointId: string): string {
  return `msg_${alertId}_${endpointId}`;
}

/** Sends one message, once. Never throws. */
export function send(
  environment: SendEnvironment,
  addressee: Addressee,
  message: PushMessage,
): Promise<SendOutcome> {
  const attributes = { "returns.endpoint_kind": addressee.kind };
  return traced({ name: `send ${addressee.kind}`, kind: "client", attributes }, async () => {
    const outcome = await sendMessage(environment, addressee, message);
    if (outcome.status !== "delivered") noteFailure(outcome.status);
    return outcome;
  });
}

async function sendMessage(
  environment: SendEnvironment,
  addressee: Addressee,
  message: PushMessage,
): Promise<SendOutcome> {
  const { sealingKey, push, now } = environment;
  const { place, kind, sealed_secrets: sealed, shop_domain: shopDomain } = addressee;
  const secrets = unsealEndpoint(sealingKey, place, sealed);
  if (secrets === null)
    return failed(
      "Its address was encrypted with keys that this installation no longer has: add the endpoint again.",
    );
  const { messageId, alerts } = message;
  if (kind === "email") {
    if (push.smtp === null)
      return failed("This service cannot send e-mail: its operator has to set SMTP_URL.");
    return sendMail({ messageId, to: secrets.address, ...mailText({ shopDomain, alerts }) }, push.smtp);
  }
  if (kind === "slack") {
    const body = JSON.stringify({ text: slackText({ shopDomain, alerts }) });
    return post({ url: secrets.address, headers: {}, body }, push);
  }
  const body = JSON.stringify(alerts[0]);
  const headers = signatureHeaders(
    { messageId, sentAt: now(), body },
    signingSecrets(secrets, addressee, now()),
  );
  return post({ url: secrets.address, headers, body }, push);
}

function signingSecrets(
  { secret = "", previousSecret }: EndpointSecrets,
  { previous_until: previousUntil }: Addressee,
  now: Date,
): string[] {
  const isOverlapping = previousSecret !== undefined && previousUntil !== null && previousUntil > now;
  return isOverlapping ? [secret, previousSecret] : [secret];
}

/** A message in the form of an alert, with a category that no real alert has. */
export function testMessage(endpointId: string, now: Date): PushMessage {
  const id = `test-${randomUUID()}`;
  const alert = {
    id,
    category: "test",
    severity: "info",
    title: "Test message",
    body: "Somebody requested this message to check whether alerts arrive here.",
    link_url: null,
    link_label: null,
    metadata: null,
    created_at: now.toISOString(),
  };
  return { messageId: messageIdOf(id, endpointId), alerts: [alert] };
}
