import type { Queryable } from "../store/database.ts";
import { listNextLooks } from "../store/queries/run-queue.ts";
import { listShopSources } from "../store/queries/shop-source.ts";
import type { ShopSourceRow } from "../store/queries/shop-source.ts";
import { listSourceRuns } from "../store/queries/sync-run.ts";
import type { RunRow } from "../store/queries/sync-run.ts";
import { hasWorker } from "../store/queries/worker-upkeep.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import type { Source } from "../sync/connector.ts";
import type { Actor } from "./actor.ts";
import { listSources } from "./connect.ts";
import { invalid } from "./refusal.ts";
import { requireRight } from "./rights.ts";

/**
 * new: never connected. waiting: its first run has not begun. reading: a run is active. current: the last run succeeded.
 * failed: the last run failed, and another one follows. refused: it no longer takes the credentials, so nothing runs.
 * disconnected: there are no credentials any more. imported: files are imported by hand.
 */
export type SourceState =
  | "new"
  | "waiting"
  | "reading"
  | "current"
  | "failed"
  | "refused"
  | "disconnected"
  | "imported";

/** A source as the members of a workspace see it: without secrets. */
export type ShownSource = Pick<ShopSourceRow, "waiting" | "last_run" | "last_synced_at" | "last_error"> & {
  source: string;
  title: string;
  kind: Source["kind"];
  state: SourceState;
  /** The shop's name, where the source has shops. */
  account: string | null;
  currency_code: string | null;
  settings: Readonly<Record<string, unknown>>;
  /** When the next run is due; null = none is. What is due already waits for a worker. */
  next_run_at: Date | null;
};

export type ShownSources = { sources: ShownSource[]; has_worker: boolean };

/** A source that workspaces are connected to. */
export type ConnectableSource = Source;

const IMPORTED_TITLES: Readonly<Record<string, string>> = {
  csv: "Files of orders",
  csv_labels: "Files of return labels",
};

/** Every source that a workspace is or can be connected to, in the order of the registry, then what is imported. */
export async function showSources(
  database: Queryable,
  actor: Actor,
  { shop_key: shopKey }: WorkspaceRow,
): Promise<ShownSources> {
  requireRight(actor, "sources.read");
  const rows = await listShopSources(database, shopKey);
  const looks = await listNextLooks(database, shopKey);
  const known = listSources();
  const connectable = known.map((source) => {
    const row = rows.find((each) => each.source === source.source && each.is_connection);
    const lookAt = looks.find((look) => look.source === source.source)?.next_at ?? null;
    return row === undefined ? newSource(source) : shownSource(row, source.title, lookAt);
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
};

const RUNS_PER_PAGE = 25;
const RUN_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;

/** Throws a `Refusal` for a `before` that is no id of a run. */
export async function showSourceRuns(
  database: Queryable,
  actor: Actor,
  { shop_key: shopKey }: WorkspaceRow,
  { source, before }: { source: string; before: string | null },
): Promise<RunPage> {
  requireRight(actor, "sources.read");
  if (before !== null && !RUN_ID.test(before)) throw invalid("before must be the id of a run.");
  const found = await listSourceRuns(database, { shopKey, source, before, limit: RUNS_PER_PAGE + 1 });
  const runs = found.slice(0, RUNS_PER_PAGE);
  return { runs, next: found.length > RUNS_PER_PAGE ? (runs.at(-1)?.run_id ?? null) : null };
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

function shownSource(row: ShopSourceRow, title: string, lookAt: Date | null): ShownSource {
  const { source, kind, settings, waiting, last_run, last_synced_at, last_error, currency_code } = row;
  const state = stateOf(row);
  const { shop } = settings;
  return {
    source,
    title,
    kind,
    state,
    account: typeof shop === "string" ? shop : null,
    currency_code,
    settings,
    waiting,
    last_run,
    last_synced_at,
    last_error,
    next_run_at: nextRunAt(row, state, lookAt),
  };
}

function stateOf({ is_connection, has_credentials, status, last_run, last_synced_at }: ShopSourceRow) {
  if (!is_connection) return "imported";
  if (!has_credentials) return "disconnected";
  if (status === "disconnected") return "refused";
  if (status === "failed") return "failed";
  if (last_run?.status === "running") return "reading";
  return last_synced_at === null ? "waiting" : "current";
}

/** The earlier of what was asked for and of when a worker looks by the clock. */
function nextRunAt({ waiting }: ShopSourceRow, state: SourceState, lookAt: Date | null): Date | null {
  if (state === "imported" || state === "disconnected" || state === "refused") return null;
  const times = waiting.map(({ run_after: runAfter }) => Date.parse(runAfter));
  if (lookAt !== null) times.push(lookAt.getTime());
  return times.length === 0 ? null : new Date(Math.min(...times));
}
