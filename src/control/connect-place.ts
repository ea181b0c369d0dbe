import type { Source } from "../sync/connector.ts";
import { isShopHost, isShopUrl } from "../sync/connectors/shopify/api/hosts.ts";
import { quoted } from "./input.ts";
import { invalid } from "./refusal.ts";

/** Which shop: one by its name, its address, or both; an address of its own serves a stand-in for the platform. */
export type PlaceRequest = { shop?: string | undefined; url?: string | undefined };

/** The shop and the address to ask. Throws a `Refusal` for what is neither. */
export function readPlace(source: Source, request: PlaceRequest): { account: string | null; url: string } {
  const { address } = source;
  return address === null ? readShopPlace(request) : { account: null, url: request.url ?? address };
}

export function readShopPlace({ shop, url }: PlaceRequest): { account: string | null; url: string } {
  const host = shop?.trim().toLowerCase() ?? null;
  if (host !== null && !isShopHost(host)) {
    throw invalid(
      `The shop must be its name at Shopify, such as my-store.myshopify.com, not ${quoted(host)}.`,
    );
  }
  if (url !== undefined) return { account: host, url: readAddress(url) };
  if (host === null) throw invalid("Name the shop with --shop, such as my-store.myshopify.com.");
  return { account: host, url: `https://${host}` };
}

function readAddress(value: string): string {
  const url = URL.parse(value.trim());
  if (url !== null && isShopUrl(url)) return url.href.replace(/(?<!\/)\/+$/u, "");
  throw invalid(
    "The address must be a shop's, such as https://my-store.myshopify.com (another only on this machine itself).",
  );
}
