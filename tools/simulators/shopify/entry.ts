/** The simulator's process: its options come as JSON, its address goes out as a line of JSON. */
import { announceStart } from "../process.ts";
import { shopifyOptions, type ShopifyOptions } from "./options.ts";
import { serveShopify } from "./server.ts";

const options = shopifyOptions(JSON.parse(process.argv[2] ?? "{}") as Partial<ShopifyOptions>);
await announceStart(() => serveShopify(options));
