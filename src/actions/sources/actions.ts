import { evaluateAlerts } from "../../alerts/evaluate-alerts.ts";
import { quoted } from "../input.ts";
import { impossible, invalid } from "../refusal.ts";
import type { Queryable } from "../../store/database.ts";
import {
  findConnection,
  listConnections,
  setCredentials,
  setSourceStatus,
} from "../../store/queries/data-source.ts";
import type { ConnectionRow } from "../../store/queries/data-source.ts";
import { dropRequests, requestRun } from "../../store/queries/sync-request.ts";
import type { SyncKind } from "../../store/queries/sync-request.ts";
import { hasWorker } from "../../store/queries/worker-health.ts";
import type { DirectoryRow } from "../../store/queries/workspace-directory.ts";
import { SOURCES } from "../../sync/connectors/sources.ts";
import { rebuildWorkspace } from "../../sync/rebuild.ts";
import { defineAction } from "../action.ts";
import { flag, own, typedName } from "../field.ts";

export type RequestedSync = {
  shop_domain: string;
  source: string;
  kind: SyncKind;
  requested_at: Date;
  /** Whether somebody is there to take it up. */
  has_worker: boolean;
};

const source = own("The source", (_subject, given) => given, {
  kind: "hidden",
  hint: SOURCES.map((each) => each.source).join(", "),
});

/** Asks for a run now: of everything with `backfill` or when nothing was read yet, else of what has changed. */
export const requestSync = defineAction({
  name: "sync.request",
  title: "Sync now",
  about: "Request a run of a connected source now; a worker executes it.",
  past: "Started a sync",
  least: "admin",
  input: {
    source,
    backfill: flag("Everything", { hint: "read everything, not only what has changed" }),
  },
  run: async ({ connection, workspace }, { source: name, backfill }) => {
    const { shop_key: shopKey, shop_domain: domain } = workspace;
    const found = await requireConnection(connection, workspace, name);
    const kind = backfill || found.last_synced_at === null ? "backfill" : "incremental";
    const request = { shopKey, source: name, kind, requestedBy: "operator" } as const;
    const requestedAt = await requestRun(connection, request);
    if (requestedAt === null) throw impossible(await notConnected(connection, workspace, name));
    const isThere = await hasWorker(connection);
    const result: RequestedSync = {
      shop_domain: domain,
      source: name,
      kind,
      requested_at: requestedAt,
      has_worker: isThere,
    };
    const begins = isThere ? "it begins within a second or two" : "it begins as soon as a worker runs";
    return { result, done: `Sync requested; ${begins}.`, audit: { detail: { source: name, kind } } };
  },
});

/**
 * Cancels a backfill that was asked for, such as one that keeps failing; the next run keeps up with what an earlier one has
 * read. An active run continues to its end. Refused where nothing was read before.
 */
export const cancelBackfill = defineAction({
  name: "sync.cancel",
  title: "Cancel backfill",
  about: "Cancel a requested backfill, and read only what has changed.",
  past: "Canceled a backfill",
  least: "admin",
  input: { source },
  run: async ({ connection, workspace }, { source: name }) => {
    const { shop_key: shopKey, shop_domain: domain } = workspace;
    const found = await requireConnection(connection, workspace, name);
    if (found.last_synced_at === null) {
      throw impossible(
        `Nothing has been read from ${name} yet: its first sync is a backfill, or it is disconnected.`,
      );
    }
    const wasRequested = await dropRequests(connection, shopKey, name, "backfill");
    return {
      result: { shop_domain: domain, source: name, was_requested: wasRequested },
      done: wasRequested
        ? "The backfill is canceled; from now on only changes are read."
        : "No backfill was waiting; nothing has changed.",
      audit: wasRequested ? { detail: { source: name, kind: "backfill" } } : null,
    };
  },
});

/** Deletes the credentials of a source; what was read stays and is served with its date. Again it changes nothing. */
export const disconnectSource = defineAction({
  name: "source.disconnect",
  title: "Disconnect source",
  about: "Delete the credentials of a source; its data stays.",
  past: "Disconnected a source",
  least: "admin",
  proof: true,
  input: { source, typed: typedName },
  confirm: ({ source: name }) =>
    `The credentials of ${name} are deleted and nothing new is read. Disconnect it?`,
  run: async ({ connection, workspace }, { source: name, typed: confirmed }) => {
    const { shop_key: shopKey, shop_domain: domain } = workspace;
    if (confirmed !== null && confirmed !== name) throw invalid(`Type ${name} to disconnect it.`, "typed");
    const found = await findConnection(connection, shopKey, name);
    if (found === null) {
      throw impossible(
        `The workspace ${domain} is not connected to ${quoted(name)}; "connections" shows what is.`,
      );
    }
    const { last_synced_at: syncedAt, settings, status } = found;
    const wasConnected = found.sealed_credentials !== null;
    if (wasConnected) {
      await setCredentials(connection, shopKey, name, null);
      await setSourceStatus(connection, shopKey, name, "disconnected", null);
      await dropRequests(connection, shopKey, name, null);
    }
    const stays =
      syncedAt === null ? "no data had been read." : `data read until ${syncedAt.toISOString()} stays.`;
    return {
      result: { source: name, workspace: domain, was_connected: wasConnected, last_synced_at: syncedAt },
      done: wasConnected
        ? `${name} is disconnected: its credentials are deleted; ${stays}`
        : `${name} is not connected; ${stays}`,
      audit: wasConnected
        ? { detail: { source: name }, before: { source: name, ...settings, status } }
        : null,
    };
  },
});

/** Recomputes facts and rollups from the order documents; what is served changes in one step. */
export const rebuild = defineAction({
  name: "rebuild",
  title: "Rebuild figures",
  about: "Recompute all figures from the stored source data.",
  past: "Recomputed the figures",
  least: "operator",
  input: {},
  run: async ({ connection, workspace }) => {
    const { shop_key: shopKey, shop_domain: domain } = workspace;
    const version = await rebuildWorkspace(connection, shopKey);
    return {
      result: { shop_domain: domain, data_version: version },
      done: `Rebuilt ${domain}; its data version is ${version}.`,
      audit: { detail: { data_version: version } },
    };
  },
  after: async ({ database, workspace }) => {
    await evaluateAlerts({ database, shopKey: workspace.shop_key, now: new Date() });
  },
});

export const SOURCE_ACTIONS = [requestSync, cancelBackfill, disconnectSource, rebuild] as const;

async function requireConnection(
  database: Queryable,
  workspace: DirectoryRow,
  name: string,
): Promise<ConnectionRow> {
  const connection = await findConnection(database, workspace.shop_key, name);
  if (connection !== null && connection.sealed_credentials !== null) return connection;
  throw impossible(await notConnected(database, workspace, name));
}

async function notConnected(database: Queryable, workspace: DirectoryRow, name: string): Promise<string> {
  const connected = (await listConnections(database))
    .filter((row) => row.shop_key === workspace.shop_key && row.sealed_credentials !== null)
    .map((connection) => connection.source);
  const others = connected.length === 0 ? "no source" : connected.join(", ");
  return `The workspace ${workspace.shop_domain} is not connected to ${quoted(name)}; it is connected to ${others}.`;
}
