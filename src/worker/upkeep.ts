import { randomUUID } from "node:crypto";
import { endOrTellBilling } from "../alerts/billing-end.ts";
import { evaluateAlertsUnlessHeld } from "../alerts/evaluate-alerts.ts";
import { writeTokenNotices } from "../alerts/token-notice.ts";
import type { Retention } from "../lib/retention.ts";
import type { Database, Connection } from "../store/database.ts";
import { listWorkspacePages } from "../store/directory.ts";
import { listEndpoints } from "../store/queries/alert-delivery.ts";
import { insertInstallationEvent } from "../store/queries/audit.ts";
import { listWorkspaceConnections, registerConnection } from "../store/queries/data-source.ts";
import { findStop, lockWorkspace, WorkspaceGone } from "../store/queries/import-stage.ts";
import { deleteOldUploads, expireUploads, findDueUpload } from "../store/queries/import-upload.ts";
import {
  deleteEndedGrants,
  deleteEndedSessions,
  deleteExpiredChallenges,
  deleteExpiredLinks,
  deleteOldDeliveries,
  deleteOldEvents,
  deleteOldInstallationEvents,
  deleteOldQuietRuns,
  deleteOldRuns,
  deleteOldUsage,
  deleteOldUsageDetails,
  deleteRemovedEndpoints,
  forgetRemovedMembers,
  listLastingEvents,
  recordAuditDeletion,
  recordInstallationAuditDeletion,
  ROWS_PER_DELETION,
} from "../store/queries/old-rows.ts";
import type { AuditDeletion, DeletedAuditRow } from "../store/queries/old-rows.ts";
import {
  queuePush,
  queueUploads,
  finishTask,
  queueWorkspaces,
  takeDueTask,
} from "../store/queries/run-queue.ts";
import type { SyncKind } from "../store/queries/sync-request.ts";
import { eraseWorkspace, findErasure, lockDueErasure } from "../store/queries/workspace-erase.ts";
import { lockMembers } from "../store/queries/workspace-member.ts";
import { removeEndedParts } from "../sync/connectors/csv/import-upload.ts";
import { loadRules } from "../sync/order-rules.ts";
import type { RunLog } from "../sync/runs.ts";

/** The worker's resources for checking a workspace; `retention`: what it keeps, and how long. */
export type UpkeepEnvironment = { database: Database; now: () => Date; log: RunLog; retention: Retention };

const DAY_MS = 24 * 3_600_000;
/** So that people can read the results. */
const KEEP_UPLOADS_MS = 30 * DAY_MS;

/** Evaluates a workspace's alerts, and does its upkeep even if they fail. false: the workspace no longer exists. */
export async function checkWorkspace(environment: UpkeepEnvironment, shopKey: number): Promise<boolean> {
  const { database, now } = environment;
  const [alerts] = await Promise.allSettled([evaluateUnlessStopped(database, shopKey, now())]);
  if (alerts.status === "rejected" && alerts.reason instanceof WorkspaceGone) return false;
  await keepInOrder(environment, shopKey);
  if (alerts.status === "rejected") throw alerts.reason;
  return true;
}

async function evaluateUnlessStopped(database: Database, shopKey: number, now: Date): Promise<void> {
  if ((await findStop(database, shopKey)) === null)
    await evaluateAlertsUnlessHeld({ database, shopKey, now });
}

/** Deletes one workspace's expired rows, notifies its members, and erases it when due. */
export async function keepInOrder(environment: UpkeepEnvironment, shopKey: number): Promise<void> {
  const { database, now, log, retention } = environment;
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
 * Erases a due workspace in one transaction: if it is interrupted, nothing is erased, and the next upkeep tries again. The
 * installation keeps a record. false: canceled meanwhile, or already gone.
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

/** Deletes expired rows of the installation and of people, and queues workspaces missing from the queue. */
export async function keepInstallation({ database, now, retention }: UpkeepEnvironment): Promise<void> {
  const [deleted] = await Promise.allSettled([deleteOldOfInstallation(database, retention, now())]);
  for await (const page of listWorkspacePages(database)) await queueWorkspaces(database, page, now());
  if (deleted.status === "rejected") throw deleted.reason;
}

/** Batches per table, workspace and upkeep, so that a workspace with millions of rows does not delay others: the next upkeep continues. */
const MOST_DELETIONS = 100;
/** How long its row stays, so that people can see why an app has no access. */
const KEEP_ENDED_GRANTS_DAYS = 30;
const SCHEDULED_RUNS: readonly SyncKind[] = ["backfill", "incremental", "open_returns"];

/** Deletes a workspace's expired rows in batches; after a crash the next upkeep deletes the rest. */
export async function deleteOldOfWorkspace(
  database: Database,
  shopKey: number,
  retention: Retention,
  now: Date,
): Promise<void> {
  const { keepRunsDays, keepDeliveriesDays, keepUsageDays, keepAuditDays } = retention;
  const runsBefore = daysBefore(now, keepRunsDays);
  for (const kind of SCHEDULED_RUNS) {
    await repeat(() => deleteOldRuns(database, shopKey, runsBefore, kind));
  }
  await repeat(() => deleteOldQuietRuns(database, shopKey, runsBefore));
  const deliveriesBefore = daysBefore(now, keepDeliveriesDays);
  await repeat(() => deleteOldRuns(database, shopKey, deliveriesBefore, "refresh"));
  await repeat(() => deleteOldDeliveries(database, shopKey, deliveriesBefore));
  if (keepUsageDays !== Number.POSITIVE_INFINITY) {
    const usageBefore = daysBefore(now, keepUsageDays).toISOString().slice(0, 10);
    await repeat(() => deleteOldUsageDetails(database, shopKey, usageBefore));
    await repeat(() => deleteOldUsage(database, shopKey, usageBefore));
  }
  await deleteRemovedEndpoints(database, shopKey, undoneBefore(now));
  await deleteEndedGrants(database, shopKey, daysBefore(now, KEEP_ENDED_GRANTS_DAYS));
  await deleteOldAudit(database, shopKey, keepAuditDays, now);
}

/** The same for the installation and for people: their actions, and expired links, challenges and sessions. */
async function deleteOldOfInstallation(
  database: Database,
  { keepAuditDays }: Retention,
  now: Date,
): Promise<void> {
  for (const deletePortion of [deleteExpiredLinks, deleteExpiredChallenges, deleteEndedSessions]) {
    await repeat(() => deletePortion(database, now));
  }
  await forgetRemovedMembers(database, undoneBefore(now));
  const before = auditLimit(now, keepAuditDays);
  if (before === null) return;
  await deleteAudited(
    database,
    { before, now },
    {
      deletePortion: (connection) => deleteOldInstallationEvents(connection, before),
      record: recordInstallationAuditDeletion,
    },
  );
}

async function deleteOldAudit(
  database: Database,
  shopKey: number,
  keepDays: number,
  now: Date,
): Promise<void> {
  const before = auditLimit(now, keepDays);
  if (before === null) return;
  const lasting = await listLastingEvents(database, shopKey, before);
  await deleteAudited(
    database,
    { before, now },
    {
      deletePortion: (connection) => deleteOldEvents(connection, shopKey, before, lasting),
      record: (connection, deletion) => recordAuditDeletion(connection, shopKey, deletion),
    },
  );
}

type AuditTable = {
  deletePortion(connection: Connection): Promise<DeletedAuditRow>;
  record(connection: Connection, deletion: AuditDeletion): Promise<void>;
};

/**
 * Deletes in the audit, portion by portion, and records that as one event, whose count each portion's own transaction
 * raises: a crash leaves none unrecorded. Deleting such records is not recorded itself, since each record would lead to another.
 */
async function deleteAudited(
  database: Database,
  { before, now }: { before: Date; now: Date },
  table: AuditTable,
): Promise<void> {
  const auditId = randomUUID();
  let total = 0;
  await repeat(() =>
    database.transaction(async (connection) => {
      const { deleted, events } = await table.deletePortion(connection);
      total += events;
      if (events > 0) await table.record(connection, { auditId, at: now, before, events: total });
      return deleted;
    }),
  );
}

/** Deletes portions until one is not full. */
async function repeat(deletePortion: () => Promise<number>): Promise<void> {
  for (let count = 0; count < MOST_DELETIONS; count++) {
    if ((await deletePortion()) < ROWS_PER_DELETION) return;
  }
}

/** The audit is deleted by whole days, so that each has at most one record of a deletion. null: it is kept forever. */
function auditLimit(now: Date, keepDays: number): Date | null {
  if (keepDays === Number.POSITIVE_INFINITY) return null;
  return new Date(Math.floor(daysBefore(now, keepDays).getTime() / DAY_MS) * DAY_MS);
}

/** A removal can be undone for a day; after another hour no undo can be in progress. */
function undoneBefore(now: Date): Date {
  return new Date(now.getTime() - 25 * 3_600_000);
}

function daysBefore(now: Date, days: number): Date {
  return new Date(now.getTime() - days * DAY_MS);
}
