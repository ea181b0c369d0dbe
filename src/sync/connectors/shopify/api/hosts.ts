import { isLoopbackHost } from "../../../../lib/networks.ts";
import { isOwnUrl } from "../../shared/http.ts";

const SHOP = /^[a-z0-9][a-z0-9-]*\.myshopify\.com$/u;
const LONGEST_SHOP = 255;
/** Where the platform keeps the files of bulk operations. */
const FILE_HOST =
  /^(?:storage\.googleapis\.com|(?:[a-z0-9-]+\.)*(?:shopify\.com|shopifycdn\.com|myshopify\.com))$/u;

/** Whether a name is a shop's own host at the platform; requests and redirects go to no other. */
export function isShopHost(shop: string): boolean {
  return shop.length <= LONGEST_SHOP && SHOP.test(shop);
}

/** Whether an address is a shop's admin, or a stand-in for it on this machine. */
export function isShopUrl(url: URL): boolean {
  return url.search === "" && url.hash === "" && isOwnUrl(url, isShopHost);
}

/** Whether a file named by a shop may be fetched: only a shop on this machine may refer to this machine. */
export function isFileUrl(file: URL, shop: URL): boolean {
  if (isLoopbackHost(shop.hostname)) return isLoopbackHost(file.hostname);
  return file.protocol === "https:" && file.port === "" && FILE_HOST.test(file.hostname);
}
