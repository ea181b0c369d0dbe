import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { startShopifySimulator } from "../simulators/shopify/start.ts";
import type { ShopifySimulator } from "../simulators/shopify/start.ts";
import { putConnection } from "../../src/store/queries/data-source.ts";
import type { SyncKind } from "../../src/store/queries/sync-request.ts";
import type { BackfillOutcome, BackfillRun } from "./backfill-run.ts";
import type { BenchContext } from "./context.ts";
import type { BenchRow } from "./measure.ts";
import { makeWorkspace } from "../../tests/support/workspace.ts";

const ORDERS = 100_000;
const CHANGED_ORDERS = 1000;
const DOMAIN = "simulated-shop.myshopify.com";
const CURRENCY = "EUR";
const RUN_FILE = join(import.meta.dirname, "backfill-run.ts");
/** A quarter of the platform's own limits for its largest plan would be slower than this machine. */
const LIMITS = { bucketPoints: 50_000, restorePerSecond: 50_000 };

/** A shop of 100,000 orders read from the simulated platform in a process beside this one, then 1,000 orders changed. */
export async function measureBackfill(context: BenchContext): Promise<BenchRow[]> {
  const { installation, tell } = context;
  tell(`simulating a shop of ${ORDERS} orders`);
  const simulator = await startShopifySimulator({
    orders: ORDERS,
    currencyCode: CURRENCY,
    domain: DOMAIN,
    ...LIMITS,
  });
  try {
    const shopKey = await connect(context, simulator);
    const run = (kind: SyncKind): Promise<BackfillOutcome> =>
      runInProcess({
        databaseUrl: installation.databaseUrl,
        shopKey,
        currencyCode: CURRENCY,
        url: simulator.url,
        token: simulator.token,
        kind,
      });
    tell("backfill");
    const backfill = await run("backfill");
    tell(`backfill: ${describe(backfill)}`);
    await simulator.control("change", { do: "touchOrders", count: CHANGED_ORDERS, seed: 7 });
    tell("incremental");
    const incremental = await run("incremental");
    tell(`incremental: ${describe(incremental)}`);
    return rowsOf(backfill, incremental);
  } finally {
    await simulator.stop();
  }
}

async function connect({ installation }: BenchContext, simulator: ShopifySimulator): Promise<number> {
  const { database } = installation;
  const { shop_key: shopKey } = await makeWorkspace(database, DOMAIN, { currency: CURRENCY });
  await putConnection(database, {
    shopKey,
    source: "shopify",
    kind: "store",
    settings: { url: simulator.url },
    sealedCredentials: Buffer.alloc(0),
  });
  return shopKey;
}

async function runInProcess(run: BackfillRun): Promise<BackfillOutcome> {
  const child = spawn(process.execPath, [RUN_FILE, JSON.stringify(run)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  if (code !== 0) throw new Error(`the run ended with ${code}`);
  return JSON.parse(output) as BackfillOutcome;
}

function rowsOf(backfill: BackfillOutcome, incremental: BackfillOutcome): BenchRow[] {
  const orders = backfill.counts["orders"] ?? 0;
  return [
    {
      name: `backfill of ${orders} orders, simulator included`,
      value: `${backfill.seconds} s`,
      ratio: `${Math.round(orders / backfill.seconds)} orders/s`,
      target: "≤ 120 s",
    },
    {
      name: "memory of that run: early, highest",
      value: `${backfill.earlyMegabytes}, ${backfill.highestMegabytes} MB`,
      target: "flat",
    },
    {
      name: `incremental run, ${incremental.counts["changed_orders"] ?? 0} orders changed`,
      value: `${incremental.seconds} s`,
      target: "served ≤ 5 s after its end",
    },
  ];
}

function describe({ seconds, counts, stages }: BackfillOutcome): string {
  return `${seconds} s, ${JSON.stringify(counts)}, stages end at ${JSON.stringify(stages)}`;
}
