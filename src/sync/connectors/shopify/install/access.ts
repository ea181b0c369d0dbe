import { SourceFailed, SourceRefused } from "../../../connector.ts";
import type { Subscription } from "../../../purchase.ts";
import { CHECK_POLICY } from "../../shared/http.ts";
import { openClient, SHOPIFY_RETRY_POLICY, type ShopifyClient } from "../api/client.ts";
import { DOCUMENTS } from "../api/documents.ts";

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
 * Looks before anything is stored whether this shop can be synced at all. Throws SourceFailed for a missing scope, which
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
