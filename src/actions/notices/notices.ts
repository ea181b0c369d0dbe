import { ROLES, type Role } from "../../contract/role.ts";
import type { Queryable } from "../../store/database.ts";
import { listNotices, type NoticeRow } from "../../store/queries/notice.ts";
import { listMembersByRole } from "../../store/queries/workspace-member.ts";
import type { WorkspaceCaller } from "../action.ts";
import { readSettings, requireRight } from "../right.ts";

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
