import { SourceFailed, type SettingOption } from "../../connector.ts";
import { productOptions, readProductSettings, readText } from "../shared/map-product.ts";
import type { ProductSettings } from "../shared/map-product.ts";
import type { StoreRun } from "../shared/store-run.ts";
import type { ShopifyClient } from "./api/client.ts";
import type { MetafieldName } from "./api/documents.ts";
import { isShopUrl } from "./api/hosts.ts";
import { TITLE } from "./api/objects.ts";
import type { OrderAccess } from "./install/access.ts";
import { isObject } from "../shared/foreign.ts";

/** The operator's options for a connection. */
type ShopifySettings = ProductSettings & {
  /** Base address of the Admin API, without a slash at its end. */
  url: string;
};

/** How an operator chooses them. */
export const SETTING_OPTIONS: readonly SettingOption[] = [
  {
    setting: "familyMetafield",
    flags: "--family-metafield <namespace.key>",
    description: "the products' metafield that names their family",
    label: "Family metafield",
    isList: false,
  },
  ...productOptions("instead, the prefix of a product tag that names the family (default: the product type)"),
];

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

/** The bulk operations of a backfill. */
export const DOWNLOAD_NAMES = ["products", "orders", "returns", "ledger"] as const;

export type DownloadName = (typeof DOWNLOAD_NAMES)[number];

/** One bulk operation: not started yet, started under an id, or stored. */
export type DownloadState = { operationId: string | null; isStored: boolean };

export type BackfillState = {
  /** ISO 8601: all of the shop's data at this time has been read. */
  startedAt: string;
  /** Whether the shop shows orders older than 60 days, and so all that it has. */
  hasAllOrders: boolean;
  /** The metafield requested for its products, as namespace.key; null: none. */
  familyMetafield: string | null;
  /** Orders processed before this day, as YYYY-MM-DD, are not stored; null = all are. */
  historyFrom: string | null;
  downloads: Record<DownloadName, DownloadState>;
  /** The format of its records, as `RECORD_FORMAT`. */
  recordFormat?: number;
};

/** Increment it when records fetched by an earlier version lack data that this one maps. */
export const RECORD_FORMAT = 3;

/** Data missing from the stored orders because runs could not see orders older than 60 days. Days are YYYY-MM-DD. */
export type HistoryLimit = {
  /** The first day of the first whole month; null = everything was read before the app lost its right to. */
  historyFrom: string | null;
  /** Days that were not read while they could be seen. */
  unread: { from: string; until: string } | null;
};

/** The connector's state between runs and after a crash. */
export type ShopifyCursor = {
  /** ISO 8601: what changed until then is applied; null before the first backfill. */
  watermark: string | null;
  /** A finished list of what changed, whose records are not all applied: when the list began. */
  listedAt: string | null;
  /** A backfill that is under way. */
  backfill: BackfillState | null;
  /** null = nothing is lacking. */
  limit: HistoryLimit | null;
};

const NEW_CURSOR: ShopifyCursor = { watermark: null, listedAt: null, backfill: null, limit: null };

/** Only this connector writes the stored value; anything else counts as none. */
export function readCursor(stored: unknown): ShopifyCursor {
  return isObject(stored) && "watermark" in stored ? { ...NEW_CURSOR, ...stored } : NEW_CURSOR;
}

export function newBackfill(
  startedAt: Date,
  terms: Pick<BackfillState, "hasAllOrders" | "familyMetafield" | "historyFrom">,
): BackfillState {
  const state: DownloadState = { operationId: null, isStored: false };
  return {
    startedAt: startedAt.toISOString(),
    ...terms,
    recordFormat: RECORD_FORMAT,
    downloads: { products: state, orders: state, returns: state, ledger: state },
  };
}

export function withDownload(
  backfill: BackfillState,
  name: DownloadName,
  state: Partial<DownloadState>,
): BackfillState {
  const downloads = { ...backfill.downloads, [name]: { ...backfill.downloads[name], ...state } };
  return { ...backfill, downloads };
}
