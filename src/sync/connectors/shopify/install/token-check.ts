import { SourceRefused } from "../../../connector.ts";
import { openClient } from "../api/client.ts";
import type { ShopifyClient } from "../api/client.ts";
import { listAt, objectAt, textAt } from "../../kit/json.ts";
import { PACING } from "../../kit/pacing.ts";
import { CONNECT_DOCUMENTS } from "../webhooks/documents.ts";

/** Whose token it is and what it may read. */
export type ShopAccess = { shop: string; currencyCode: string; scopes: string[] };

/** Without one of these a sync cannot be right. */
export const NEEDED_SCOPES = ["read_orders", "read_returns", "read_products"] as const;
/** Without it only the last 60 days of orders are there. */
export const ALL_ORDERS_SCOPE = "read_all_orders";

/** Somebody waits for the answer. */
const CHECK_PACING = { ...PACING, attempts: 3, requestTimeoutMs: 10_000 };
const LONGEST_CHECK_MS = 45_000;

/** A client for a few requests with a token that is not stored yet. */
export function openTokenClient(url: string, token: string): ShopifyClient {
  return openClient({
    url,
    tokens: {
      accessToken: async () => token,
      refreshed: async () => {
        throw new SourceRefused(`Shopify does not take this access token for ${url}.`);
      },
    },
    signal: AbortSignal.timeout(LONGEST_CHECK_MS),
    pacing: CHECK_PACING,
  });
}

/** Asks the platform about a token. Throws `SourceRefused` when it is not taken, `SourceFailed` for anything else. */
export async function readShopAccess(client: ShopifyClient): Promise<ShopAccess> {
  const answer = await client.query(CONNECT_DOCUMENTS.connection, {});
  const shop = objectAt(answer, "shop", "Query");
  const installation = objectAt(answer, "currentAppInstallation", "Query");
  return {
    shop: textAt(shop, "myshopifyDomain", "Shop").toLowerCase(),
    currencyCode: textAt(shop, "currencyCode", "Shop"),
    scopes: listAt(installation, "accessScopes", "AppInstallation").map((scope) =>
      textAt(scope, "handle", "AccessScope"),
    ),
  };
}

/**
 * The needed scopes that a token lacks. Whoever may write may read: the platform then lists the writing scope, and
 * sometimes that one alone.
 */
export function missingScopes(scopes: readonly string[]): string[] {
  const granted = new Set(scopes.map((scope) => scope.replace(/^write_/u, "read_")));
  return NEEDED_SCOPES.filter((scope) => !granted.has(scope));
}
