import { createHmac, randomBytes } from "node:crypto";
import type { Clock, Statistics } from "./shop.ts";
import type { ShopifyOptions } from "./options.ts";

const ACCESS_SECONDS = 3600;
const REFRESH_SECONDS = 90 * 86_400;

type Access = { scopes: string[]; expiresAt: number; lasting: boolean };
type Refresh = { scopes: string[]; expiresAt: number; isUsed: boolean };

type TokenAnswer = { status: number; body: Record<string, unknown> };

export type Tokens = ReturnType<typeof makeTokens>;

/** The app's tokens for this shop: one that lasts, and expiring ones with refresh tokens that rotate. */
export function makeTokens(options: ShopifyOptions, clock: Clock, statistics: Statistics) {
  const access = new Map<string, Access>();
  const refresh = new Map<string, Refresh>();
  const codes = new Map<string, string[]>();
  access.set(options.token, { scopes: options.scopes, expiresAt: Infinity, lasting: true });
  const issue = (scopes: string[], expiring: boolean): TokenAnswer => {
    const token = secret("shpat");
    const body = { access_token: token, scope: scopes.join(",") };
    access.set(token, {
      scopes,
      expiresAt: expiring ? clock.now() + ACCESS_SECONDS : Infinity,
      lasting: !expiring,
    });
    if (!expiring) return { status: 200, body };
    for (const [other, { lasting }] of access) if (!lasting && other !== token) access.delete(other);
    const next = secret("shprt");
    refresh.set(next, { scopes, expiresAt: clock.now() + REFRESH_SECONDS, isUsed: false });
    const lifetimes = {
      expires_in: ACCESS_SECONDS,
      refresh_token: next,
      refresh_token_expires_in: REFRESH_SECONDS,
    };
    return { status: 200, body: { ...body, ...lifetimes } };
  };
  const renew = (token: string): TokenAnswer => {
    const known = refresh.get(token);
    if (known === undefined || known.expiresAt <= clock.now() || known.isUsed) {
      return refused("invalid_grant", "The refresh token is invalid, expired or was already used");
    }
    statistics.refreshes += 1;
    known.isUsed = true;
    return issue(known.scopes, true);
  };
  return {
    /** The scopes of a live token; undefined for one that is unknown, expired or revoked. */
    scopesOf: (token: string | undefined): string[] | undefined => {
      const known = token === undefined ? undefined : access.get(token);
      return known !== undefined && known.expiresAt > clock.now() ? known.scopes : undefined;
    },
    /** Where the merchant's browser is redirected after granting; undefined if the request names another app. */
    authorize: (query: URLSearchParams): string | undefined => {
      if (query.get("client_id") !== options.clientId || query.get("redirect_uri") === null) return undefined;
      const code = randomBytes(16).toString("hex");
      codes.set(code, grantedScopes(query.get("scope") ?? "", options.scopes));
      return grantedUrl(options, clock, query, code);
    },
    exchange: (input: Record<string, string>): TokenAnswer => {
      if (input["client_id"] !== options.clientId || input["client_secret"] !== options.clientSecret) {
        return refused("invalid_client", "The client id or secret is wrong");
      }
      if (input["grant_type"] === "refresh_token") return renew(input["refresh_token"] ?? "");
      const scopes = codes.get(input["code"] ?? "");
      if (scopes === undefined) {
        return refused("invalid_request", "The authorization code was not found or was already used");
      }
      codes.delete(input["code"] ?? "");
      return issue(scopes, input["expiring"] === "1");
    },
    revokeAll: (): void => {
      access.clear();
      refresh.clear();
    },
    /** Expires every expiring access token now. */
    expireAccess: (): void => {
      for (const [token, { lasting }] of access) if (!lasting) access.delete(token);
    },
    setScopes: (scopes: string[]): void => {
      for (const known of [...access.values(), ...refresh.values()]) known.scopes = scopes;
    },
  };
}

function secret(prefix: string): string {
  return `${prefix}_${randomBytes(16).toString("hex")}`;
}

function refused(error: string, description: string): TokenAnswer {
  return { status: 400, body: { error, error_description: description } };
}

/** The merchant grants the requested scopes that the app may have. */
function grantedScopes(asked: string, allowed: string[]): string[] {
  const scopes = new Set(asked.split(",").map((scope) => scope.trim()));
  return allowed.filter((scope) => scopes.has(scope));
}

/** The redirect's query, signed over its other parameters in the order of their names. */
function grantedUrl(options: ShopifyOptions, clock: Clock, query: URLSearchParams, code: string): string {
  const values: Record<string, string> = {
    code,
    host: Buffer.from(`admin.shopify.com/store/${options.domain.split(".")[0]}`).toString("base64url"),
    shop: options.domain,
    state: query.get("state") ?? "",
    timestamp: String(clock.now()),
  };
  const message = Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
  const url = new URL(query.get("redirect_uri") ?? "");
  for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value);
  url.searchParams.set("hmac", createHmac("sha256", options.clientSecret).update(message).digest("hex"));
  return url.href;
}
