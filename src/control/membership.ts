import { ROLES } from "../contract/role.ts";
import type { Role } from "../contract/role.ts";
import type { Connection, Database } from "../store/database.ts";
import { deleteForeignPerson, lockPerson } from "../store/queries/console-user.ts";
import { deleteNotices } from "../store/queries/notice.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { deleteMember, lockMembers } from "../store/queries/workspace-member.ts";
import type { WorkspaceMemberRow } from "../store/queries/workspace-member.ts";
import type { Actor } from "./actor.ts";
import { quoted, readOneOf } from "./input.ts";
import { Refusal, impossible } from "./refusal.ts";
import { requireRight } from "./rights.ts";
import type { RightName } from "./rights.ts";
import { userName } from "../lib/user-name.ts";

/** The members of a workspace while they are held, and the actor in the role that they have at that moment. */
export type HeldMembers = {
  connection: Connection;
  actor: Actor;
  workspace: WorkspaceRow;
  members: readonly WorkspaceMemberRow[];
};

/**
 * Changes members of a workspace, one change after the other: of two owners who lower each other at once, the second is no
 * owner any more when it is their turn. Throws a `Refusal` without the right, before and while the members are held.
 */
export async function changeMembers<Result>(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  right: RightName,
  change: (held: HeldMembers) => Promise<Result>,
): Promise<Result> {
  requireRight(actor, right);
  return database.transaction(async (connection) => {
    const members = await lockMembers(connection, workspace.shop_key);
    const present = { ...actor, standing: standingAmong(members, actor) };
    requireRight(present, right);
    return change({ connection, actor: present, workspace, members });
  });
}

/** Owners are changed, invited and removed by owners alone. */
export function requireOwnerFor(actor: Actor, ...roles: readonly Role[]): void {
  if (roles.includes("owner")) requireRight(actor, "member.set_owner");
}

export function requireMember({ members, workspace }: HeldMembers, userId: string): WorkspaceMemberRow {
  const member = members.find((each) => each.user_id === userId);
  if (member !== undefined) return member;
  throw impossible(`This person is no member of ${workspace.shop_domain} any more.`);
}

/**
 * Refuses to take the role of the last owner away. An owner who is disabled, or was invited and has not come yet, cannot take
 * the place of one who is there.
 */
export function keepAnOwner({ members, workspace }: HeldMembers, leaving: WorkspaceMemberRow): void {
  if (leaving.role !== "owner") return;
  const others = members.filter((each) => each.role === "owner" && each.user_id !== leaving.user_id);
  if (others.some((each) => !each.is_disabled && (!each.is_pending || leaving.is_pending))) return;
  throw impossible(
    `${quoted(leaving.name)} is the last owner of ${workspace.shop_domain}. Make somebody else an owner first, who has signed in.`,
  );
}

/**
 * Takes a member out of the workspace, with their own notices there. Who then sees no workspace any more, and is no
 * operator, is forgotten with their name; true = they were.
 */
export async function endMembership(
  { connection, workspace }: HeldMembers,
  { user_id: userId }: WorkspaceMemberRow,
): Promise<boolean> {
  await lockPerson(connection, userId);
  await deleteMember(connection, workspace.shop_key, userId);
  await deleteNotices(connection, workspace.shop_key, userName(userId));
  return deleteForeignPerson(connection, userId);
}

export function readRole(role: string): Role {
  return readOneOf("The role", role, ROLES);
}

function standingAmong(members: readonly WorkspaceMemberRow[], actor: Actor): Actor["standing"] {
  if (actor.standing === "operator") return actor.standing;
  const self = members.find((each) => userName(each.user_id) === actor.name);
  if (self !== undefined) return self.role;
  throw new Refusal("forbidden", "You are no member of this workspace any more.");
}
