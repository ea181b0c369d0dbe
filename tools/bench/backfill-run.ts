/**
 * One run of the store platform's connector in a process of its own, so that its memory is its own:
 * node backfill-run.ts <JSON of BackfillRun>. Prints one line of JSON, BackfillOutcome.
 */
import { openDatabase } from "../../src/store/database.ts";
import { createShopifyConnector } from "../../src/sync/connectors/shopify/connector.ts";
import type { SyncKind } from "../../src/store/queries/sync-request.ts";

export type BackfillRun = {
  databaseUrl: string;
  shopKey: number;
  currencyCode: string;
  url: string;
  token: string;
  kind: SyncKind;
};

export type BackfillOutcome = {
  seconds: number;
  counts: Record<string, number>;
  /** Resident memory after a tenth of the run and at most, in MB. */
  earlyMegabytes: number;
  highestMegabytes: number;
  /** Seconds from the start at which each stage was last heard of. */
  stages: Record<string, number>;
};

const SAMPLE_MS = 100;

const run = JSON.parse(process.argv[2] ?? "") as BackfillRun;
process.stdout.write(`${JSON.stringify(await measure(run))}\n`);

async function measure({
  databaseUrl,
  shopKey,
  currencyCode,
  url,
  token,
  kind,
}: BackfillRun): Promise<BackfillOutcome> {
  const database = openDatabase({
    url: databaseUrl,
    maxConnections: 4,
    readOnly: false,
    statementTimeoutMs: 0,
    applicationName: "returns-backfill",
    onConnectionError: (error) => console.error(error.message),
  });
  const samples: number[] = [];
  const sampler = setInterval(() => samples.push(process.memoryUsage().rss / 1024 / 1024), SAMPLE_MS);
  const stages: Record<string, number> = {};
  const started = performance.now();
  const elapsed = (): number => Math.round((performance.now() - started) / 100) / 10;
  const connector = createShopifyConnector({ clientId: null, clientSecret: null });
  const { counts } = await connector.sync({
    database,
    shopKey,
    currencyCode,
    kind,
    settings: { url },
    credentials: {
      read: async () => ({ accessToken: token }),
      change: (change) => change({ accessToken: token }),
    },
    signal: new AbortController().signal,
    now: () => new Date(),
    progress: ({ stage }) => {
      stages[stage] = elapsed();
    },
  });
  const seconds = elapsed();
  clearInterval(sampler);
  await database.close();
  const early = samples[Math.floor(samples.length / 10)] ?? 0;
  return {
    seconds,
    counts,
    earlyMegabytes: Math.round(early),
    highestMegabytes: Math.round(Math.max(...samples, 0)),
    stages,
  };
}
