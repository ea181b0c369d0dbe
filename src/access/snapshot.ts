import { WorkspaceGone } from "../store/queries/import-stage.ts";
import type { DatabasePool } from "../store/database.ts";
import { loadWorkspace } from "../store/queries/workspace-load.ts";
import type { Snapshot, Workspace } from "../store/workspace.ts";
import { notReady } from "./refusals.ts";

/** Runs `work` on one snapshot of an admitted workspace. */
export type OpenSnapshot = <Result>(
  admitted: Workspace,
  work: (snapshot: Snapshot) => Promise<Result>,
) => Promise<Result>;

/**
 * Reads a request's settings and facts from one snapshot of the database, so that no answer pairs the facts of one data
 * version with the settings of another. The snapshot is never older than the admission. Throws `WorkspaceGone`, or an
 * `ApiError` when the workspace is not ready in it.
 */
export function createSnapshots(database: Pick<DatabasePool, "snapshot">): OpenSnapshot {
  return (admitted, work) =>
    database.snapshot(admitted.shopKey, async (connection) => {
      const found = await loadWorkspace(connection, admitted);
      if (found === null) throw new WorkspaceGone();
      if (found.readiness !== "ready") throw notReady(found.readiness, null);
      return work({ database: connection, workspace: found.workspace });
    });
}
