import { SourceFailed, SourceRefused } from "../../../connector.ts";
import type { Credentials, Secrets } from "../../../connector.ts";
import type { TokenSource } from "../api/client.ts";
import { refreshTokens } from "./token-endpoint.ts";

export type TokenOptions = {
  credentials: Credentials;
  /** Base address of the shop's admin. */
  url: string;
  /** The app's; null = this installation has none, and only lasting tokens work. */
  clientId: string | null;
  clientSecret: string | null;
  now: () => Date;
};

/** Well before an hour's end, so that no request is under way with a token that ends. */
const EARLY_MS = 5 * 60_000;

/**
 * The access token of a connection. A custom app's lasts and is given as it is. An expiring one is renewed five minutes
 * before its end and when the platform has refused it, by one caller at a time over all processes: the others take
 * what that one has stored. A refresh token that the platform does not take throws `SourceRefused`.
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

/** A token that still works bridges a moment in which the platform does not answer. */
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

/** What else belongs to the connection, such as its own client secret, stays. */
async function renewed(options: TokenOptions, secrets: Secrets): Promise<Secrets> {
  const { refreshToken } = secrets;
  if (refreshToken === undefined) {
    throw new SourceRefused("Shopify no longer takes the access token of this app: connect the shop again.");
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
