import type { Role } from "../contract/role.ts";
import { makeLink } from "../identity/link.ts";
import type { Database } from "../store/database.ts";
import { deleteLinks } from "../store/queries/console-link.ts";
import { deleteSessions } from "../store/queries/console-session.ts";
import { findPerson, insertPerson } from "../store/queries/console-user.ts";
import type { PersonRow } from "../store/queries/console-user.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { insertMember } from "../store/queries/workspace-member.ts";
import type { WorkspaceMemberRow } from "../store/queries/workspace-member.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { quoted, readText } from "./input.ts";
import { setMemberRole } from "./members.ts";
import type { ChangedMember } from "./members.ts";
import { changeMembers, readRole, requireMember, requireOwnerFor } from "./membership.ts";
import type { HeldMembers } from "./membership.ts";
import { membersOfRole, notify } from "./notice.ts";
import { Refusal, impossible } from "./refusal.ts";
import { requireRight } from "./rights.ts";
import { userName } from "../lib/user-name.ts";

/** A link that lets a member in; it is shown this once. */
export type MemberLink = {
  user_id: string;
  name: string;
  role: Role;
  /** "recover": it ends the passkeys that the member has when they use it. */
  purpose: "invite" | "recover";
  link: string;
  expires_at: Date;
};

/** Where the console is, such as https://returns.example, and the time. */
type Place = { origin: string; now: Date };

const NAME_MAX_LENGTH = 100;

/**
 * Invites a new person by name: a member who has not signed in yet, with a link that is good for 72 hours. Throws a `Refusal`
 * for a name that somebody of the installation has.
 */
export async function inviteMember(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  request: Place & { name: string; role: string },
): Promise<MemberLink> {
  return changeMembers(database, actor, workspace, "member.invite", async (held) => {
    const name = readText("The name", request.name, NAME_MAX_LENGTH);
    const role = readRole(request.role);
    requireOwnerFor(held.actor, role);
    const { connection, members } = held;
    if (!(await insertPerson(connection, name, false, request.now))) {
      throw impossible(
        members.some((member) => member.name === name)
          ? `${quoted(name)} is a member of ${workspace.shop_domain} already.`
          : `The name ${quoted(name)} is taken in this installation. Invite by another name; somebody who has an account already is added by its operator.`,
      );
    }
    const { user_id: userId } = (await findPerson(connection, name)) as PersonRow;
    await recordAction(connection, held.actor, {
      shopKey: null,
      action: "user.create",
      detail: { user_id: userId, is_operator: false },
    });
    await insertMember(connection, workspace.shop_key, userId, { role, now: request.now });
    return linkMember(held, { user_id: userId, name, role }, "invite", request);
  });
}

/**
 * Makes a member a new link: to whoever has not signed in yet another invitation, to the others one to come back with, which
 * ends their sessions now and their passkeys when it is used. Links made before do not work any more. Every owner gets a
 * notice of a recovery. Throws a `Refusal` for oneself, and for owners and people of other workspaces unless by an operator.
 */
export async function recoverMember(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  request: Place & { userId: string },
): Promise<MemberLink> {
  return changeMembers(database, actor, workspace, "member.recover", async (held) => {
    const member = requireMember(held, request.userId);
    requireLinkable(held, member);
    await deleteLinks(held.connection, member.user_id);
    if (member.is_pending) return linkMember(held, member, "invite", request);
    await deleteSessions(held.connection, member.user_id);
    await tellOwners(held, member, request.now);
    return linkMember(held, member, "recover", request);
  });
}

/**
 * Makes the person of a name a member of a role, as an operator: somebody of the installation, or a new person, who is
 * invited. Throws a `Refusal` for a disabled person.
 */
export async function addMember(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  request: Place & { name: string; role: string },
): Promise<MemberLink | (ChangedMember & { link: null })> {
  requireRight(actor, "user.set");
  const role = readRole(request.role);
  const name = readText("The name", request.name, NAME_MAX_LENGTH);
  const person = await findPerson(database, name);
  if (person === null) return inviteMember(database, actor, workspace, { ...request, name });
  if (person.disabled_at !== null) throw impossible(`${quoted(name)} is disabled and cannot sign in.`);
  const { user_id: userId } = person;
  const isNew = await database.transaction(async (connection) => {
    const made = await insertMember(connection, workspace.shop_key, userId, { role, now: request.now });
    if (made) {
      await recordAction(connection, actor, {
        shopKey: workspace.shop_key,
        action: "member.set",
        detail: { user_id: userId, role },
      });
    }
    return made;
  });
  if (isNew) return { user_id: userId, name, role, changed: true, link: null };
  return { ...(await setMemberRole(database, actor, workspace, { userId, role })), link: null };
}

/** Who has a member's link is that member, in every workspace: so nobody gets one to more than they hold themselves. */
function requireLinkable({ actor }: HeldMembers, member: WorkspaceMemberRow): void {
  const { name, role } = member;
  if (member.is_disabled) throw impossible(`${quoted(name)} is disabled and cannot sign in.`);
  if (actor.standing === "operator") return;
  if (userName(member.user_id) === actor.name) {
    throw impossible("You are signed in: add a passkey of your own instead.");
  }
  const isInvitedOwner = role === "owner" && member.is_pending;
  if (isInvitedOwner) requireOwnerFor(actor, role);
  if (role === "owner" && !member.is_pending) {
    throw new Refusal("forbidden", "An owner's way back in comes from the operator of the installation.");
  }
  if (member.is_operator || member.is_elsewhere) {
    throw new Refusal(
      "forbidden",
      `${quoted(name)} has rights beyond this workspace, so that only the operator of the installation makes them a link.`,
    );
  }
}

async function linkMember(
  { connection, actor, workspace }: HeldMembers,
  member: Pick<WorkspaceMemberRow, "user_id" | "name" | "role">,
  purpose: MemberLink["purpose"],
  { origin, now }: Place,
): Promise<MemberLink> {
  const { user_id: userId, name, role } = member;
  const { secret, expiresAt } = await makeLink(connection, { userId, purpose, now });
  await recordAction(connection, actor, {
    shopKey: workspace.shop_key,
    action: purpose === "invite" ? "member.invite" : "member.recover",
    detail: { user_id: userId, role, expires_at: expiresAt },
  });
  return { user_id: userId, name, role, purpose, link: `${origin}/enter#${secret}`, expires_at: expiresAt };
}

async function tellOwners(
  { connection, workspace }: HeldMembers,
  { user_id: userId }: WorkspaceMemberRow,
  now: Date,
): Promise<void> {
  const owners = await membersOfRole(connection, workspace.shop_key, "owner");
  await notify(connection, workspace.shop_key, owners, {
    event: `recovery:${userId}:${now.toISOString()}`,
    category: "member_recovery",
    severity: "warning",
    // Without the name, which goes with the person.
    title: "A recovery link was made for a member",
    body: "Whoever has the link can sign in as this member, within ten minutes. Their sessions ended; their passkeys end when the link is used.",
    link: { path: `/settings/members/${userId}`, text: "See for whom" },
  });
}
