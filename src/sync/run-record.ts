import { randomUUIDv7 } from "node:crypto";
import { isLostDatabase } from "../lib/log-failure.ts";
import type { Connection, Database } from "../store/database.ts";
import { lockConnection, setReadiness, setSourceStatus } from "../store/queries/data-source.ts";
import type { ConnectionRow } from "../store/queries/data-source.ts";
import { WorkspaceStopped, WorkspaceGone } from "../store/queries/import-stage.ts";
import {
  answerRequest,
  dropRequests,
  findDueRequest,
  postponeRequest,
} from "../store/queries/sync-request.ts";
import type { SyncRequestRow } from "../store/queries/sync-request.ts";
import {
  closeAbandonedRun,
  countQuietRuns,
  finishRun,
  settleSource,
  startRun,
} from "../store/queries/sync-run.ts";
import { SourceFailed, SourceRefused, TurnOver, type SyncOutcome } from "./connector.ts";

/** After a run that was cut off by the database, or whose connection was replaced, not by its source. */
const RESUME_MS = 1000;

/** A run that one worker executes. */
export type StartedRun = {
  /** At the beginning of the run. */
  connection: ConnectionRow;
  request: SyncRequestRow;
  runId: string;
};

/**
 * Starts the due run of a source claimed by the caller. null: none is due, or the source is no longer connected, and its requests
 * are removed. The start of a store's first backfill makes its workspace `backfilling`.
 */
export async function startDueRun(
  database: Database,
  { shopKey, source }: { shopKey: number; source: string },
): Promise<StartedRun | null> {
  return database.transaction(async (transaction) => {
    const connection = await lockConnection(transaction, shopKey, source);
    if (connection === null || connection.sealed_credentials === null) {
      await dropRequests(transaction, shopKey, source, null);
      return null;
    }
    // Requests wait: the erasure, or the move, may be canceled.
    if (connection.is_stopped) return null;
    const request = await findDueRequest(transaction, shopKey, source);
    if (request === null) return null;
    const { kind, requested_by: requestedBy, attempt } = request;
    const runId = randomUUIDv7();
    await startRun(transaction, { shopKey, runId, source, kind, requestedBy, attempt });
    // A failure stays until a run has succeeded: trying again makes nothing usable (M10), nor fresh.
    const isHealthy = connection.status !== "failed" && connection.status !== "disconnected";
    const status = isHealthy ? "syncing" : "failed";
    await setSourceStatus(transaction, shopKey, source, status, connection.last_error);
    if (connection.kind === "store" && kind === "backfill") {
      await setReadiness(transaction, shopKey, ["installing"], "backfilling");
    }
    return { connection, request, runId };
  });
}

/**
 * History, request and source change together. A run already closed by another process changes nothing, and one whose source was
 * disconnected meanwhile changes only its history: the disconnection decides the rest. A failure is retried after `retryMs`.
 */
export async function recordEnd(
  database: Database,
  run: StartedRun,
  end: RunEnd,
  retryMs: number,
): Promise<void> {
  const { shop_key: shopKey, source } = run.request;
  await database.transaction(async (transaction) => {
    if (!(await finishRun(transaction, shopKey, run.runId, end))) return;
    if (end.isQuiet) await countQuietRuns(transaction, shopKey, run.runId);
    const current = await lockConnection(transaction, shopKey, source);
    if (current === null || current.sealed_credentials === null) return;
    await settle(transaction, run, current, end, retryMs);
  });
}

async function settle(
  transaction: Connection,
  { connection, request }: StartedRun,
  current: ConnectionRow,
  end: RunEnd,
  retryMs: number,
): Promise<void> {
  const { shop_key: shopKey, source } = request;
  if (end.status === "succeeded") {
    await answerRequest(transaction, request);
    await settleSource(transaction, shopKey, source);
  } else if (end.status === "interrupted") {
    const delayMs = end.error === null ? 0 : RESUME_MS;
    await postponeRequest(transaction, request, { delayMs, isFailure: false });
  } else if (end.isRefused && isConnectedAnew(connection, current)) {
    // The refused credentials have been replaced.
    await postponeRequest(transaction, request, { delayMs: RESUME_MS, isFailure: false });
  } else if (end.isRefused) {
    await dropRequests(transaction, shopKey, source, null);
    await setSourceStatus(transaction, shopKey, source, "disconnected", end.error);
    if (connection.kind === "store") {
      await setReadiness(transaction, shopKey, ["installing", "backfilling", "ready"], "reconnecting");
    }
  } else {
    await postponeRequest(transaction, request, { delayMs: retryMs, isFailure: true });
    await setSourceStatus(transaction, shopKey, source, "failed", end.error);
  }
}

/**
 * Ends the run that a source's former worker left open. The next one continues it at once, unless several in a row were left: then
 * the run itself may be what ends its process, and it is retried as one that failed. `retryMsOf`: of failures in a row.
 */
export async function endAbandonedRun(
  database: Database,
  { shopKey, source }: { shopKey: number; source: string },
  retryMsOf: (failures: number) => number,
): Promise<void> {
  await database.transaction(async (transaction) => {
    const closed = await closeAbandonedRun(transaction, shopKey, source);
    if (closed === null || closed.failures === null) return;
    const { kind, failure, failures } = closed;
    const delayMs = failure === null ? 0 : retryMsOf(failures);
    const request = { shop_key: shopKey, source, kind };
    await postponeRequest(transaction, request, { delayMs, isFailure: failure !== null });
    if (failure !== null) await setSourceStatus(transaction, shopKey, source, "failed", failure);
  });
}

function isConnectedAnew(before: ConnectionRow, now: ConnectionRow): boolean {
  return before.settings["connectedAt"] !== now.settings["connectedAt"];
}

/** How a run ended, as its history shows it. */
export type RunEnd = {
  status: "succeeded" | "failed" | "interrupted";
  counts: Record<string, number>;
  notes: readonly string[];
  /** One sentence for people, without internals; null = nothing went wrong. */
  error: string | null;
  /** The source no longer takes our credentials: there is nothing to try again. */
  isRefused: boolean;
  /** It succeeded, and nothing that is served came out different. */
  isQuiet: boolean;
  /** A fault of ours, for the log only. */
  cause: unknown;
};

export type RunAttempt = { outcome: SyncOutcome } | { error: unknown; isStopped: boolean };

/**
 * The meaning of a connector's outcome or error. Errors of sources arrive as `SourceFailed` and `SourceRefused`, so a broken
 * connection in any other is the database's: it interrupts the run, without blaming its source.
 */
export function describeEnd(attempt: RunAttempt, runId: string): RunEnd {
  const end: RunEnd = {
    status: "failed",
    counts: {},
    notes: [],
    error: null,
    isRefused: false,
    isQuiet: false,
    cause: null,
  };
  if ("outcome" in attempt) {
    const { counts, notes, isChanged } = attempt.outcome;
    return { ...end, status: "succeeded", counts, notes, isQuiet: isChanged === false };
  }
  const { error, isStopped } = attempt;
  if (isStopped || error instanceof TurnOver) return { ...end, status: "interrupted" };
  if (error instanceof SourceRefused) return { ...end, error: error.message, isRefused: true };
  if (error instanceof WorkspaceStopped) return { ...end, status: "interrupted", error: error.message };
  if (error instanceof SourceFailed || error instanceof WorkspaceGone)
    return { ...end, error: error.message };
  if (isLostDatabase(error)) {
    return { ...end, status: "interrupted", error: "The connection to the database was lost." };
  }
  const sentence = `Something unexpected went wrong in the service: see its log under run ${runId}.`;
  return { ...end, error: sentence, cause: error };
}
