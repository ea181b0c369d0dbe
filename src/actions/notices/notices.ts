import { ROLES } from "../../contract/role.ts";
import type { Role } from "../../contract/role.ts";
import type { Connection, Queryable } from "../../store/database.ts";
import { listNotices, notifyPeople } from "../../store/queries/notice.ts";
import type { NoticeRow } from "../../store/queries/notice.ts";
import { listMembersByRole } from "../../store/queries/workspace-member.ts";
import type { WorkspaceCaller } from "../action.ts";
import { readSettings, requireRight } from "../right.ts";

/** A notice to some members of a workspace, not to all who read its alerts. */
export type NoticeText = {
  /** Names the event, the same in every run: nobody is notified of an event twice. */
  event: string;
  /** What it is about, such as token_expiry. */
  category: string;
  severity: "info" | "warning" | "critical";
  title: string;
  body: string;
  /** A page below /w/<shop_domain> and the text of the link to it, such as "/settings/tokens". */
  link?: { path: string; text: string };
};

/**
 * Tells each of the persons (ids of users) of something, once per event; it appears in their notices of the workspace, never in
 * the API's alerts. Call it in the transaction of the event.
 */
export async function notify(
  connection: Connection,
  shopKey: number,
  recipients: readonly string[],
  { link, ...notice }: NoticeText,
): Promise<void> {
  const place = { linkPath: link?.path ?? null, linkLabel: link?.text ?? null };
  await notifyPeople(connection, shopKey, recipients, { ...notice, ...place });
}

/** A notice as its member reads it; `link.path` is below the workspace's pages. */
export type ShownNotice = Omit<NoticeRow, "link_path" | "link_label"> & {
  link: { path: string; text: string } | null;
};

const SHOWN_NOTICES = 100;

/** The newest notices of the caller. */
export async function showNotices({
  database,
  actor,
  workspace,
}: Pick<WorkspaceCaller, "database" | "actor" | "workspace">): Promise<ShownNotice[]> {
  requireRight(actor, readSettings);
  const rows = await listNotices(database, workspace.shop_key, actor.name, SHOWN_NOTICES);
  return rows.map(({ link_path: path, link_label: text, ...notice }) => ({
    ...notice,
    link: path === null || text === null ? null : { path, text },
  }));
}

/** The members of a workspace who have a role or more and may sign in, as recipients of a notice. */
export async function membersOfRole(database: Queryable, shopKey: number, least: Role): Promise<string[]> {
  return listMembersByRole(database, shopKey, ROLES.slice(ROLES.indexOf(least)));
}
