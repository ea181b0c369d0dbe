import { query } from "../../store/query.ts";

/** An action, with the names of the people who still are there. */
export type AuditRow = {
  audit_id: string;
  happened_at: Date;
  /** happened_at at full precision, as in the cursor. */
  position: string;
  actor: string;
  /** Name of the person who acted; null: deleted, or not a person. */
  actor_name: string | null;
  action: string;
  detail: Record<string, unknown>;
  before: Record<string, unknown> | null;
  /** Name of the person in `detail`; null: deleted, or none. */
  concerned_name: string | null;
  origin: string | null;
};

/** A page of actions; null = any. */
export type AuditPage = {
  /** An actor, or a kind of them, such as merchant. */
  actor: string | null;
  action: string | null;
  from: Date | null;
  /** Not included. */
  to: Date | null;
  limit: number;
} & AuditPlace;

/** The row that a page follows on: its position and audit_id. */
export type AuditPlace = { position: string; auditId: string };

/** Before the newest row. */
export const NEWEST: AuditPlace = { position: "infinity", auditId: "ffffffff-ffff-ffff-ffff-ffffffffffff" };

const COLUMNS = `a.audit_id, a.happened_at, to_char(a.happened_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as position,
         a.actor, u.name as actor_name, a.action, a.detail, a.before, c.name as concerned_name, a.origin`;
const PEOPLE = `left join console_user u on 'user:' || u.user_id = a.actor
    left join console_user c on c.user_id::text = a.detail ->> 'user_id'`;

/** Up to `limit` actions on a workspace before `position`, newest first: audit_event_of_shop backwards, people by hashes. */
export const listAudit = query<AuditRow, [shopKey: number, page: AuditPage]>(
  "list_audit",
  `select ${COLUMNS}
     from audit_event a ${PEOPLE}
    where a.shop_key = $1 and a.happened_at >= coalesce($4::timestamptz, '-infinity')
      and a.happened_at < coalesce($5::timestamptz, 'infinity') and a.happened_at <= $6
      and (a.happened_at, a.audit_id) < ($6, $7)
      and ($2::text is null or a.actor = $2 or a.actor like $2 || ':%')
      and ($3::text is null or a.action = $3)
    order by a.happened_at desc, a.audit_id desc limit $8`,
  ["actor", "action", "from", "to", "position", "auditId", "limit"],
);

const OF_ALL = `a.happened_at >= coalesce($3::timestamptz, '-infinity') and a.happened_at <= $4
      and (a.happened_at, a.audit_id) < ($4, $5)
      and ($1::text is null or a.actor = $1 or a.actor like $1 || ':%')
      and ($2::text is null or a.action = $2)
    order by a.happened_at desc, a.audit_id desc limit $6`;
const VALUES_OF_ALL = ["actor", "action", "from", "position", "auditId", "limit"] as const;

/** Up to `limit` actions on every workspace before `position`, newest first, for the operator: audit_event_by_time. */
export const listAuditOfAll = query<AuditRow & { shop_domain: string | null }, [page: AuditPage]>(
  "list_audit_of_all",
  `select ${COLUMNS}, w.shop_domain
     from audit_event a ${PEOPLE} left join workspace w on w.shop_key = a.shop_key
    where ${OF_ALL}`,
  VALUES_OF_ALL,
);

/** The same of the installation: identity_event_time. */
export const listInstallationEvents = query<AuditRow & { shop_domain: null }, [page: AuditPage]>(
  "list_installation_events",
  `select ${COLUMNS}, null as shop_domain
     from identity_event a ${PEOPLE}
    where ${OF_ALL}`,
  VALUES_OF_ALL,
);
