import type { DatabasePool } from "../store/database.ts";
import { loadWorkspace } from "../store/queries/workspace-load.ts";
import type { Snapshot, Workspace } from "../store/workspace.ts";
import { notReady, unknownToken } from "./admit.ts";

/** Runs `work` on one snapshot of an admitted workspace. */
export type OpenSnapshot = <Result>(
  admitted: Workspace,
  work: (snapshot: Snapshot) => Promise<Result>,
) => Promise<Result>;

/**
 * Reads a request's settings and facts from one snapshot of the database, so that no answer pairs the facts of one data
 * version with the settings of another. The snapshot is never older than the admission. Throws an `ApiError` when the
 * workspace has gone or is not ready in it.
 */
export function createSnapshots(database: Pick<DatabasePool, "snapshot">): OpenSnapshot {
  return (admitted, work) =>
    database.snapshot(async (connection) => {
      const found = await loadWorkspace(connection, admitted);
      if (found === null) throw unknownToken();
      if (found.readiness !== "ready") throw notReady(found.readiness, null);
      return work({ database: connection, workspace: found.workspace });
    });
}
