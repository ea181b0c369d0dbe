/** Simulated shops in a separate process, as shops are: POST / with the options of one starts it, and answers with its address. */
import { readBody, sendJson, serveLoopback } from "../simulators/http.ts";
import type { ShopifyOptions } from "../simulators/shopify/options.ts";
import { serveShopify } from "../simulators/shopify/server.ts";

const { url } = await serveLoopback(
  0,
  async (request, response) => {
    const shop = await serveShopify(JSON.parse(await readBody(request)) as ShopifyOptions);
    sendJson(response, 200, { url: shop.url });
  },
  (response, error) => sendJson(response, 500, { errors: String(error) }),
);
process.on("disconnect", () => process.exit());
process.send?.(url);
