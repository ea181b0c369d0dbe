import type { Database } from "../store/database.ts";
import { listRuns } from "../store/queries/sync-run.ts";
import type { RunRow } from "../store/queries/sync-run.ts";
import { hasWorker } from "../store/queries/worker-upkeep.ts";
import { readInteger } from "./input.ts";
import { requireWorkspace } from "./workspace.ts";

export type RunFilter = { workspace?: string | undefined; source?: string | undefined; limit: string };

const MOST_RUNS = 1000;

/** The history of runs, newest first. Throws a `Refusal` for an unknown workspace or a limit beyond 1 to 1,000. */
export async function showRuns(database: Database, filter: RunFilter): Promise<RunRow[]> {
  const limit = readInteger("--limit", filter.limit, 1, MOST_RUNS);
  const workspace =
    filter.workspace === undefined ? null : await requireWorkspace(database, filter.workspace);
  return listRuns(database, { shopKey: workspace?.shop_key ?? null, source: filter.source ?? null, limit });
}

/** Whether one of the runs is marked running although its worker was killed. */
export async function isAbandoned(database: Database, runs: readonly RunRow[]): Promise<boolean> {
  return runs.some(({ status }) => status === "running") && !(await hasWorker(database));
}
