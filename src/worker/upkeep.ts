import { endOrTellBilling } from "../alerts/billing-end.ts";
import { evaluateAlerts } from "../alerts/evaluate-alerts.ts";
import { writeTokenNotices } from "../alerts/token-notice.ts";
import type { Database } from "../store/database.ts";
import { listEndpoints } from "../store/queries/alert-delivery.ts";
import { insertInstallationEvent } from "../store/queries/audit.ts";
import { listWorkspaceConnections, registerConnection } from "../store/queries/data-source.ts";
import { findStop, lockWorkspace, WorkspaceGone } from "../store/queries/import-stage.ts";
import { deleteOldUploads, expireUploads, findDueUpload } from "../store/queries/import-upload.ts";
import { queuePush, queueUploads } from "../store/queries/run-queue.ts";
import { eraseWorkspace, findErasure, lockDueErasure } from "../store/queries/workspace-erase.ts";
import { lockMembers } from "../store/queries/workspace-member.ts";
import type { Retention } from "../lib/retention.ts";
import { removeEndedParts } from "../sync/connectors/csv/import-upload.ts";
import { loadRules } from "../sync/order-rules.ts";
import type { RunLog } from "../sync/runs.ts";
import { deleteOldOfWorkspace } from "./retention.ts";

/** What checking a workspace needs of its worker; `retention`: what it keeps, and how long. */
export type UpkeepEnvironment = { database: Database; now: () => Date; log: RunLog; retention: Retention };

const DAY_MS = 24 * 3_600_000;
/** Their results stay to be read. */
const KEEP_UPLOADS_MS = 30 * DAY_MS;

/** Evaluates a workspace's alerts, and keeps it in order even where they fail. false = there is no such workspace any more. */
export async function checkWorkspace(environment: UpkeepEnvironment, shopKey: number): Promise<boolean> {
  const { database, now } = environment;
  const [alerts] = await Promise.allSettled([evaluateUnlessStopped(database, shopKey, now())]);
  if (alerts.status === "rejected" && alerts.reason instanceof WorkspaceGone) return false;
  await keepInOrder(environment, shopKey);
  if (alerts.status === "rejected") throw alerts.reason;
  return true;
}

async function evaluateUnlessStopped(database: Database, shopKey: number, now: Date): Promise<void> {
  if ((await findStop(database, shopKey)) === null) await evaluateAlerts({ database, shopKey, now });
}

/** Deletes what is old of one workspace, tells its members what they should know, and erases it when its time has come. */
export async function keepInOrder(
  { database, now, log, retention }: UpkeepEnvironment,
  shopKey: number,
): Promise<void> {
  const eraseAfter = await findErasure(database, shopKey);
  if (eraseAfter !== null && eraseAfter <= now()) {
    if (await eraseDue(database, shopKey, now())) log.info({ shopKey }, "the workspace is erased");
    return;
  }
  await reconcile(database, shopKey);
  await deleteOldOfWorkspace(database, shopKey, retention, now());
  await endUploads(database, shopKey, now());
  await writeTokenNotices(database, shopKey, now());
  await endOrTellBilling(database, shopKey, now());
}

/** Adds what directory and queue lack of a workspace after a crash between its own rows and theirs. */
async function reconcile(database: Database, shopKey: number): Promise<void> {
  for (const connection of await listWorkspaceConnections(database, shopKey)) {
    await registerConnection(database, shopKey, connection);
  }
  const { isApplied } = await loadRules(database, shopKey);
  if (!isApplied || (await findDueUpload(database, shopKey)) !== null) await queueUploads(database, shopKey);
  for (const { endpoint_id: endpointId, due_at: dueAt } of await listEndpoints(database, shopKey)) {
    await queuePush(database, shopKey, endpointId, dueAt);
  }
}

async function endUploads(database: Database, shopKey: number, now: Date): Promise<void> {
  await expireUploads(database, shopKey, now);
  await removeEndedParts(database, shopKey, now);
  await deleteOldUploads(database, shopKey, new Date(now.getTime() - KEEP_UPLOADS_MS));
}

/**
 * Erases a workspace whose time has come, in one transaction: one that is cut off leaves all of it, and the next upkeep
 * erases it. What stays is the installation's record of it. false = it was taken back meanwhile, or is gone.
 */
export async function eraseDue(database: Database, shopKey: number, now: Date): Promise<boolean> {
  try {
    return await database.transaction(async (connection) => {
      await lockWorkspace(connection, shopKey);
      await lockMembers(connection, shopKey);
      const due = await lockDueErasure(connection, shopKey, now);
      if (due === null) return false;
      await eraseWorkspace(connection, shopKey);
      await insertInstallationEvent(connection, {
        actor: "upkeep",
        action: "workspace.delete",
        detail: { shop_domain: due.shop_domain },
        before: { erase_after: due.erase_after.toISOString() },
      });
      return true;
    });
  } catch (error) {
    if (error instanceof WorkspaceGone) return false;
    throw error;
  }
}
