import { listAccountWorkspaces } from "../store/queries/webhook-delivery.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { SourceFailed, SourceRefused } from "../sync/connector.ts";
import type { Secrets } from "../sync/connector.ts";
import { isShopHost, isShopUrl } from "../sync/connectors/shopify/hosts.ts";
import { SHOPIFY } from "../sync/connectors/shopify/run.ts";
import { readSettings } from "../sync/connectors/shopify/settings.ts";
import {
  ALL_ORDERS_SCOPE,
  missingScopes,
  openTokenClient,
  readShopAccess,
} from "../sync/connectors/shopify/token-check.ts";
import type { ShopAccess } from "../sync/connectors/shopify/token-check.ts";
import { registerWebhooks } from "../sync/connectors/shopify/webhook-registration.ts";
import { unsealSecrets } from "../sync/credentials.ts";
import { OPERATOR } from "./audit.ts";
import { explaining, findEarlier, readKey, storeConnection } from "./connect.ts";
import type { ConnectEnvironment, Connected } from "./connect.ts";
import { quoted } from "./input.ts";
import { impossible, invalid } from "./refusal.ts";

export type ShopifyEnvironment = ConnectEnvironment & {
  /** Where shops reach the service; null = no webhooks: it only polls. */
  publicUrl: string | null;
};

/** Which shop: one by its name, its address, or both; an address of its own serves a stand-in for the platform. */
export type ShopPlace = { shop?: string | undefined; url?: string | undefined };

/** How families and used variants are recognised; omitted options are unchanged. */
export type ShopifyChoices = {
  familyMetafield?: string | undefined;
  familyTagPrefix?: string | undefined;
  conditionOption?: string | undefined;
  usedConditions?: readonly string[] | undefined;
};

export type ShopifyRequest = ShopPlace & {
  token: string;
  /** Of the app that the token belongs to, which signs its webhooks. */
  clientSecret?: string | undefined;
  choices: ShopifyChoices;
};

const PATH = "/webhooks/shopify";

/**
 * Connects a shop with the lasting token of its custom app. Throws a `Refusal`, and then nothing has changed, when the
 * token is not taken, may not read what is needed, or belongs to a shop of another currency or of another workspace.
 */
export async function connectShopify(
  environment: ShopifyEnvironment,
  workspace: WorkspaceRow,
  request: ShopifyRequest,
): Promise<Connected> {
  const accessToken = readKey("The token", request.token);
  const { clientSecret } = request;
  const own = clientSecret === undefined ? {} : { clientSecret: readKey("The client secret", clientSecret) };
  const place = readShopPlace(request);
  return storeShop(environment, workspace, {
    ...place,
    choices: request.choices,
    secrets: { accessToken, ...own },
    actor: OPERATOR,
  });
}

/** The shop and the address of its admin. Throws a `Refusal` for what is neither. */
export function readShopPlace({ shop, url }: ShopPlace): { shop: string | null; url: string } {
  const host = shop?.trim().toLowerCase() ?? null;
  if (host !== null && !isShopHost(host)) {
    throw invalid(
      `The shop must be its name at Shopify, such as my-store.myshopify.com, not ${quoted(host)}.`,
    );
  }
  if (url !== undefined) return { shop: host, url: readAddress(url) };
  if (host === null) throw invalid("Name the shop with --shop, such as my-store.myshopify.com.");
  return { shop: host, url: `https://${host}` };
}

export type ShopToStore = {
  /** null = whichever the token is of. */
  shop: string | null;
  url: string;
  choices: ShopifyChoices;
  secrets: Secrets;
  actor: string;
};

/** The same for a token from anywhere: asks the shop, checks, stores, and registers webhooks where shops reach us. */
export async function storeShop(
  environment: ShopifyEnvironment,
  workspace: WorkspaceRow,
  { shop, url, choices, secrets, actor }: ShopToStore,
): Promise<Connected> {
  const { database, publicUrl } = environment;
  const client = openTokenClient(url, secrets["accessToken"] ?? "");
  const access = await explaining(readShopAccess(client));
  if (shop !== null && access.shop !== shop) {
    throw impossible(`${url} is the shop ${access.shop}, not ${shop}.`);
  }
  requireUsable(access, workspace);
  const earlier = await findEarlier(database, workspace, SHOPIFY);
  await requireFree(environment, workspace, access.shop, earlier?.settings["shop"]);
  const settings = settingsOf(earlier?.settings ?? {}, choices, { url, shop: access.shop });
  const kept = keptSecret(environment, workspace, earlier?.sealed_credentials ?? null);
  await storeConnection(environment, workspace, {
    source: SHOPIFY,
    kind: "store",
    settings,
    secrets: { ...kept, ...secrets },
    actor,
  });
  const notes = access.scopes.includes(ALL_ORDERS_SCOPE)
    ? []
    : [`Without the scope ${ALL_ORDERS_SCOPE} Shopify shows the orders of the last 60 days only.`];
  if (publicUrl === null) {
    notes.push(
      "PUBLIC_URL is not set, so the shop sends no webhooks: changes are read every 15 minutes, deleted orders only by a backfill.",
    );
  } else {
    notes.push(...(await registering(registerWebhooks(client, `${publicUrl}${PATH}`))));
  }
  const { shop_domain: domain } = workspace;
  return { source: SHOPIFY, workspace: domain, account: access.shop, url, requested_run: "backfill", notes };
}

function readAddress(value: string): string {
  const url = URL.parse(value.trim());
  if (url !== null && isShopUrl(url)) return url.href.replace(/\/+$/u, "");
  throw invalid(
    "The address must be a shop's, such as https://my-store.myshopify.com (another only on this machine itself).",
  );
}

function requireUsable(access: ShopAccess, workspace: WorkspaceRow): void {
  const { currency_code: currency, shop_domain: domain } = workspace;
  if (access.currencyCode !== currency) {
    throw impossible(
      `The shop ${access.shop} sells in ${access.currencyCode}, but the workspace ${domain} counts in ${currency}: make a workspace with that currency.`,
    );
  }
  const missing = missingScopes(access.scopes);
  if (missing.length > 0) {
    throw impossible(`The token may not read everything: give the app the scopes ${missing.join(", ")}.`);
  }
}

/** Data of two shops in one workspace, or of one shop in two, would be counted twice or lost. */
async function requireFree(
  { database }: ShopifyEnvironment,
  workspace: WorkspaceRow,
  shop: string,
  earlierShop: unknown,
): Promise<void> {
  const { shop_domain: domain, shop_key: shopKey } = workspace;
  if (typeof earlierShop === "string" && earlierShop !== shop) {
    throw impossible(
      `The workspace ${domain} holds the data of the shop ${earlierShop}: make a workspace for ${shop}.`,
    );
  }
  const others = await listAccountWorkspaces(database, SHOPIFY, shop);
  const other = others.find((row) => row.sealed_credentials !== null && row.shop_key !== shopKey);
  if (other === undefined) return;
  throw impossible(`The shop ${shop} is already connected to the workspace ${other.shop_domain}.`);
}

function settingsOf(
  earlier: Readonly<Record<string, unknown>>,
  choices: ShopifyChoices,
  place: { url: string; shop: string },
): Record<string, unknown> {
  const given = Object.entries(choices).filter(([, value]) => value !== undefined);
  const settings = { ...earlier, ...Object.fromEntries(given), ...place };
  try {
    readSettings(settings);
  } catch (error) {
    throw error instanceof SourceFailed ? invalid(error.message) : error;
  }
  return settings;
}

/** The secret of the shop's own app is kept when its token is replaced. */
function keptSecret(
  { sealingKey }: ShopifyEnvironment,
  { shop_key: shopKey }: WorkspaceRow,
  sealed: Buffer | null,
): Secrets {
  if (sealed === null) return {};
  try {
    const { clientSecret } = unsealSecrets({ sealingKey, shopKey, source: SHOPIFY }, sealed);
    return clientSecret === undefined ? {} : { clientSecret };
  } catch (error) {
    if (error instanceof SourceRefused) return {};
    throw error;
  }
}

/** The connection works without webhooks, only slower. */
async function registering(registration: Promise<number>): Promise<string[]> {
  try {
    await registration;
    return [];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [
      `Webhooks are not registered, so changes are read every 15 minutes, deleted orders only by a backfill: ${reason}`,
    ];
  }
}
