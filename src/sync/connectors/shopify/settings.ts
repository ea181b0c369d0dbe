import { SourceFailed, type SettingOption } from "../../connector.ts";
import {
  CONDITION_OPTIONS,
  readProductSettings,
  readText,
  type ProductSettings,
} from "../shared/product-settings.ts";
import type { StoreRun } from "../shared/store-run.ts";
import type { ShopifyClient } from "./api/client.ts";
import type { MetafieldName } from "./api/documents.ts";
import { isShopUrl } from "./api/hosts.ts";
import { TITLE } from "./api/objects.ts";
import type { ShopifyCursor } from "./cursor.ts";
import type { OrderAccess } from "./install/access.ts";

/** The operator's options for a connection. */
export type ShopifySettings = ProductSettings & {
  /** Base address of the Admin API, without a slash at its end. */
  url: string;
};

/** How an operator chooses them. */
export const SETTING_OPTIONS = [
  {
    setting: "familyMetafield",
    flags: "--family-metafield <namespace.key>",
    description: "the products' metafield that names their family",
    label: "Metafield of the family",
    isList: false,
  },
  {
    setting: "familyTagPrefix",
    flags: "--family-tag-prefix <prefix>",
    description: "or the prefix of a tag that does (default: their type)",
    label: "Beginning of the family's tag",
    isList: false,
  },
  ...CONDITION_OPTIONS,
] as const satisfies readonly SettingOption[];

const METAFIELD = /^([\w$:-]+)\.([\w$:-]+)$/;

/** Reads the settings of a connection; throws SourceFailed with the problem. */
export function readSettings(settings: Readonly<Record<string, unknown>>): ShopifySettings {
  return {
    url: readUrl(settings),
    familyMetafield: readMetafield(settings),
    ...readProductSettings(settings, TITLE),
  };
}

function readUrl(settings: Readonly<Record<string, unknown>>): string {
  const url = readText(settings, "url", TITLE);
  const parsed = url === null ? null : URL.parse(url);
  if (parsed !== null && isShopUrl(parsed)) return parsed.href.replace(/(?<!\/)\/+$/u, "");
  throw new SourceFailed("This Shopify connection has no address such as https://my-store.myshopify.com.");
}

function readMetafield(settings: Readonly<Record<string, unknown>>): MetafieldName | null {
  const name = readText(settings, "familyMetafield", TITLE);
  if (name === null) return null;
  const match = METAFIELD.exec(name);
  if (match !== null) return { namespace: match[1] ?? "", key: match[2] ?? "" };
  throw new SourceFailed("The setting familyMetafield of this Shopify connection is not namespace.key.");
}

/** The name of this source everywhere. */
export const SHOPIFY = "shopify";

/** One run of the connector. */
export type ShopifyRun = StoreRun<ShopifyCursor> & {
  client: ShopifyClient;
  shop: ShopifySettings;
  access: OrderAccess;
};
