import Type from "typebox";
import { SourceFailed, SourceRefused, type Credentials, type Secrets } from "../../../connector.ts";
import type { Subscription } from "../../../purchase.ts";
import { ask, BLOCKED, CHECK_POLICY, isBlocked, readJson } from "../../shared/http.ts";
import { openClient, SHOPIFY_RETRY_POLICY, type ShopifyClient, type TokenSource } from "../api/client.ts";
import { DOCUMENTS } from "../api/documents.ts";
import { Filled, nullable, object, reader, Text } from "../../shared/foreign.ts";
import { TITLE } from "../api/objects.ts";

/** The token's shop and scopes; a write scope includes reading. */
type ShopAccess = {
  shop: string;
  currencyCode: string;
  /** The needed scopes that it lacks. */
  missingScopes: string[];
  /** Whether orders older than 60 days are shown. */
  hasAllOrders: boolean;
  /** null = the shop pays for no subscription of the app now. */
  paid: Omit<Subscription, "plan"> | null;
};

/** The orders visible to a run. */
export type OrderAccess = Pick<ShopAccess, "hasAllOrders">;

/** Without one of these a sync cannot be right. */
export const NEEDED_SCOPES = ["read_orders", "read_returns", "read_products"] as const;
/** Without it only the last 60 days of orders are there. */
export const ALL_ORDERS_SCOPE = "read_all_orders";

const WHERE_TO_GRANT =
  "add what is missing under Dev Dashboard → the app → Versions and let the merchant approve the update (a custom app " +
  "of the shop's admin: Settings → Apps → Develop apps → the app → Configuration)";

/** A client for a few requests with a token that is not stored yet. */
export function openTokenClient(url: string, token: string, signal: AbortSignal): ShopifyClient {
  return openClient({
    url,
    tokens: {
      accessToken: async () => token,
      refreshed: async () => {
        throw new SourceRefused(`Shopify rejected this access token for ${url}.`);
      },
    },
    signal,
    retryPolicy: { ...SHOPIFY_RETRY_POLICY, ...CHECK_POLICY },
  });
}

/**
 * Asks the platform about a token, and what its shop pays for. Only ACTIVE pays, which a trial is too: ACCEPTED, PENDING,
 * DECLINED, EXPIRED, FROZEN and CANCELLED do not. Throws `SourceRefused` when it is not taken, `SourceFailed` for anything else.
 */
export async function readShopAccess(client: ShopifyClient): Promise<ShopAccess> {
  const { shop, currentAppInstallation: installation } = await client.query(DOCUMENTS.shop, {});
  // The platform lists the write scope, and sometimes only that.
  const scopes = new Set(installation.accessScopes.map(({ handle }) => handle.replace(/^write_/u, "read_")));
  const active = installation.activeSubscriptions.find(({ status }) => status === "ACTIVE");
  return {
    shop: shop.myshopifyDomain.toLowerCase(),
    currencyCode: shop.currencyCode,
    missingScopes: NEEDED_SCOPES.filter((scope) => !scopes.has(scope)),
    hasAllOrders: scopes.has(ALL_ORDERS_SCOPE),
    paid: active ? { id: active.id, name: active.name, paid_until: active.currentPeriodEnd ?? null } : null,
  };
}

/**
 * Checks, before anything is stored, whether this shop can be synced. Throws SourceFailed for a missing scope, which
 * the merchant can grant without reconnecting, and for another currency than the workspace's.
 */
export async function checkShop(client: ShopifyClient, currencyCode: string): Promise<ShopAccess> {
  const access = await readShopAccess(client);
  if (access.currencyCode !== currencyCode) {
    throw new SourceFailed(
      `The shop's currency is ${access.currencyCode}, but the workspace's is ${currencyCode}: nothing was stored.`,
    );
  }
  const { missingScopes: missing } = access;
  if (missing.length === 0) return access;
  const what = missing.length === 1 ? "the scope" : "the scopes";
  throw new SourceFailed(
    `Shopify has not granted this app ${what} ${missing.join(", ")}: ${WHERE_TO_GRANT}, and try again.`,
  );
}

export type TokenOptions = {
  credentials: Credentials;
  /** Base address of the shop's admin. */
  url: string;
  /** The app's; null = this installation has none, and only lasting tokens work. */
  clientId: string | null;
  clientSecret: string | null;
  now: () => Date;
};

/** Well before the end of the hour, so that no request uses an expiring token. */
const EARLY_MS = 5 * 60_000;

/**
 * The access token of a connection. A custom app's does not expire. An expiring one is renewed five minutes before its
 * end and when the platform has refused it, by one caller at a time over all processes: the others use what that one
 * has stored. A refresh token that the platform refuses throws `SourceRefused`.
 */
export function createTokenSource(options: TokenOptions): TokenSource {
  const { credentials, now } = options;
  let known: Secrets | null = null;
  const renew = async (isStale: (secrets: Secrets) => boolean): Promise<Secrets> =>
    credentials.change(async (secrets) => (isStale(secrets) ? renewed(options, secrets) : secrets));
  return {
    accessToken: async () => {
      known ??= await credentials.read();
      if (isEnding(known, now()))
        known = await renewInTime(known, () => renew((s) => isEnding(s, now())), now());
      return tokenOf(known);
    },
    refreshed: async (staleToken) => {
      known = await renew((secrets) => secrets["accessToken"] === staleToken);
      return tokenOf(known);
    },
  };
}

/** While the platform does not answer, a token that still works is used. */
async function renewInTime(secrets: Secrets, renew: () => Promise<Secrets>, now: Date): Promise<Secrets> {
  try {
    return await renew();
  } catch (error) {
    const worksStill = Date.parse(secrets["expiresAt"] ?? "") > now.getTime();
    if (error instanceof SourceFailed && worksStill) return secrets;
    throw error;
  }
}

function isEnding(secrets: Secrets, now: Date): boolean {
  const { expiresAt } = secrets;
  return expiresAt !== undefined && Date.parse(expiresAt) - now.getTime() < EARLY_MS;
}

/** The connection's other secrets, such as its own client secret, are kept. */
async function renewed(options: TokenOptions, secrets: Secrets): Promise<Secrets> {
  const { refreshToken } = secrets;
  if (refreshToken === undefined) {
    throw new SourceRefused(
      "Shopify no longer accepts the access token of this app: connect the shop again.",
    );
  }
  const { url, clientId, clientSecret, now } = options;
  if (clientId === null || clientSecret === null) {
    throw new SourceFailed(
      "The access token of this shop cannot be renewed: set SHOPIFY_CLIENT_ID and SHOPIFY_CLIENT_SECRET.",
    );
  }
  return { ...secrets, ...(await refreshTokens(url, { clientId, clientSecret }, refreshToken, now())) };
}

function tokenOf(secrets: Secrets): string {
  const { accessToken } = secrets;
  if (accessToken === undefined) throw new SourceRefused("This shop has no access token: connect it again.");
  return accessToken;
}

/** The app's id, which is public, and its secret. */
export type App = { clientId: string; clientSecret: string };

const GRANT_STATUSES = new Set([400, 401, 403]);

/**
 * Exchanges the code of a merchant's approval for expiring offline tokens. Throws `SourceRefused` when the platform does
 * not take the code or the app's id and secret, `SourceFailed` when it fails.
 */
export async function exchangeCode(url: string, app: App, code: string, now: Date): Promise<Secrets> {
  const form = { client_id: app.clientId, client_secret: app.clientSecret, code, expiring: "1" };
  const refusal = "Shopify did not accept the approval: open the address of the app's installation again";
  return requestTokens(url, form, now, refusal);
}

/** Exchanges a refresh token, which is used up by it, for the next tokens. Throws as `exchangeCode`. */
async function refreshTokens(url: string, app: App, refreshToken: string, now: Date): Promise<Secrets> {
  const grant = { grant_type: "refresh_token", refresh_token: refreshToken };
  const form = { client_id: app.clientId, client_secret: app.clientSecret, ...grant };
  const refusal = "Shopify no longer renews the access token of this app: connect the shop again";
  return requestTokens(url, form, now, refusal);
}

/** One attempt: a code or refresh token is used up even if the answer does not arrive. */
const RETRY_POLICY = { ...CHECK_POLICY, tries: 1, timeoutMs: 20_000 };

/** A token without a lifetime does not expire. */
const readTokens = reader(
  TITLE,
  object("Tokens", {
    access_token: Filled,
    refresh_token: nullable(Text),
    expires_in: nullable(Type.Number()),
    refresh_token_expires_in: nullable(Type.Number()),
  }),
);

async function requestTokens(
  url: string,
  form: Record<string, string>,
  now: Date,
  refusal: string,
): Promise<Secrets> {
  const signal = AbortSignal.timeout(RETRY_POLICY.timeoutMs);
  const request = {
    url: `${url}/admin/oauth/access_token`,
    method: "POST",
    headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(form).toString(),
  };
  const answer = await ask(
    { title: TITLE, address: url, signal, retryPolicy: RETRY_POLICY },
    () => request,
    ({ status, body }) => {
      if (isBlocked({ status, body })) return BLOCKED;
      if (GRANT_STATUSES.has(status)) throw new SourceRefused(`${refusal} (status ${status}).`);
      if (status === 200) return readJson(body);
      throw new SourceFailed(`Shopify answered a request for tokens with status ${status}.`);
    },
  );
  const tokens = readTokens(answer);
  const accessToken = tokens.access_token;
  if (!tokens.refresh_token) return { accessToken };
  return {
    accessToken,
    refreshToken: tokens.refresh_token,
    expiresAt: momentIn(tokens.expires_in ?? 0, now),
    refreshExpiresAt: momentIn(tokens.refresh_token_expires_in ?? 0, now),
  };
}

/** Lifetimes arrive in seconds; times are stored. */
function momentIn(seconds: number, now: Date): string {
  return new Date(now.getTime() + Math.max(0, seconds) * 1000).toISOString();
}
