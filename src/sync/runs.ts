import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { errorType, note, noteFailure, traced, traceFields, type Attributes } from "../lib/trace.ts";
import type { Database } from "../store/database.ts";
import { updateRunProgress } from "../store/queries/sync-run.ts";
import type { Connector, Credentials, SyncContext, SyncProgress } from "./connector.ts";
import { describeEnd, recordEnd, type RunAttempt, type RunEnd, type StartedRun } from "./run-record.ts";

/** The process's resources for runs. */
export type RunEnvironment = {
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

/** `isQuiet`: it succeeded, and nothing that is served came out different. */
export type RunResult = { runId: string } & Pick<RunEnd, "status" | "isQuiet">;

const LONGEST_RETRY_MS = 15 * 60_000;
/** How long a run may take to stop: one that waits for an answer that never comes is abandoned. */
const LONGEST_ABORT_MS = 15_000;

/**
 * Executes a run that was started, and records its end. The run is handed on when `stop` aborts, and by some connectors when `turn`
 * does: the next one continues it. `show` gets its progress. Throws only when the database does not answer; a run left open by that
 * is abandoned.
 */
export function executeRun(
  environment: RunEnvironment,
  run: StartedRun,
  stop: AbortSignal,
  show: (progress: SyncProgress) => void,
  turn?: AbortSignal,
): Promise<RunResult> {
  const { connection, request, runId } = run;
  const attributes = {
    "returns.source": request.source,
    "returns.source_kind": connection.kind,
    "returns.run_kind": request.kind,
    "returns.run_id": runId,
    "returns.attempt": request.attempt,
  };
  return traced({ name: `run ${request.source}`, isRoot: true, attributes }, () =>
    execute(environment, run, { signal: stop, turn }, show),
  );
}

async function execute(
  environment: RunEnvironment,
  run: StartedRun,
  signals: Pick<SyncContext, "signal" | "turn">,
  show: (progress: SyncProgress) => void,
): Promise<RunResult> {
  const { log, database } = environment;
  const { connection, request, runId } = run;
  const { source, kind } = request;
  const fields = { run_id: runId, shop: connection.shop_domain, source, kind, ...traceFields() };
  log.info({ ...fields, attempt: request.attempt }, "run started");
  let last: SyncProgress | null = null;
  const attempted = await attempt(environment, run, signals, (progress) => {
    last = { ...progress };
    show(last);
  });
  const end = describeEnd(attempted, runId);
  if (last !== null && !end.isQuiet)
    await updateRunProgress(database, request.shop_key, runId, last).catch(() => {});
  if (end.cause !== null) log.error({ ...fields, err: end.cause }, "run failed unexpectedly");
  await recordEnd(database, run, end, retryDelayMs(environment.firstRetryMs, request.failures));
  note({ "returns.run_status": end.status, ...recordCounts(end.counts) });
  if (end.status === "failed" && "error" in attempted) noteFailure(errorType(attempted.error));
  const outcome = { ...fields, status: end.status, ...(end.error === null ? {} : { reason: end.error }) };
  if (end.status === "failed") log.warn(outcome, "run failed");
  else log.info({ ...outcome, counts: end.counts }, `run ${end.status}`);
  return { runId, status: end.status, isQuiet: end.isQuiet };
}

/** The connector's outcome, or its error. */
async function attempt(
  environment: RunEnvironment,
  { connection, request }: StartedRun,
  signals: Pick<SyncContext, "signal" | "turn">,
  progress: (progress: SyncProgress) => void,
): Promise<RunAttempt> {
  const { signal } = signals;
  const { database, connectors, openCredentials, now } = environment;
  const { shop_key: shopKey, source } = request;
  const connector = connectors.find((candidate) => candidate.source === source);
  try {
    if (connector === undefined) throw new Error(`this version has no connector for ${source}`);
    signal.throwIfAborted();
    const syncing = connector.sync({
      database,
      shopKey,
      currencyCode: connection.shop_currency_code,
      kind: request.kind,
      settings: connection.settings,
      cursor: connection.cursor,
      credentials: openCredentials(shopKey, source),
      ...signals,
      now,
      progress,
    });
    return { outcome: await settledOrLate(syncing, signal) };
  } catch (error) {
    return { error, isStopped: signal.aborted };
  }
}

/** The result of `work`, or the signal's reason if it has not settled long after the signal. */
async function settledOrLate<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const settled = new AbortController();
  const late = once(signal, "abort", { signal: settled.signal })
    .then(() => sleep(LONGEST_ABORT_MS, undefined, { signal: settled.signal }))
    .then(() => Promise.reject(signal.reason as Error));
  return Promise.race([work, late]).finally(() => settled.abort());
}

/** Doubled with each consecutive failure, ± 25 %, so that workspaces do not all retry at once. */
export function retryDelayMs(firstRetryMs: number, failures: number, random = Math.random()): number {
  const delayMs = Math.min(LONGEST_RETRY_MS, firstRetryMs * 2 ** Math.min(failures, 20));
  return Math.round(delayMs * (0.75 + random / 2));
}

/** Counts of a run's records, for its span: `returns.records.orders` and so on. */
export function recordCounts(counts: Readonly<Record<string, number>>): Attributes {
  return Object.fromEntries(
    Object.entries(counts).map(([name, count]) => [`returns.records.${name}`, count]),
  );
}
