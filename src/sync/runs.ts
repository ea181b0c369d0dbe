import { randomUUIDv7 } from "node:crypto";
import { claimRun } from "../store/run-claim.ts";
import type { Database } from "../store/database.ts";
import type { ConnectionRow } from "../store/queries/data-source.ts";
import { findDueRequest } from "../store/queries/sync-request.ts";
import type { SyncRequestRow } from "../store/queries/sync-request.ts";
import type { Connector, Credentials } from "./connector.ts";
import { describeEnd } from "./run-end.ts";
import type { RunEnd } from "./run-end.ts";
import { createProgressWriter } from "./run-progress.ts";
import { recordEnd, recordStart } from "./run-record.ts";

/** What runs need of the process they are in. */
export type RunEnvironment = {
  /** Of the claims' own connections. */
  databaseUrl: string;
  database: Database;
  connectors: readonly Connector[];
  openCredentials: (shopKey: number, source: string) => Credentials;
  now: () => Date;
  log: RunLog;
  /** How long after its first failure a run is tried again; each further one doubles it, up to 15 minutes. */
  firstRetryMs: number;
};

export type RunLog = {
  info: (fields: object, message: string) => void;
  warn: (fields: object, message: string) => void;
  error: (fields: object, message: string) => void;
};

export type RunResult = { runId: string; status: RunEnd["status"] };

const LONGEST_RETRY_MS = 15 * 60_000;
/** How long a run may take to stop: one that waits for an answer that never comes is abandoned. */
const LONGEST_ABORT_MS = 15_000;

/**
 * Runs what a connection has to do next, and records it; null when nothing is due or another run of this connection is
 * active, in this process or any other. The run is handed on when `stop` aborts: the next one continues it. Throws only
 * when the database does not answer; a run left open by that is found by the next look for abandoned ones.
 */
export async function runNext(
  environment: RunEnvironment,
  place: { shopKey: number; source: string },
  stop: AbortSignal,
): Promise<RunResult | null> {
  const { database, databaseUrl } = environment;
  const { shopKey, source } = place;
  const claim = await claimRun(databaseUrl, shopKey, source);
  if (claim === null) return null;
  try {
    const request = await findDueRequest(database, shopKey, source);
    if (request === null) return null;
    return await runRequest(environment, request, AbortSignal.any([stop, claim.signal]));
  } finally {
    await claim.release();
  }
}

async function runRequest(
  environment: RunEnvironment,
  request: SyncRequestRow,
  signal: AbortSignal,
): Promise<RunResult | null> {
  const { log, database } = environment;
  const runId = randomUUIDv7();
  const connection = await recordStart(database, request, runId);
  if (connection === null) return null;
  const fields = { run_id: runId, shop: connection.shop_domain, source: request.source, kind: request.kind };
  log.info({ ...fields, attempt: request.attempt }, "run started");
  const end = describeEnd(await attempt(environment, connection, request, { runId, signal }), runId);
  if (end.cause !== null) log.error({ ...fields, err: end.cause }, "run failed unexpectedly");
  const retryMs = retryDelayMs(environment.firstRetryMs, request.failures);
  await recordEnd(database, { connection, request, runId, retryMs }, end);
  const outcome = { ...fields, status: end.status, ...(end.error === null ? {} : { reason: end.error }) };
  if (end.status === "failed") log.warn(outcome, "run failed");
  else log.info({ ...outcome, counts: end.counts }, `run ${end.status}`);
  return { runId, status: end.status };
}

/** What the connector made of it: its outcome, or what it threw. */
async function attempt(
  environment: RunEnvironment,
  connection: ConnectionRow,
  request: SyncRequestRow,
  run: { runId: string; signal: AbortSignal },
): Promise<Parameters<typeof describeEnd>[0]> {
  const { database, connectors, openCredentials, now } = environment;
  const { shop_key: shopKey, source } = request;
  const connector = connectors.find((candidate) => candidate.source === source);
  const progress = createProgressWriter(database, shopKey, run.runId);
  try {
    if (connector === undefined) throw new Error(`this version has no connector for ${source}`);
    run.signal.throwIfAborted();
    const syncing = connector.sync({
      database,
      shopKey,
      currencyCode: connection.shop_currency_code,
      kind: request.kind,
      settings: connection.settings,
      credentials: openCredentials(shopKey, source),
      signal: run.signal,
      now,
      progress: progress.show,
    });
    return { outcome: await settledOrLate(syncing, run.signal) };
  } catch (error) {
    return { error, isStopped: run.signal.aborted };
  } finally {
    await progress.flush();
  }
}

/** What `work` comes to, or the signal's reason when it has not settled long after the signal. */
async function settledOrLate<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort = (): void => {};
  const late = new Promise<never>((_settled, refuse) => {
    onAbort = (): void => {
      timer = setTimeout(() => refuse(signal.reason as Error), LONGEST_ABORT_MS);
    };
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/** Doubled with each failure in a row; a quarter more or less, so that shops do not come back all at once. */
export function retryDelayMs(firstRetryMs: number, failures: number, random = Math.random()): number {
  const delayMs = Math.min(LONGEST_RETRY_MS, firstRetryMs * 2 ** Math.min(failures, 20));
  return Math.round(delayMs * (0.75 + random / 2));
}
