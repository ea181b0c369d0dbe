import { SourceFailed } from "../../../connector.ts";
import type { ShopifyClient } from "../api/client.ts";
import { DOCUMENTS } from "../api/documents.ts";
import { listAt, objectAt, textAt } from "../../kit/json.ts";

const NEEDED_SCOPES = ["read_orders", "read_returns", "read_products"];

const WHERE_TO_GRANT =
  "add what is missing under Dev Dashboard → the app → Versions and let the merchant approve the update (a custom app " +
  "of the shop's admin: Settings → Apps → Develop apps → the app → Configuration)";

/** What a connection may see of its shop. */
export type ShopAccess = {
  /** Whether orders older than 60 days are shown. */
  hasAllOrders: boolean;
};

/**
 * Looks before anything is stored whether this shop can be synced at all. Throws SourceFailed for a missing scope, which
 * the merchant can grant without reconnecting, and for another currency than the workspace's.
 */
export async function checkShop(client: ShopifyClient, currencyCode: string): Promise<ShopAccess> {
  const data = await client.query(DOCUMENTS.shop, {});
  const shopCurrency = textAt(objectAt(data, "shop", "QueryRoot"), "currencyCode", "Shop");
  if (shopCurrency !== currencyCode) {
    throw new SourceFailed(
      `The shop's currency is ${shopCurrency}, but the workspace's is ${currencyCode}: nothing was stored.`,
    );
  }
  const installation = objectAt(data, "currentAppInstallation", "QueryRoot");
  const scopes = new Set(
    listAt(installation, "accessScopes", "AppInstallation").map((scope) =>
      textAt(scope, "handle", "AccessScope").replace(/^write_/, "read_"),
    ),
  );
  const missing = NEEDED_SCOPES.filter((scope) => !scopes.has(scope));
  if (missing.length > 0) {
    const what = missing.length === 1 ? "the scope" : "the scopes";
    throw new SourceFailed(
      `Shopify has not granted this app ${what} ${missing.join(", ")}: ${WHERE_TO_GRANT}, and try again.`,
    );
  }
  return { hasAllOrders: scopes.has("read_all_orders") };
}
