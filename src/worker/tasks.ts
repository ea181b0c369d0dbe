import { listWorkspacePages } from "../store/directory.ts";
import { finishTask, queueWorkspaces, takeDueTask } from "../store/queries/run-queue.ts";
import { deleteOldOfInstallation } from "./retention.ts";
import type { UpkeepEnvironment } from "./upkeep.ts";

/**
 * Does the upkeep of the installation when it is due and no other worker does it. One that fails is done again when it is
 * next due; one whose process is killed is due at once, since its row stays locked meanwhile.
 */
export async function runDueTask(environment: UpkeepEnvironment, stop: AbortSignal): Promise<void> {
  await environment.database.transaction(async (connection) => {
    const due = await takeDueTask(connection);
    if (due === null) return;
    try {
      await keepInstallation(environment);
    } catch (error) {
      if (stop.aborted) throw error;
      environment.log.error(
        { task: due.task, err: error },
        "a scheduled task failed; the next one does its work too",
      );
    }
    await finishTask(connection, due);
  });
}

/** Deletes what is old of the installation and of people, and puts workspaces that the queue has lost back into it. */
export async function keepInstallation({ database, now, retention }: UpkeepEnvironment): Promise<void> {
  const [deleted] = await Promise.allSettled([deleteOldOfInstallation(database, retention, now())]);
  for await (const page of listWorkspacePages(database)) await queueWorkspaces(database, page, now());
  if (deleted.status === "rejected") throw deleted.reason;
}
