import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { deriveKeys } from "../../src/lib/keys.ts";
import { putConnection, type SourceKind } from "../../src/store/queries/data-source.ts";
import type { Retention } from "../../src/lib/retention.ts";
import type { Connector } from "../../src/sync/connector.ts";
import { openCredentials, sealSecrets } from "../../src/sync/credentials.ts";
import { listWorkspacePages } from "../../src/store/directory.ts";
import { listQueued } from "../../src/store/queries/run-queue.ts";
import { readConfig } from "../../src/config.ts";
import { startDueRun } from "../../src/sync/run-record.ts";
import { executeRun, type RunEnvironment, type RunResult } from "../../src/sync/runs.ts";
import { pollPlace } from "../../src/worker/poll.ts";
import { keepInstallation, checkWorkspace, type UpkeepEnvironment } from "../../src/worker/upkeep.ts";
import { startWorker, type Worker, type WorkerOptions } from "../../src/worker/worker.ts";
import type { ControlDatabase } from "./control.ts";
import { TEST_SECRET } from "./secret.ts";
import { execute } from "./server.ts";
import { makeWorkspace } from "./workspace.ts";

export const DEFAULT_RETENTION: Retention = readConfig({});
export const TEST_SEALING_KEY = Buffer.alloc(32, 7);

/** A worker's options with short waits for tests; `logs` gets every line. */
export function workerOptions(
  control: Pick<ControlDatabase, "database" | "url">,
  connectors: readonly Connector[],
  logs: string[] = [],
): WorkerOptions {
  return {
    databaseUrl: control.url,
    database: control.database,
    queueDatabase: control.database,
    connectors,
    openCredentials: (shopKey, source) =>
      openCredentials({ database: control.database, sealingKey: TEST_SEALING_KEY, shopKey, source }),
    now: () => new Date(),
    log: pino({ level: "trace" }, { write: (line: string) => void logs.push(line) }),
    firstRetryMs: 200,
    deliveries: [],
    retention: DEFAULT_RETENTION,
    concurrency: 3,
    hasSchedule: false,
    pollMs: 100,
    graceMs: 200,
    longestStopMs: 5000,
    turnMs: 600_000,
  };
}

export async function withWorker(options: WorkerOptions, use: (worker: Worker) => Promise<void>) {
  const worker = await startWorker(options);
  try {
    await use(worker);
  } finally {
    await worker.stop();
  }
}

/** Runs the due run of a source, as a worker does; null if none is due. */
export async function runNext(
  environment: RunEnvironment,
  place: { shopKey: number; source: string },
): Promise<RunResult | null> {
  const run = await startDueRun(environment.database, place);
  return run === null ? null : executeRun(environment, run, new AbortController().signal, () => {});
}

/** The schedule's tasks for sources. */
export type SourceTask = "stores" | "labels" | "open_returns";

/** Makes a task of the schedule due at every source of the queue, and no other task. */
export async function makeDue({ url }: Pick<ControlDatabase, "url">, task: SourceTask): Promise<void> {
  const kind = task === "labels" ? "label_cost" : "store";
  const column = task === "open_returns" ? "reread_at" : "poll_at";
  await execute(url, "update data_source set poll_at = '2999-01-01', reread_at = '2999-01-01'");
  await execute(url, `update data_source set ${column} = null where kind = '${kind}'`);
  await execute(url, `update run_queue set due_at = now() where kind = '${kind}'`);
}

/** Polls every source for which the schedule has a task, as a worker does. */
export async function runScheduled(
  control: Pick<ControlDatabase, "url">,
  options: WorkerOptions,
  task: SourceTask,
): Promise<void> {
  await makeDue(control, task);
  for (const { shop_key: shopKey, source } of await listQueued(options.database, 1000)) {
    await pollPlace(
      { ...options, hasSchedule: true },
      {
        place: { shopKey, source },
        stop: new AbortController().signal,
        show: () => {},
      },
    );
  }
}

/** Does the upkeep of every shop of the directory, past failures, and of the installation; returns the failures. */
export async function keepAllInOrder(environment: UpkeepEnvironment): Promise<unknown[]> {
  const failures: unknown[] = [];
  await keepInstallation(environment).catch((error: unknown) => failures.push(error));
  for await (const page of listWorkspacePages(environment.database)) {
    for (const shopKey of page) {
      await checkWorkspace(environment, shopKey).catch((error: unknown) => failures.push(error));
    }
  }
  return failures;
}

let shopNumber = 0;

/** A new workspace that is connected to these sources; its key. */
export async function connectedShop(
  { database }: Pick<ControlDatabase, "database">,
  sources: readonly (readonly [string, SourceKind])[],
): Promise<{ shopKey: number; domain: string }> {
  const domain = `worker-${++shopNumber}.example`;
  const { shop_key: shopKey } = await makeWorkspace(database, domain);
  for (const [source, kind] of sources) await connect({ database }, shopKey, source, kind);
  return { shopKey, domain };
}

export async function connect(
  { database }: Pick<ControlDatabase, "database">,
  shopKey: number,
  source: string,
  kind: SourceKind,
): Promise<void> {
  const place = { sealingKey: TEST_SEALING_KEY, shopKey, source };
  const sealedCredentials = sealSecrets(place, { token: "a token" });
  await putConnection(database, { shopKey, source, kind, settings: {}, sealedCredentials });
}

/** Repeats `ask` until its result is not null; fails after `seconds`. */
export async function eventually<Result>(
  ask: () => Promise<Result | null | undefined | false>,
  what: string,
  seconds = 10,
): Promise<Result> {
  const endMs = performance.now() + seconds * 1000;
  for (;;) {
    const result = await ask();
    if (result !== null && result !== undefined && result !== false) return result;
    if (performance.now() > endMs) throw new Error(`It did not happen within ${seconds} s: ${what}`);
    await sleep(25);
  }
}

/** The key of a new workspace that is connected to a simulated shop, by the lasting token of a custom app. */
export async function connectedToShopify(
  { database }: Pick<ControlDatabase, "database">,
  shop: { url: string; token: string },
): Promise<number> {
  const { shopKey } = await connectedShop({ database }, []);
  const place = { sealingKey: deriveKeys(TEST_SECRET).sealingKey, shopKey, source: "shopify" };
  const sealedCredentials = sealSecrets(place, { accessToken: shop.token });
  const connection = { shopKey, source: "shopify", kind: "store", settings: { url: shop.url } } as const;
  await putConnection(database, { ...connection, sealedCredentials });
  return shopKey;
}
