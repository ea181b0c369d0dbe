import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { sealText, unsealText } from "../../../../lib/seal.ts";
import { ALL_ORDERS_SCOPE, NEEDED_SCOPES } from "./access.ts";

/** Where the platform sends the merchant back to; the path of the service's own address. */
const CALLBACK_PATH = "/connect/shopify/callback";

const SIGNATURE = /^[0-9a-f]{64}$/u;

/** The merchant's approval page for the app's scopes. */
export function authorizeAddress(
  url: string,
  request: { clientId: string; publicUrl: string; state: string },
): string {
  const address = new URL(`${url}/admin/oauth/authorize`);
  address.search = new URLSearchParams({
    client_id: request.clientId,
    scope: [...NEEDED_SCOPES, ALL_ORDERS_SCOPE].join(","),
    redirect_uri: `${request.publicUrl}${CALLBACK_PATH}`,
    state: request.state,
  }).toString();
  return address.href;
}

/** Lifetime of a query signed by the platform: it appears in histories and logs. */
const LONGEST_AGE_MS = 10 * 60_000;
const SECONDS = /^\d{1,12}$/u;

/** Whether a signed query is of about now, by its `timestamp`; clocks may differ by as much either way. */
export function isFreshQuery(query: URLSearchParams, now: Date): boolean {
  const timestamp = query.get("timestamp") ?? "";
  return SECONDS.test(timestamp) && Math.abs(now.getTime() - Number(timestamp) * 1000) <= LONGEST_AGE_MS;
}

/**
 * Whether a query comes from the platform: its `hmac` is HMAC-SHA-256, in hex, of the other parameters in the order of their
 * names. The platform's documentation joins raw values, its libraries encoded ones; the two differ for few characters, and both
 * need the secret. A query with a repeated parameter is invalid.
 */
export function isSignedQuery(query: URLSearchParams, clientSecret: string): boolean {
  const given = query.get("hmac") ?? "";
  const names = [...query.keys()];
  if (!SIGNATURE.test(given) || new Set(names).size < names.length) return false;
  const pairs = [...query]
    .filter(([name]) => name !== "hmac")
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  const messages = [
    pairs.map(([name, value]) => `${name}=${value}`).join("&"),
    new URLSearchParams(pairs).toString(),
  ];
  const signature = Buffer.from(given, "hex");
  return messages.some((message) =>
    timingSafeEqual(createHmac("sha256", clientSecret).update(message).digest(), signature),
  );
}

/** The purpose of an installation. It passes through the merchant's browser, sealed. */
export type PendingInstall = {
  shopKey: number;
  /** The workspace's domain. */
  workspace: string;
  /** The shop's domain at the platform. */
  shop: string;
  /** Base address of its admin. */
  url: string;
  /** The operator's options for the connection. */
  choices: Readonly<Record<string, unknown>>;
  /** Of a link of a member: their name as an actor. It works for as long as they may make one. */
  madeBy?: string;
  /** Started by a member in the console, who continues there. */
  endsInConsole?: boolean;
  /** Of a state: the browser in which the approval has begun. */
  browser?: string;
  /** Of a state: the id of the link that it has begun with; absent = with the platform's own installation. */
  linkId?: string;
};

export type OpenedInstallation = PendingInstall & {
  /** Id of this sealing, so that a state or a link works once. */
  id: string;
};

/** A link that an operator forwards, and the state of one approval in progress. */
type SealedKind = "link" | "state";

const LIFETIME_MS: Readonly<Record<SealedKind, number>> = { link: 7 * 86_400_000, state: 10 * 60_000 };

export function sealInstallation(
  sealingKey: Buffer,
  kind: SealedKind,
  installation: PendingInstall,
  now: Date,
): string {
  const named = { ...installation, id: randomUUID() };
  return sealText(sealingKey, contextOf(kind), named, now.getTime() + LIFETIME_MS[kind]);
}

/** null = it was not sealed here for this kind, or its time is over. */
export const openInstallation = (sealingKey: Buffer, kind: SealedKind, sealed: string, now: Date) =>
  unsealText(sealingKey, contextOf(kind), sealed, now) as OpenedInstallation | null;

function contextOf(kind: SealedKind): string {
  return `shopify installation ${kind}`;
}
