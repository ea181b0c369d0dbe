import { randomUUIDv7 } from "node:crypto";
import { userName } from "../../lib/user-name.ts";
import type { Queryable } from "../database.ts";
import { command, query } from "../query.ts";
import type { Member } from "../workspace.ts";
import { listMembersByRole } from "./workspace-member.ts";

type NewNotice = {
  alertId: string;
  eventKey: string;
  /** user:<id>. */
  recipient: string;
  category: string;
  severity: "info" | "warning" | "critical";
  title: string;
  body: string;
  /** A path below the workspace's pages. */
  linkPath: string | null;
  linkLabel: string | null;
};

/** Writes a notice unless this member has one of the event; by the unique index of event_key. */
const insertNotice = command<[shopKey: number, notice: NewNotice]>(
  "insert_notice",
  `insert into alert (shop_key, alert_id, event_key, recipient, category, severity, title, body, link_url, link_label,
                      created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now())
   on conflict (shop_key, event_key) do nothing`,
  ["alertId", "eventKey", "recipient", "category", "severity", "title", "body", "linkPath", "linkLabel"],
);

/** A notice to members; `event` names what happened, the same in every run. */
export type Notice = Omit<NewNotice, "alertId" | "eventKey" | "recipient"> & { event: string };

/** Those whom most notices concern. */
export const MANAGERS = ["owner", "admin"] as const;

/**
 * Writes a notice to each member in one of these roles who may sign in, once for each event; it appears in their notices of the
 * workspace, never in the API's alerts. Call it in the transaction of the event.
 */
export async function notifyMembers(
  database: Queryable,
  shopKey: number,
  roles: readonly Member["role"][],
  { event, ...notice }: Notice,
): Promise<void> {
  for (const userId of await listMembersByRole(database, shopKey, roles)) {
    await insertNotice(database, shopKey, {
      ...notice,
      alertId: randomUUIDv7(),
      eventKey: `notice:${event}:${userId}`,
      recipient: userName(userId),
    });
  }
}

/** A token that expires soon. */
export type EndingTokenRow = {
  token_id: string;
  name: string;
  created_at: Date;
  expires_at: Date;
};

/** A workspace's tokens that end within a span of time, unless they are revoked or another one has taken their place. Primary key. */
export const listEndingTokens = query<EndingTokenRow, [shopKey: number, from: Date, to: Date]>(
  "list_ending_tokens",
  `select t.token_id, t.name, t.created_at, t.expires_at
           from api_token t
          where t.shop_key = $1 and t.expires_at > $2 and t.expires_at <= $3 and t.revoked_at is null
            and not exists (select 1 from oauth_grant g where g.shop_key = $1 and g.token_id = t.token_id)
            and not exists (select from api_token n where n.shop_key = $1 and n.replaces = t.token_id)
          order by t.expires_at, t.token_id`,
);

/** A member's notice. */
export type NoticeRow = Pick<NewNotice, "category" | "severity" | "title" | "body"> & {
  alert_id: string;
  link_path: string | null;
  link_label: string | null;
  created_at: Date;
};

/** The newest notices of a member: alert_own. */
export const listNotices = query<NoticeRow, [shopKey: number, recipient: string, limit: number]>(
  "list_notices",
  `select alert_id, category, severity, title, body, link_url as link_path, link_label, created_at
     from alert where shop_key = $1 and recipient = $2
    order by created_at desc, alert_id desc limit $3`,
);

/** Removes a member's notices: alert_own. */
export const deleteNotices = command<[shopKey: number, recipient: string]>(
  "delete_notices",
  "delete from alert where shop_key = $1 and recipient = $2",
);
