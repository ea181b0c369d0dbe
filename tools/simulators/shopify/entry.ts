/** The simulator's process: its options are an argument, its address or the port that is taken its first message. */
import { shopifyOptions, type ShopifyOptions } from "./options.ts";
import { serveShopify } from "./server.ts";

const options = shopifyOptions(JSON.parse(process.argv[2] ?? "{}") as Partial<ShopifyOptions>);
const { url, stop } = await serveShopify(options).catch(
  (error: NodeJS.ErrnoException & { port?: number }) => {
    if (error.code !== "EADDRINUSE") throw error;
    return process.send?.({ takenPort: error.port }, () => process.exit(1)) as never;
  },
);
const end = (): void => void stop().then(() => process.exit(0));
// The channel closes with the process that started this one, even when that is killed.
process.once("disconnect", end);
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, end);
process.send?.({ url });
