import { randomUUID } from "node:crypto";
import type { Connection, Database } from "../store/database.ts";
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
import type { SyncKind } from "../store/queries/sync-request.ts";
import type { Retention } from "../lib/retention.ts";

const DAY_MS = 24 * 3_600_000;
/** Of one table and workspace in one upkeep, so that a workspace with millions of rows holds up no other: the next one goes on. */
const MOST_DELETIONS = 100;
/** For so long somebody may still wonder why an app has no access. */
const KEEP_ENDED_GRANTS_DAYS = 30;
const SCHEDULED_RUNS: readonly SyncKind[] = ["backfill", "incremental", "open_returns"];

/** Deletes what has become too old of a workspace, in portions; a crash leaves the rest to the next upkeep. */
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

/** The same of the installation and of people: what they did, and links, challenges and sessions that have ended. */
export async function deleteOldOfInstallation(
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

/** The statements on one table of the audit. */
type AuditTable = {
  deletePortion(connection: Connection): Promise<DeletedAuditRow>;
  record(connection: Connection, deletion: AuditDeletion): Promise<void>;
};

/**
 * Deletes in the audit, portion by portion, and records that as one event, whose count each portion's own transaction
 * raises: a crash leaves none unrecorded. Records of earlier deletions go without one, since each would leave another.
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

/** The audit goes by whole days, so that each has one record of a deletion at most. null = it is kept forever. */
function auditLimit(now: Date, keepDays: number): Date | null {
  if (keepDays === Number.POSITIVE_INFINITY) return null;
  return new Date(Math.floor(daysBefore(now, keepDays).getTime() / DAY_MS) * DAY_MS);
}

/** A removal can be undone for a day; an hour later nobody is about to. */
function undoneBefore(now: Date): Date {
  return new Date(now.getTime() - 25 * 3_600_000);
}

function daysBefore(now: Date, days: number): Date {
  return new Date(now.getTime() - days * DAY_MS);
}
