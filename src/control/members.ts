import type { Role } from "../contract/role.ts";
import type { Database } from "../store/database.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { listMembers, updateRole } from "../store/queries/workspace-member.ts";
import type { WorkspaceMemberRow } from "../store/queries/workspace-member.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { quoted } from "./input.ts";
import {
  changeMembers,
  endMembership,
  keepAnOwner,
  readRole,
  requireMember,
  requireOwnerFor,
} from "./membership.ts";
import { impossible } from "./refusal.ts";
import { requireRight } from "./rights.ts";
import { userName } from "../lib/user-name.ts";

/** A member as lists show them: `link_expires_at` is of an invitation that is still good. */
export type ListedMember = Omit<WorkspaceMemberRow, "is_elsewhere" | "is_operator">;

/** What became of a member; `changed` is false when it already was so. */
export type ChangedMember = { user_id: string; name: string; role: Role; changed: boolean };

/** Who is no member any more; `was_invited`: they had never signed in. */
export type RemovedMember = { user_id: string; name: string; was_invited: boolean };

/** The people of a workspace, by name. */
export async function showMembers(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  now: Date,
): Promise<ListedMember[]> {
  requireRight(actor, "members.read");
  const rows = await listMembers(database, workspace.shop_key);
  return rows.map(
    ({ is_elsewhere: _elsewhere, is_operator: _operator, link_expires_at: until, ...member }) => ({
      ...member,
      link_expires_at: member.is_pending && until !== null && until > now ? until : null,
    }),
  );
}

/** A member by name, as the command line knows people. Throws a `Refusal` when there is none. */
export async function findMemberByName(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  name: string,
): Promise<ListedMember> {
  const members = await showMembers(database, actor, workspace, new Date());
  const member = members.find((each) => each.name === name.trim());
  if (member !== undefined) return member;
  throw impossible(
    `${workspace.shop_domain} has no member ${quoted(name)}; "member list" shows those there are.`,
  );
}

/** Gives a member another role, from their next request on. */
export async function setMemberRole(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  request: { userId: string; role: string },
): Promise<ChangedMember> {
  return changeMembers(database, actor, workspace, "member.set", async (held) => {
    const role = readRole(request.role);
    const member = requireMember(held, request.userId);
    const changed = { user_id: member.user_id, name: member.name, role, changed: member.role !== role };
    requireOwnerFor(held.actor, member.role, role);
    if (!changed.changed) return changed;
    keepAnOwner(held, member);
    await updateRole(held.connection, workspace.shop_key, member.user_id, role);
    await recordAction(held.connection, held.actor, {
      shopKey: workspace.shop_key,
      action: "member.set",
      detail: { user_id: member.user_id, role },
      before: { role: member.role },
    });
    return changed;
  });
}

/** Takes a member out of the workspace, or withdraws an invitation; their next request finds nothing. */
export async function removeMember(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  userId: string,
): Promise<RemovedMember> {
  return changeMembers(database, actor, workspace, "member.remove", async (held) => {
    const member = requireMember(held, userId);
    requireOwnerFor(held.actor, member.role);
    keepAnOwner(held, member);
    await endMembership(held, member);
    await recordAction(held.connection, held.actor, {
      shopKey: workspace.shop_key,
      action: "member.remove",
      detail: { user_id: userId },
      before: { role: member.role },
    });
    return { user_id: userId, name: member.name, was_invited: member.is_pending };
  });
}

/** Whoever is a member may go; they see nothing of the workspace from their next request on. */
export async function leaveWorkspace(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
): Promise<{ shop_domain: string }> {
  return changeMembers(database, actor, workspace, "member.leave", async (held) => {
    const self = held.members.find((each) => userName(each.user_id) === actor.name);
    if (self === undefined) throw impossible(`You are no member of ${workspace.shop_domain}.`);
    keepAnOwner(held, self);
    await endMembership(held, self);
    await recordAction(held.connection, held.actor, {
      shopKey: workspace.shop_key,
      action: "member.leave",
      detail: { user_id: self.user_id },
      before: { role: self.role },
    });
    return { shop_domain: workspace.shop_domain };
  });
}
