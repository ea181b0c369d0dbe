import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../store/database.ts";
import { findConnection, listConnections } from "../store/queries/data-source.ts";
import type { ConnectionRow } from "../store/queries/data-source.ts";
import { dropRequests, findRequest, requestRun } from "../store/queries/sync-request.ts";
import { findRunSince } from "../store/queries/sync-run.ts";
import type { RunRow } from "../store/queries/sync-run.ts";
import { hasWorker } from "../store/queries/worker-upkeep.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import type { SyncKind } from "../store/queries/sync-request.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { requireRight } from "./rights.ts";
import { quoted } from "./input.ts";
import { impossible } from "./refusal.ts";

export type RequestedSync = {
  shop_domain: string;
  source: string;
  kind: SyncKind;
  requested_at: Date;
  /** Whether somebody is there to take it up. */
  has_worker: boolean;
};

const POLLING_MS = 300;

/**
 * Asks for a run now: of everything with `isBackfill` or when nothing was read yet, else of what has changed. Throws a
 * `Refusal` when the workspace has no such connection, or had it and was disconnected.
 */
export async function requestSync(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  request: { source: string; isBackfill: boolean },
): Promise<RequestedSync> {
  requireRight(actor, "sync.request");
  const { source, isBackfill } = request;
  const { shop_key: shopKey, shop_domain: domain } = workspace;
  const connection = await requireConnection(database, workspace, source);
  const kind = isBackfill || connection.last_synced_at === null ? "backfill" : "incremental";
  return database.transaction(async (transaction) => {
    const requestedAt = await requestRun(transaction, { shopKey, source, kind, requestedBy: "operator" });
    if (requestedAt === null) throw impossible(await notConnected(database, workspace, source));
    await recordAction(transaction, actor, { shopKey, action: "sync.request", detail: { source, kind } });
    const isThere = await hasWorker(transaction);
    return { shop_domain: domain, source, kind, requested_at: requestedAt, has_worker: isThere };
  });
}

/**
 * The backfill that is under way or waits for a worker, to be followed instead of asking for another run: whatever is
 * asked for meanwhile runs after it. null = there is none, or it keeps failing.
 */
export async function findBackfillUnderWay(
  database: Database,
  workspace: WorkspaceRow,
  source: string,
): Promise<RequestedSync | null> {
  const request = await findRequest(database, workspace.shop_key, source, "backfill");
  if (request === null || request.failures > 0) return null;
  return {
    shop_domain: workspace.shop_domain,
    source,
    kind: "backfill",
    requested_at: request.requested_at,
    has_worker: await hasWorker(database),
  };
}

/** A request that waits for its next try; `try` is the one that failed. */
export type Retry = { try: number; run_after: Date; error: string | null };

export type CanceledBackfill = { shop_domain: string; source: string; was_requested: boolean };

/**
 * Takes back a backfill that was asked for, such as one that keeps failing; the next run keeps up with what an earlier
 * one has read. An active run continues to its end. Throws a `Refusal` when the workspace has no such connection,
 * or nothing of it was read before.
 */
export async function cancelBackfill(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  source: string,
): Promise<CanceledBackfill> {
  requireRight(actor, "sync.cancel");
  const { shop_key: shopKey, shop_domain: domain } = workspace;
  const connection = await requireConnection(database, workspace, source);
  if (connection.last_synced_at === null) {
    throw impossible(`Nothing of ${source} was read yet: it begins with a backfill, or is disconnected.`);
  }
  return database.transaction(async (transaction) => {
    const wasRequested = await dropRequests(transaction, shopKey, source, "backfill");
    if (wasRequested)
      await recordAction(transaction, actor, {
        shopKey,
        action: "sync.cancel",
        detail: { source, kind: "backfill" },
      });
    return { shop_domain: domain, source, was_requested: wasRequested };
  });
}

async function requireConnection(
  database: Database,
  workspace: WorkspaceRow,
  source: string,
): Promise<ConnectionRow> {
  const connection = await findConnection(database, workspace.shop_key, source);
  if (connection !== null && connection.sealed_credentials !== null) return connection;
  throw impossible(await notConnected(database, workspace, source));
}

async function notConnected(database: Database, workspace: WorkspaceRow, source: string): Promise<string> {
  const connected = (await listConnections(database))
    .filter((row) => row.shop_key === workspace.shop_key && row.sealed_credentials !== null)
    .map((connection) => connection.source);
  const others = connected.length === 0 ? "no source" : connected.join(", ");
  return `The workspace ${workspace.shop_domain} is not connected to ${quoted(source)}; it is connected to ${others}.`;
}

/**
 * Follows the run that was asked for until it has succeeded or failed; a run that is cut off is followed by the one that
 * continues it. `onRetry` is called once for each failed attempt that will be retried. `check` throws to give up
 * waiting.
 */
export async function waitForRun(
  database: Database,
  workspace: WorkspaceRow,
  requested: RequestedSync,
  watch: { onProgress: (run: RunRow) => void; onRetry: (retry: Retry) => void; check: () => void },
): Promise<RunRow> {
  const { source, kind, requested_at: since } = requested;
  let toldTry = 0;
  for (;;) {
    watch.check();
    const run = await findRunSince(database, workspace.shop_key, source, kind, since);
    const request =
      run?.status === "running" ? null : await findRequest(database, workspace.shop_key, source, kind);
    if (request !== null && request.failures > 0 && !request.is_due && request.attempt - 1 !== toldTry) {
      toldTry = request.attempt - 1;
      watch.onRetry({ try: toldTry, run_after: request.run_after, error: request.error });
    }
    if (run?.status === "succeeded" || run?.status === "failed") return run;
    if (run !== null) watch.onProgress(run);
    await sleep(POLLING_MS);
  }
}
