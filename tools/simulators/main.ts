/** Starts simulated shops and label sources: npm run simulate -- --help */
import { Command, InvalidArgumentError } from "commander";
import { loopReturn, startLoopSimulator, type SimulatedReturn } from "./loop/server.ts";
import { shipStationLabel, startShipStationSimulator, type SimulatedLabel } from "./shipstation/server.ts";
import { startShopifySimulator, type ShopifySimulator } from "./shopify/start.ts";
import { randomOf } from "./shopify/world/random.ts";
import { startWooSimulator } from "./woocommerce/server.ts";

interface Options {
  orders: number;
  products: number;
  seed: number;
  port: number;
  full?: true;
  fast?: true;
  now?: string;
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
const owners = await shop.control("label-owners", {});
const portOf = (offset: number): number => (options.port === 0 ? 0 : options.port + offset);
const shipstation = await startShipStationSimulator({ port: portOf(1), labels: shipStationLabels() }).catch(
  endOnTakenPort,
);
const loop = await startLoopSimulator({ port: portOf(2), returns: loopReturns() }).catch(endOnTakenPort);
const woo = await startWooSimulator({
  port: portOf(3),
  orders: options.orders,
  products: options.products,
  seed: options.seed,
  now: options.now ?? new Date().toISOString(),
}).catch(endOnTakenPort);
console.log(shopText(shop));
console.log(wooText());
console.log(labelText("shipstation", shipstation));
console.log(labelText("loop", loop));
console.log("Ctrl-C ends them all.");
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => void stopAll());

function readOptions(): Options {
  const whole = (text: string): number => {
    if (!/^\d+$/.test(text)) throw new InvalidArgumentError("It has to be a whole number.");
    return Number(text);
  };
  return new Command("npm run simulate --")
    .description("Runs simulated shops and label sources on this machine.")
    .option("--orders <number>", "orders over two years", whole, 2000)
    .option("--products <number>", "products", whole, 120)
    .option("--seed <number>", "another seed is another shop", whole, 1)
    .option(
      "--port <number>",
      "the shop's port; the label sources and the WooCommerce shop take the next three",
      whole,
      4710,
    )
    .option(
      "--now <time>",
      "ISO 8601: the shop's last moment; its time stands still then (default: now, ticking)",
    )
    .option("--full", "orders with edits, exchanges, partial shipments and all else that can happen to one")
    .option("--fast", "no waiting: a large bucket of points, and bulk operations that finish at once")
    .parse()
    .opts();
}

/** Labels of the shop's returns that have a tracking number; one in twenty was voided. */
function shipStationLabels(): SimulatedLabel[] {
  return owners.flatMap(({ trackingNumber, orderName, createdAt }, index) => {
    if (trackingNumber === null) return [];
    const random = randomOf(index, 5);
    const voided = random.chance(0.05);
    return [
      shipStationLabel({
        labelId: `se-${index + 1}`,
        createdAt,
        amount: random.between(350, 1290) / 100,
        currency: shop.options.currencyCode.toLowerCase(),
        trackingNumber,
        rmaNumber: random.chance(0.5) ? orderName : null,
        status: voided ? "voided" : "completed",
        voidedAt: voided ? createdAt : null,
      }),
    ];
  });
}

/** Returns at Loop that have no tracking number at the shop: their labels are matched by the order. */
function loopReturns(): SimulatedReturn[] {
  return owners.flatMap(({ trackingNumber, orderId, orderName, createdAt, status }, index) => {
    if (trackingNumber !== null || status === "REQUESTED" || status === "DECLINED") return [];
    const rate = randomOf(index, 6).between(350, 1290);
    return [
      loopReturn({
        id: String(index + 1),
        providerOrderId: orderId.split("/").at(-1) ?? "",
        orderName,
        currency: shop.options.currencyCode,
        createdAt,
        updatedAt: createdAt,
        labels: [{ rate, trackingNumber: `L${index + 1}`, status: "delivered" }],
      }),
    ];
  });
}

/** Servers that have already started end with this process. */
function endOnTakenPort(error: NodeJS.ErrnoException & { port?: number }): never {
  if (error.port === undefined) throw error;
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

function wooText(): string {
  const domain = "woocommerce.example";
  return `WooCommerce    ${options.orders} orders
  address      ${woo.url}
  key          ${woo.key}
  workspace    ./returns workspace create --domain ${domain} --currency EUR --plan scale
  connect      printf %s ${woo.key} | ./returns connect woocommerce --workspace ${domain} --url ${woo.url} --token-stdin
`;
}

function labelText(name: string, { url, apiKey }: { url: string; apiKey: string }): string {
  const { domain } = shop.options;
  return `Label source   ${name}
  address      ${url}
  token        ${apiKey}
  connect      printf %s ${apiKey} | ./returns connect ${name} --workspace ${domain} --url ${url} --token-stdin
`;
}

async function stopAll(): Promise<void> {
  await Promise.all([shop, shipstation, loop, woo].map((one) => one.stop()));
  process.exit(0);
}
