import type { Connection } from "../database.ts";
import { command, queryColumn, requireRow, requireValue, type Query } from "../query.ts";
import type { SyncKind } from "./sync-request.ts";

/** Deletes alert endpoints of a workspace that were removed before, with their secrets: a range of the primary key. */
export const deleteRemovedEndpoints = command<[shopKey: number, before: Date]>(
  "delete_removed_alert_endpoints",
  "delete from alert_endpoint e where e.shop_key = $1 and e.removed_at < $2",
);

/**
 * Deletes the tokens of apps whose access ended before, or whose code was never exchanged: ranges of the primary keys. Their
 * grants go with them.
 */
export const deleteEndedGrants = command<[shopKey: number, before: Date]>(
  "delete_ended_grants",
  `delete from api_token t using oauth_grant g
    where t.shop_key = $1 and g.shop_key = $1 and g.token_id = t.token_id
      and coalesce(t.revoked_at, g.refresh_expires_at, g.code_expires_at) < $2`,
);

/**
 * Deletes who was removed from a workspace before, and the people themselves who have no other and are no operators:
 * removed_member_age, and look-ups by person.
 */
export const forgetRemovedMembers = command<[before: Date]>(
  "forget_removed_members",
  `with gone as (delete from removed_member r where r.removed_at < $1 returning r.user_id)
   delete from console_user u using gone
    where u.user_id = gone.user_id and not u.is_operator
      and not exists (select from workspace_member m where m.user_id = u.user_id)
      and not exists (select from removed_member r where r.user_id = u.user_id and r.removed_at >= $1)`,
);

/** The most rows that one statement deletes, so that it holds locks only briefly. */
export const ROWS_PER_DELETION = 5000;

/** Which rows are old: `isOld` is a condition, and `moment` the column by which its index orders them. */
type OldRows = { table: string; isOld: string; moment: string };

/** Deletes the oldest of the rows: ROWS_PER_DELETION of them, and any more with the last one's time. */
const deletionOf = ({ table, isOld, moment }: OldRows): string =>
  `delete from ${table}
    where ${isOld} and ${moment} <= (
            select max(oldest.${moment})
              from (select ${moment} from ${table} where ${isOld} order by ${moment} limit ${ROWS_PER_DELETION}) oldest)`;

/** A deletion that counts its rows; 0: none is left, or another process is deleting them. */
function deleteOld<Inputs extends readonly unknown[]>(name: string, old: OldRows): Query<Inputs, number> {
  return requireValue(
    name,
    `with deleted as (${deletionOf(old)} returning 1) select count(*)::integer as deleted from deleted`,
  );
}

/** Runs of one kind that began before a time, except an open one. sync_run_by_kind. */
export const deleteOldRuns = deleteOld<[shopKey: number, before: Date, kind: SyncKind]>("delete_old_runs", {
  table: "sync_run",
  isOld: "shop_key = $1 and kind = $3 and started_at < $2 and status <> 'running'",
  moment: "started_at",
});

/** Counts of runs that changed nothing, of days before a moment. Primary key. */
export const deleteOldQuietRuns = deleteOld<[shopKey: number, before: Date]>("delete_old_quiet_runs", {
  table: "quiet_runs",
  isOld: "shop_key = $1 and last_at < $2",
  moment: "last_at",
});

/**
 * Webhook deliveries accepted before a moment. That a link or an approval was used is kept as long as these are valid, which is at
 * most seven days (`LIFETIME_MS` of install/oauth.ts). webhook_delivery_by_time.
 */
export const deleteOldDeliveries = deleteOld<[shopKey: number, before: Date]>("delete_old_deliveries", {
  table: "webhook_delivery",
  isOld: `shop_key = $1 and received_at < $2 and (topic <> 'approval' or received_at < now() - interval '7 days')`,
  moment: "received_at",
});

/** A workspace's details of usage, of days before one. Primary key. */
export const deleteOldUsageDetails = deleteOld<[shopKey: number, beforeDay: string]>(
  "delete_old_usage_details",
  { table: "usage_detail", isOld: "shop_key = $1 and day < $2", moment: "day" },
);

/** A workspace's totals of days before a date, with one row per day. Primary key. */
export const deleteOldUsage = deleteOld<[shopKey: number, beforeDay: string]>("delete_old_usage", {
  table: "daily_usage",
  isOld: "shop_key = $1 and day < $2",
  moment: "day",
});

/** Expired links. console_link_expiry. */
export const deleteExpiredLinks = deleteOld<[now: Date]>("delete_expired_links", {
  table: "console_link",
  isOld: "expires_at <= $1",
  moment: "expires_at",
});

/** Expired challenges. console_challenge_expiry. */
export const deleteExpiredChallenges = deleteOld<[now: Date]>("delete_expired_challenges", {
  table: "console_challenge",
  isOld: "expires_at <= $1",
  moment: "expires_at",
});

/** Sessions that have ended. console_session_end. */
export const deleteEndedSessions = deleteOld<[now: Date]>("delete_ended_sessions", {
  table: "console_session",
  isOld: "idle_until <= $1",
  moment: "idle_until",
});

/** Name of a deletion in the audit. */
const AUDIT_DELETION = "audit.delete";

/** The deleted rows: `events` excludes records of earlier deletions. */
export type DeletedAuditRow = { deleted: number; events: number };

/**
 * Events of the audit that stay whatever their age, because the service itself reads them: the newest import and the newest
 * change of windows. A scan of the workspace's events where any is older than the moment, else none: audit_event_time.
 */
export const listLastingEvents = queryColumn<string, [shopKey: number, before: Date]>(
  "list_lasting_events",
  `select distinct on (a.action) a.audit_id from audit_event a
    where a.shop_key = $1 and a.action in ('import', 'windows.set')
      and exists (select from audit_event o where o.shop_key = $1 and o.happened_at < $2)
    order by a.action, a.happened_at desc, a.audit_id desc`,
);

const DELETED_AUDIT = `select count(*)::integer as deleted,
          (count(*) filter (where action <> '${AUDIT_DELETION}'))::integer as events
     from deleted`;

/** Events of a workspace before a time, except those of `lasting`. audit_event_time. */
export const deleteOldEvents = requireRow<
  DeletedAuditRow,
  [shopKey: number, before: Date, lasting: readonly string[]],
  Connection
>(
  "delete_old_events",
  `with deleted as (${deletionOf({
    table: "audit_event",
    isOld: "shop_key = $1 and happened_at < $2 and audit_id <> all ($3::uuid[])",
    moment: "happened_at",
  })} returning action)
   ${DELETED_AUDIT}`,
);

/** Actions on the installation before a moment. identity_event_time. */
export const deleteOldInstallationEvents = requireRow<DeletedAuditRow, [before: Date], Connection>(
  "delete_old_installation_events",
  `with deleted as (${deletionOf({
    table: "identity_event",
    isOld: "happened_at < $1",
    moment: "happened_at",
  })} returning action)
   ${DELETED_AUDIT}`,
);

/** The audit's record of a deletion: how many events from before a time. */
export type AuditDeletion = { auditId: string; at: Date; before: Date; events: number };

const detailOf = ({ before, events }: AuditDeletion): string =>
  JSON.stringify({ before: before.toISOString(), events });

/** A deletion in a workspace's audit; the same again when the deletion has gone on. Primary key. */
export const recordAuditDeletion = command<[shopKey: number, deletion: AuditDeletion], Connection>(
  "record_audit_deletion",
  `insert into audit_event (shop_key, audit_id, happened_at, actor, action, detail)
   values ($1, $2, $3, 'upkeep', '${AUDIT_DELETION}', $4)
   on conflict (shop_key, audit_id) do update set detail = excluded.detail`,
  (shopKey, deletion) => [shopKey, deletion.auditId, deletion.at, detailOf(deletion)],
);

/** The same in the installation's audit. Primary key. */
export const recordInstallationAuditDeletion = command<[deletion: AuditDeletion], Connection>(
  "record_installation_audit_deletion",
  `insert into identity_event (audit_id, happened_at, actor, action, detail)
   values ($1, $2, 'upkeep', '${AUDIT_DELETION}', $3)
   on conflict (audit_id) do update set detail = excluded.detail`,
  (deletion) => [deletion.auditId, deletion.at, detailOf(deletion)],
);
