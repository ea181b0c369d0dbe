import { setTimeout as sleep } from "node:timers/promises";
import { evaluateAlerts } from "../../alerts/evaluate-alerts.ts";
import { countsText, durationText, stageText } from "../../lib/run-text.ts";
import type { Database, Queryable } from "../../store/database.ts";
import { findConnection, setCredentials, setSourceStatus } from "../../store/queries/data-source.ts";
import {
  listConnections,
  listWorkspaceSources,
  listWorkspaceConnections,
  findRunSince,
  listQuietRuns,
  listRuns,
  listSourceRuns,
} from "./queries.ts";
import type { ConnectionRow } from "../../store/queries/data-source.ts";
import type { WorkspaceSourceRow, QuietDayRow, RunRow } from "./queries.ts";
import { listNextPolls } from "../../store/queries/run-queue.ts";
import { dropRequests, findRequest, requestRun, type SyncKind } from "../../store/queries/sync-request.ts";
import { hasWorker } from "../../store/queries/worker-health.ts";
import type { DirectoryRow } from "../../store/queries/workspace-directory.ts";
import type { Source } from "../../sync/connector.ts";
import { SOURCES } from "../../sync/connectors/sources.ts";
import { rebuildWorkspace } from "../../sync/rebuild.ts";
import { defineAction, defineList, type ActionCaller, type WorkspaceCaller } from "../action.ts";
import { anyText, flag, oneOf, optional, typedName } from "../field.ts";
import { quoted, readInteger, UUID } from "../input.ts";
import { impossible, invalid } from "../refusal.ts";
import { readSources, requireRight } from "../right.ts";
import { requireWorkspace } from "../workspace/workspace.ts";

export type RequestedSync = {
  shop_domain: string;
  source: string;
  kind: SyncKind;
  requested_at: Date;
  /** Whether somebody is there to take it up. */
  has_worker: boolean;
};

const sourceName = anyText("The source", {
  kind: "hidden",
  hint: SOURCES.map((each) => each.source).join(", "),
});

/** Requests a run now: a full one with `backfill` or before the first read, else an incremental one. */
export const requestSync = defineAction({
  name: "sync.request",
  title: "Sync now",
  about: "Request a run of a connected source now; a worker executes it.",
  past: "Started a sync",
  least: "admin",
  input: {
    source: sourceName,
    backfill: flag("Everything", { hint: "read everything, not only what has changed" }),
  },
  run: async ({ connection, workspace, shopKey, domain }, { source: name, backfill }) => {
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
 * Cancels a requested backfill, such as one that keeps failing; the next run continues from an earlier one. An active run
 * continues to its end. Refused before the first successful read.
 */
export const cancelBackfill = defineAction({
  name: "sync.cancel",
  title: "Cancel backfill",
  past: "Canceled a backfill",
  least: "admin",
  input: { source: sourceName },
  run: async ({ connection, workspace, shopKey, domain }, { source: name }) => {
    const found = await requireConnection(connection, workspace, name);
    if (found.last_synced_at === null) {
      throw impossible(`Nothing has been read from ${name} yet, so its first sync has to be a backfill.`);
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

/** Deletes a source's credentials; its data stays and is served with its date. Idempotent. */
export const disconnectSource = defineAction({
  name: "source.disconnect",
  title: "Disconnect source",
  about: "Delete the credentials of a source; its data stays.",
  past: "Disconnected a source",
  least: "admin",
  proof: true,
  input: { source: sourceName, typed: typedName },
  confirm: ({ source: name }) =>
    `The credentials of ${name} are deleted and nothing new is read. Disconnect it?`,
  run: async ({ connection, shopKey, domain }, { source: name, typed: confirmed }) => {
    if (confirmed !== null && confirmed !== name) throw invalid(`Type ${name} to disconnect it.`, "typed");
    const found = await findConnection(connection, shopKey, name);
    if (found === null) {
      throw impossible(
        `The workspace ${domain} is not connected to ${quoted(name)}; ./returns connections shows its sources.`,
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
      syncedAt === null ? "it had delivered no data." : `data read until ${syncedAt.toISOString()} stays.`;
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

/** Recomputes facts and rollups from the order documents; served data changes in one step. */
export const rebuild = defineAction({
  name: "rebuild",
  title: "Rebuild figures",
  about: "Recompute all figures from the stored source data.",
  past: "Recomputed the figures",
  least: "operator",
  input: {},
  run: async ({ connection, shopKey, domain }) => {
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
  const connected = (await listWorkspaceConnections(database, workspace.shop_key))
    .filter((row) => row.sealed_credentials !== null)
    .map((connection) => connection.source);
  const others = connected.length === 0 ? "no source" : connected.join(", ");
  return `The workspace ${workspace.shop_domain} is not connected to ${quoted(name)}; it is connected to ${others}.`;
}

const RUNS_PER_PAGE = 25;
const QUIET_DAYS = 7;
const POLLING_MS = 300;

/**
 * new: never connected. waiting: its first run has not begun. reading: a run is active. current: the last run succeeded.
 * failed: the last run failed, and another one follows. refused: it no longer takes the credentials, so nothing runs.
 * disconnected: its credentials are deleted. imported: files are imported by hand.
 */
type SourceProgress =
  | "new"
  | "waiting"
  | "reading"
  | "current"
  | "failed"
  | "refused"
  | "disconnected"
  | "imported";

/** A source as the members of a workspace see it: without secrets. */
export type ShownSource = Pick<
  WorkspaceSourceRow,
  "waiting" | "last_run" | "last_synced_at" | "last_error"
> & {
  source: string;
  title: string;
  kind: Source["kind"];
  state: SourceProgress;
  /** The shop's name, where the source has shops. */
  account: string | null;
  currency_code: string | null;
  settings: Readonly<Record<string, unknown>>;
  /** When the next run is due; null: none. A due run waits for a worker. */
  next_run_at: Date | null;
};

export type ShownSources = { sources: ShownSource[]; has_worker: boolean };

const IMPORTED_TITLES: Readonly<Record<string, string>> = {
  csv: "Files of orders",
  csv_labels: "Files of return labels",
};

/** Every source that a workspace is or can be connected to, in registry order, then the imported ones. */
export async function showSources({ database, actor, workspace }: WorkspaceCaller): Promise<ShownSources> {
  requireRight(actor, readSources);
  const { shop_key: shopKey } = workspace;
  const rows = await listWorkspaceSources(database, shopKey);
  const polls = await listNextPolls(database, shopKey);
  const connectable = SOURCES.map((source) => {
    const row = rows.find((each) => each.source === source.source && each.is_connection);
    const nextPollAt = polls.find((poll) => poll.source === source.source)?.next_at ?? null;
    return row === undefined ? newSource(source) : shownSource(row, source.title, nextPollAt);
  });
  const imported = rows
    .filter((row) => !row.is_connection)
    .map((row) => shownSource(row, IMPORTED_TITLES[row.source] ?? row.source, null));
  return { sources: [...connectable, ...imported], has_worker: await hasWorker(database) };
}

/** One page of the history of a source, newest first. */
export type RunPage = {
  runs: RunRow[];
  /** The id that the next page follows on; null = this is the last one. */
  next: string | null;
  /** Runs of the newest days that changed nothing; only the newest of them is one of the runs. */
  quiet: QuietDayRow[];
};

/** Throws a `Refusal` for a `before` that is no id of a run. */
export async function showSourceRuns(
  { database, actor, workspace }: WorkspaceCaller,
  { source, before }: { source: string; before: string | null },
): Promise<RunPage> {
  requireRight(actor, readSources);
  if (before !== null && !UUID.test(before)) throw invalid("before must be the id of a run.");
  const shopKey = workspace.shop_key;
  const found = await listSourceRuns(database, { shopKey, source, before, limit: RUNS_PER_PAGE + 1 });
  const runs = found.slice(0, RUNS_PER_PAGE);
  const quiet = await listQuietRuns(database, { shopKey, source, limit: QUIET_DAYS });
  return { runs, next: found.length > RUNS_PER_PAGE ? (runs.at(-1)?.run_id ?? null) : null, quiet };
}

function newSource({ source, title, kind }: Source): ShownSource {
  return {
    source,
    title,
    kind,
    state: "new",
    account: null,
    currency_code: null,
    settings: {},
    waiting: [],
    last_run: null,
    last_synced_at: null,
    last_error: null,
    next_run_at: null,
  };
}

function shownSource(row: WorkspaceSourceRow, title: string, nextPollAt: Date | null): ShownSource {
  const { is_connection: _isConnection, has_credentials: _hasCredentials, status: _status, ...known } = row;
  const state = stateOf(row);
  const next_run_at = nextRunAt(row, state, nextPollAt);
  return { ...known, title, state, account: textOf(row, "shop"), next_run_at };
}

function stateOf({ is_connection, has_credentials, status, last_run, last_synced_at }: WorkspaceSourceRow) {
  if (!is_connection) return "imported";
  if (!has_credentials) return "disconnected";
  if (status === "disconnected") return "refused";
  if (status === "failed") return "failed";
  if (last_run?.status === "running") return "reading";
  return last_synced_at === null ? "waiting" : "current";
}

/** The earlier of the next request and the next scheduled poll. */
function nextRunAt(
  { waiting }: WorkspaceSourceRow,
  state: SourceProgress,
  nextPollAt: Date | null,
): Date | null {
  if (state === "imported" || state === "disconnected" || state === "refused") return null;
  const times = waiting.map(({ run_after: runAfter }) => Date.parse(runAfter));
  if (nextPollAt !== null) times.push(nextPollAt.getTime());
  return times.length === 0 ? null : new Date(Math.min(...times));
}

/** A connection as it is shown: without secrets. */
type ShownConnection = {
  workspace: string;
  source: string;
  kind: string;
  /** "waiting" = no run has begun. */
  status: string;
  account: string | null;
  url: string | null;
  /** A store has its workspace's currency; a label source that of its labels, null before its first sync (M10). */
  currency_code: string | null;
  last_synced_at: Date | null;
  last_error: string | null;
};

/** Of a page of a command. */
const MOST_ROWS = 1000;
const ofWorkspace = optional(anyText("Workspace", { placeholder: "domain", hint: "only of this workspace" }));
const CONNECTION_FILTERS = { workspace: ofWorkspace };

/** The connections, by domain. */
export const connectionList = defineList<ShownConnection, ActionCaller, typeof CONNECTION_FILTERS>({
  ...readSources,
  hasNoWorkspace: true,
  about: "Show which sources are connected, in which currency, and how their last sync went.",
  columns: {
    workspace: "workspace",
    source: "source",
    account: ({ account, url }) => account ?? url,
    currency: "currency_code",
    status: "status",
    "last sync": "last_synced_at",
    "last error": "last_error",
  },
  input: CONNECTION_FILTERS,
  pages: {
    cursor: ({ workspace, source }) => `${workspace}/${source}`,
    after: ["domain/source", "the page after a connection"],
    defaultLimit: 100,
    most: MOST_ROWS,
  },
  rows: async ({ database }, { workspace }, { after, limit }) => {
    const [afterDomain, afterSource, ...rest] = (after ?? "/").split("/");
    if (afterDomain === undefined || afterSource === undefined || rest.length > 0)
      throw invalid("--after must be a domain and a source, such as shop.example/shopify.");
    const shopKey = await keyOf(database, workspace);
    const rows = await listConnections(database, { shopKey, after: [afterDomain, afterSource], limit });
    return rows.map((row) => ({
      workspace: row.shop_domain,
      source: row.source,
      kind: row.kind,
      status: row.sealed_credentials === null ? "disconnected" : (row.status ?? "waiting"),
      account: textOf(row, "shop"),
      url: textOf(row, "url"),
      currency_code: row.kind === "store" ? row.shop_currency_code : row.currency_code,
      last_synced_at: row.last_synced_at,
      last_error: row.last_error,
    }));
  },
});

/** null = any workspace. */
async function keyOf(database: Queryable, domain: string | null): Promise<number | null> {
  return domain === null ? null : (await requireWorkspace(database, domain)).shop_key;
}

function textOf({ settings }: Pick<ConnectionRow, "settings">, name: string): string | null {
  const value = settings[name];
  return typeof value === "string" ? value : null;
}

const RUN_CURSOR =
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z~[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;
const RUN_FILTERS = {
  workspace: ofWorkspace,
  source: optional(anyText("Source", { placeholder: "name", hint: "only of this source" })),
  status: optional(
    oneOf(
      "Status",
      (["running", "succeeded", "failed", "interrupted"] as const).map((each) => [each, each] as const),
      { hint: "only those that are running, succeeded, failed or interrupted" },
    ),
  ),
};

/** The run history, newest first. */
export const runList = defineList<RunRow, ActionCaller, typeof RUN_FILTERS>({
  ...readSources,
  hasNoWorkspace: true,
  about: "Show the runs of connected sources, newest first.",
  columns: {
    started: "started_at",
    workspace: "shop_domain",
    source: "source",
    kind: "kind",
    by: "requested_by",
    state: ({ attempt, status }) => (attempt === 1 ? status : `${status}, try ${attempt}`),
    took: ({ duration_seconds: seconds }) => durationText(seconds),
    read: (run) => (Object.keys(run.counts).length > 0 ? countsText(run.counts) : stageText(run)),
    remarks: ({ error, notes }) => [...(error === null ? [] : [error]), ...notes].join(" ") || null,
  },
  input: RUN_FILTERS,
  pages: {
    cursor: ({ cursor }) => cursor,
    after: ["cursor", "the page after a run, by the run's cursor"],
    defaultLimit: 20,
    most: MOST_ROWS,
  },
  rows: async ({ database }, { workspace, source, status }, { after, limit }) => {
    if (after !== null && !RUN_CURSOR.test(after)) throw invalid("--after must be the cursor of a run.");
    return listRuns(database, { shopKey: await keyOf(database, workspace), source, status, after, limit });
  },
});

/** Unchanged runs of a workspace by day. Throws a `Refusal` for invalid input. */
export async function showQuietRuns(
  database: Queryable,
  asked: { workspace?: string; source?: string; limit: string },
): Promise<QuietDayRow[]> {
  if (asked.workspace === undefined) throw invalid("--unchanged needs --workspace.");
  const { shop_key: shopKey } = await requireWorkspace(database, asked.workspace);
  const limit = readInteger("--limit", asked.limit, 1, MOST_ROWS);
  return listQuietRuns(database, { shopKey, source: asked.source ?? null, limit });
}

/** Whether one of the runs is marked running although its worker was killed. */
export async function isAbandoned(database: Database, runs: readonly RunRow[]): Promise<boolean> {
  return runs.some(({ status }) => status === "running") && !(await hasWorker(database));
}

/**
 * The active or waiting backfill, to be followed instead of requesting another run: requests made meanwhile run after it. null:
 * none, or it keeps failing.
 */
export async function findBackfillUnderWay(
  database: Database,
  workspace: DirectoryRow,
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
type Retry = { try: number; run_after: Date; error: string | null };

/**
 * Follows the requested run until it has succeeded or failed; an interrupted run is followed by the one that resumes it.
 * `onRetry` is called once for each failed attempt that will be retried. `check` throws to stop waiting.
 */
export async function waitForRun(
  database: Database,
  workspace: DirectoryRow,
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
