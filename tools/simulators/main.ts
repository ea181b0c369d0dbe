/** Starts a simulated shop and label sources beside it, each in its own process: npm run simulate -- --help */
import { join } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import type { LabelEntryOptions } from "./label-entry.ts";
import { PortTaken, startProcess } from "./process.ts";
import { startShopifySimulator } from "./shopify/start.ts";
import type { ShopifySimulator } from "./shopify/start.ts";

interface Options {
  orders: number;
  products: number;
  seed: number;
  port: number;
  full?: true;
  fast?: true;
  now?: string;
}

interface LabelSource {
  name: LabelEntryOptions["source"];
  url: string;
  apiKey: string;
  stop: () => Promise<void>;
}

const options = readOptions();
const shop = await startShopifySimulator({
  orders: options.orders,
  products: options.products,
  seed: options.seed,
  port: options.port,
  deliverAtOnce: true,
  histories: options.full === true ? "full" : "plain",
  ...(options.now !== undefined && { now: options.now }),
  ...(options.fast === true
    ? { bucketPoints: 20_000, restorePerSecond: 10_000, bulkMillis: 50 }
    : { bulkMillis: 3000 }),
}).catch(endOnTakenPort);
const sources = [await startLabels("shipstation", 1), await startLabels("loop", 2)];
console.log(shopText(shop));
for (const source of sources) console.log(labelText(source));
console.log("Ctrl-C ends them all.");
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => void stopAll());

function readOptions(): Options {
  const whole = (text: string): number => {
    if (!/^\d+$/.test(text)) throw new InvalidArgumentError("It has to be a whole number.");
    return Number(text);
  };
  return new Command("npm run simulate --")
    .description("Runs a simulated shop and label sources on this machine.")
    .option("--orders <number>", "orders over two years", whole, 2000)
    .option("--products <number>", "products", whole, 120)
    .option("--seed <number>", "another seed is another shop", whole, 1)
    .option("--port <number>", "the shop's port; the label sources take the next two", whole, 4710)
    .option(
      "--now <time>",
      "ISO 8601: the shop's last moment; its time stands still then (default: now, ticking)",
    )
    .option("--full", "orders with edits, exchanges, partial shipments and all else that can happen to one")
    .option("--fast", "no waiting: a large bucket of points, and bulk operations that finish at once")
    .parse()
    .opts();
}

async function startLabels(name: LabelSource["name"], offset: number): Promise<LabelSource> {
  const apiKey = `simulated-${name}-key`;
  const { url, stop } = await startProcess(join(import.meta.dirname, "label-entry.ts"), {
    source: name,
    shopUrl: shop.url,
    currencyCode: shop.options.currencyCode,
    apiKey,
    port: options.port === 0 ? 0 : options.port + offset,
  } satisfies LabelEntryOptions).catch(endOnTakenPort);
  return { name, url, apiKey, stop };
}

/** What has started already ends with this process. */
function endOnTakenPort(error: unknown): never {
  if (!(error instanceof PortTaken)) throw error;
  console.error(`Port ${error.port} is taken: stop the other simulator or give --port.`);
  process.exit(1);
}

function shopText({
  url,
  token,
  options: { domain, currencyCode, clientId, clientSecret },
}: ShopifySimulator): string {
  return `
Shop           ${domain}, ${options.orders} orders
  address      ${url}
  token        ${token}
  app          client id ${clientId}, secret ${clientSecret}
  control      curl -s ${url}/control/statistics
  workspace    ./returns workspace create --domain ${domain} --currency ${currencyCode} --plan scale
  connect      printf %s ${token} | ./returns connect shopify --workspace ${domain} --url ${url} --token-stdin
`;
}

function labelText({ name, url, apiKey }: LabelSource): string {
  const { domain } = shop.options;
  return `Label source   ${name}
  address      ${url}
  token        ${apiKey}
  connect      printf %s ${apiKey} | ./returns connect ${name} --workspace ${domain} --url ${url} --token-stdin
`;
}

async function stopAll(): Promise<void> {
  await Promise.all([shop, ...sources].map((one) => one.stop()));
  process.exit(0);
}
