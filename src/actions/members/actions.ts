import { makeLink } from "../../access/link.ts";
import { ROLES, type Role } from "../../contract/role.ts";
import { userName } from "../../lib/user-name.ts";
import { deleteLinks, deleteSessions, insertPerson, lockPerson } from "../../store/queries/console-user.ts";
import { deleteForeignPerson, findPerson } from "../people/queries.ts";
import { deleteNotices, notifyMembers } from "../../store/queries/notice.ts";
import {
  deleteMember,
  deleteRemoved,
  insertMember,
  insertRemoved,
  listMembers,
  listRemoved,
  updateRole,
} from "./queries.ts";
import { endGrants, lockMembers, type WorkspaceMemberRow } from "../../store/queries/workspace-member.ts";
import { findDisplayName } from "../workspace/queries.ts";
import { defineAction, defineList, ShownSecret } from "../action.ts";
import type { ActionContext, Done, LinkCaller, WorkspaceCaller } from "../action.ts";
import { connectApp } from "../apps/actions.ts";
import { recordAction } from "../audit/record.ts";
import { anyText, oneOf, own } from "../field.ts";
import { quoted } from "../input.ts";
import { signOnAddress } from "../people/actions.ts";
import { readPersonName, requireOwnName } from "../people/person-name.ts";
import { impossible, Refusal, undoableSince } from "../refusal.ts";
import { mayDo, requireRight, type Right } from "../right.ts";

/** What a role allows in addition to the previous ones. */
export const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  viewer: "sees figures, alerts, files and settings",
  admin: "also changes settings, sources, tokens, and members who are not owners",
  owner: "also changes owners, requests a plan, exports and erases everything",
};

/** A member as lists show them: `link_expires_at` is of an invitation that is still valid. */
export type ListedMember = Omit<WorkspaceMemberRow, "is_elsewhere" | "is_operator">;

/** A member after a change; `changed` is false if nothing had to change. */
type ChangedMember = { user_id: string; name: string; role: Role; changed: boolean };

/** A link that lets a member in; it is shown this once. */
export type MemberLink = {
  user_id: string;
  name: string;
  role: Role;
  /** The workspace's display name, and the person who created the link, if any. */
  workspace_name: string;
  made_by: string | null;
  /** "recover": it ends the passkeys that the member has when they use it. */
  purpose: "invite" | "recover";
  link: ShownSecret;
  expires_at: Date;
};

/** Also required if an action concerns a current or future owner. */
export const changeOwners: Right & { past: string } = {
  name: "member.set_owner",
  past: "Set the role of an owner",
  least: "owner",
  proof: true,
};

const person = anyText("Person", {
  kind: "hidden",
  hint: "their id, or on a terminal their name",
});
const role = oneOf(
  "Role",
  ROLES.map((each) => [each, `${each}: ${ROLE_TEXTS[each]}`] as const),
  { hint: ROLES.join(", ") },
);

/** The people of a workspace, by name. */
export const memberList = defineList<ListedMember>({
  name: "members.read",
  about: "List the members of a workspace.",
  past: "Read the list of members",
  least: "admin",
  columns: {
    name: "name",
    id: "user_id",
    role: "role",
    since: "since",
    "last seen": "last_seen_at",
    state: stateOf,
  },
  rows: async ({ database, workspace, now }) => {
    const rows = await listMembers(database, workspace.shop_key);
    return rows.map(
      ({ is_elsewhere: _elsewhere, is_operator: _operator, link_expires_at: until, ...member }) => ({
        ...member,
        link_expires_at: member.is_pending && until !== null && until > now ? until : null,
      }),
    );
  },
});

export function stateOf({ is_disabled, is_pending, link_expires_at: until }: ListedMember): string {
  if (is_disabled) return "disabled by an operator";
  if (!is_pending) return "active";
  return until === null ? "invited; the link has expired" : "invited";
}

/** A new person, who has not signed in yet, with a link that is valid for 72 hours. */
export const inviteMember = defineAction({
  name: "member.invite",
  title: "Invite member",
  past: "Invited a member",
  least: "admin",
  proof: true,
  holdsMembers: true,
  input: {
    name: own("Name", (subject, name) => readPersonName(subject, name), {
      hint: "Shown in the list of members and the audit log. Up to 100 characters.",
    }),
    role,
    email: signOnAddress,
  },
  run: async (context: ActionContext<LinkCaller>, { name, role: wanted, email }) => {
    const { connection, actor, shopKey, now } = context;
    requireOwnerFor(context, wanted);
    const { user_id: userId } = await insertPerson(connection, name, false, now);
    await recordAction(connection, actor, {
      shopKey: null,
      action: "user.create",
      detail: { user_id: userId, is_operator: false },
    });
    await insertMember(connection, shopKey, userId, { role: wanted, now });
    await requireOwnName(connection, userId, name);
    return linked(context, { user_id: userId, name, role: wanted }, "invite", email);
  },
});

/**
 * Creates a new link for a member: another invitation if they have not signed in yet, otherwise a recovery link, which ends
 * their sessions now and their passkeys when it is used. Earlier links stop working. Every owner gets a notice of a
 * recovery. Refused for the caller themselves and, except for operators, for owners and people of other workspaces.
 */
export const recoverMember = defineAction({
  name: "member.recover",
  title: "Create recovery link",
  past: "Created a recovery link for a member",
  least: "admin",
  proof: true,
  holdsMembers: true,
  input: { person },
  run: async (context: ActionContext<LinkCaller>, { person: id }) => {
    const { connection, actor, workspace } = context;
    const member = requireMember(context, id);
    requireLinkable(context, member);
    const addresses = await deleteLinks(connection, id);
    if (member.is_pending) {
      const email = addresses.find((each) => each !== null) ?? null;
      const { audit, ...done } = await linked(context, member, "invite", email);
      const event = { shopKey: workspace.shop_key, action: inviteMember.name, ...audit };
      await recordAction(connection, actor, event);
      return { ...done, audit: null };
    }
    await deleteSessions(connection, id);
    await tellOwners(context, id);
    return linked(context, member, "recover");
  },
});

/** Gives a member another role, from their next request on. */
export const setMemberRole = defineAction({
  name: "member.set",
  title: "Change role",
  about: "Change the role of a member.",
  past: "Set the role of a member",
  least: "admin",
  proof: true,
  holdsMembers: true,
  input: { person, role },
  run: (context, input) => changeRole(context, input),
});

/** The same by an operator, for anybody of the installation who is not disabled: they become a member. */
export const addMember = defineAction({
  ...setMemberRole,
  title: "Add member",
  about: "Make a person a member; a new name is invited, and its link printed once.",
  least: "operator",
  // The added person may be locked by another workspace: so no member is locked before them.
  holdsMembers: false,
  run: async (context, { person: id, role: wanted }): Promise<Done<ChangedMember>> => {
    const { connection, shopKey, now } = context;
    const found = await findPerson(connection, id);
    if (found === null) throw impossible(`No person has the id ${quoted(id)}.`);
    if (found.disabled_at !== null) throw impossible(`${quoted(found.name)} is disabled and cannot sign in.`);
    if (!(await insertMember(connection, shopKey, id, { role: wanted, now }))) {
      const members = await lockMembers(connection, shopKey);
      return changeRole({ ...context, members }, { person: id, role: wanted });
    }
    await requireOwnName(connection, id);
    const result = { user_id: id, name: found.name, role: wanted, changed: true };
    return { result, done: roleSentence(context, result), audit: { detail: { user_id: id, role: wanted } } };
  },
});

/** Takes a member out of the workspace, which can be undone for a day, or cancels an invitation; their next request finds nothing. */
export const removeMember = defineAction({
  name: "member.remove",
  title: "Remove member",
  about: "Remove a member, or cancel an invitation.",
  past: "Removed a member",
  least: "admin",
  proof: true,
  holdsMembers: true,
  input: { person },
  confirm: () => "They will no longer see this workspace. Remove them?",
  run: async (context, { person: id }) => {
    const member = requireMember(context, id);
    requireOwnerFor(context, member.role);
    keepAnOwner(context, member);
    const { name, is_pending: wasInvited } = member;
    await endMembership(context, member, !wasInvited);
    return {
      result: { user_id: id, name, was_invited: wasInvited },
      done: wasInvited
        ? `The invitation for ${name} was canceled. Its link no longer works.`
        : `${name} was removed from ${context.workspace.shop_domain}. You can undo this for 24 hours (${id}).`,
      audit: { detail: { user_id: id }, before: { role: member.role } },
    };
  },
});

/** Makes a removed person a member again, in their previous role; their notices and digest are gone. */
export const restoreMember = defineAction({
  name: "member.restore",
  title: "Undo removal",
  about: "Undo the removal of a member, within 24 hours: they get their former role back.",
  past: "Undid the removal of a member",
  least: "admin",
  proof: true,
  holdsMembers: true,
  input: { person: { ...person, hint: "their id, as the removal printed it" } },
  run: async (context, { person: id }) => {
    const { connection, shopKey, domain, now } = context;
    const removed = await listRemoved(connection, shopKey, undoableSince(now));
    const found = removed.find(({ user_id: userId }) => userId === id);
    if (found === undefined)
      throw impossible("This removal cannot be undone: a removal can be undone once, within 24 hours.");
    requireOwnerFor(context, found.role);
    await insertMember(connection, shopKey, id, { role: found.role, now });
    await requireOwnName(connection, id);
    await deleteRemoved(connection, shopKey, id);
    const { name, role: wanted } = found;
    return {
      result: { user_id: id, name, role: wanted, changed: true },
      done: `${name} is ${wanted === "viewer" ? "a" : "an"} ${wanted} of ${domain} again.`,
      audit: { detail: { user_id: id, role: wanted } },
    };
  },
});

/** Every member may leave; from their next request they see nothing of the workspace. */
export const leaveWorkspace = defineAction({
  name: "member.leave",
  title: "Leave workspace",
  past: "Left the workspace",
  least: "viewer",
  holdsMembers: true,
  input: {},
  run: async (context) => {
    const { actor, members, domain } = context;
    const self = members.find((each) => userName(each.user_id) === actor.name);
    if (self === undefined) throw impossible(`You are not a member of ${domain}.`);
    keepAnOwner(context, self);
    await endMembership(context, self, false);
    return {
      result: { shop_domain: domain },
      done: `You left ${domain}.`,
      audit: { detail: { user_id: self.user_id }, before: { role: self.role } },
    };
  },
});

export const MEMBER_ACTIONS = [
  inviteMember,
  setMemberRole,
  removeMember,
  restoreMember,
  recoverMember,
  leaveWorkspace,
] as const;

async function changeRole(
  context: ActionContext,
  { person: id, role: wanted }: { person: string; role: Role },
): Promise<Done<ChangedMember>> {
  const { connection, shopKey, actor } = context;
  const member = requireMember(context, id);
  const before = member.role;
  requireOwnerFor(context, before, wanted);
  const result = { user_id: id, name: member.name, role: wanted, changed: before !== wanted };
  const done = roleSentence(context, result);
  if (!result.changed) return { result, done, audit: null };
  keepAnOwner(context, member);
  await updateRole(connection, shopKey, id, wanted);
  if (!mayDo(wanted, connectApp))
    await endGrants(connection, shopKey, { userId: id }, { ...actor, reason: "role changed" });
  return { result, done, audit: { detail: { user_id: id, role: wanted }, before: { role: before } } };
}

function roleSentence(
  { workspace }: WorkspaceCaller,
  { name, role: wanted, changed }: ChangedMember,
): string {
  const article = wanted === "viewer" ? "a" : "an";
  return `${name} is ${changed ? "now" : "already"} ${article} ${wanted} of ${workspace.shop_domain}.`;
}

/** Only owners can change, invite and remove owners. */
function requireOwnerFor({ actor }: ActionContext, ...roles: readonly Role[]): void {
  if (roles.includes("owner")) requireRight(actor, changeOwners);
}

function requireMember({ members, domain }: ActionContext, id: string): WorkspaceMemberRow {
  const member = members.find((each) => each.user_id === id);
  if (member !== undefined) return member;
  throw impossible(`This person is no longer a member of ${domain}.`);
}

/**
 * Refuses to demote or remove the last owner. An owner who is disabled, or was invited and has not signed in yet, does not count.
 */
function keepAnOwner({ members, domain }: ActionContext, leaving: WorkspaceMemberRow): void {
  if (leaving.role !== "owner") return;
  const others = members.filter((each) => each.role === "owner" && each.user_id !== leaving.user_id);
  if (others.some((each) => !each.is_disabled && (!each.is_pending || leaving.is_pending))) return;
  throw impossible(
    `${quoted(leaving.name)} is the last owner of ${domain}. First make somebody else who has signed in an owner.`,
  );
}

/**
 * Removes a member and their notices from the workspace. For as long as that can be undone, the person and their passkeys stay,
 * which open nothing meanwhile; upkeep deletes both. Else a person who then has no workspace left, and is not an operator, is
 * deleted with their name.
 */
async function endMembership(
  { connection, shopKey, now, actor }: ActionContext,
  { user_id: id, role: held, is_operator: isOperator, is_elsewhere: isElsewhere }: WorkspaceMemberRow,
  canUndo: boolean,
): Promise<void> {
  await lockPerson(connection, id);
  if (canUndo) await insertRemoved(connection, shopKey, id, { role: held, now });
  await deleteMember(connection, shopKey, id);
  await endGrants(connection, shopKey, { userId: id }, { ...actor, reason: "member removed" });
  await deleteNotices(connection, shopKey, userName(id));
  if (!canUndo) await deleteForeignPerson(connection, id);
  if (!canUndo || isOperator || isElsewhere) return;
  await deleteSessions(connection, id);
  await deleteLinks(connection, id);
}

/** A member's link gives that member's access in every workspace, so its creator must have at least the same rights. */
function requireLinkable(context: ActionContext, member: WorkspaceMemberRow): void {
  const { actor } = context;
  const { name, role: held } = member;
  if (member.is_disabled) throw impossible(`${quoted(name)} is disabled and cannot sign in.`);
  if (actor.standing === "operator") return;
  if (userName(member.user_id) === actor.name) {
    throw impossible("You are signed in: add a passkey of your own instead.");
  }
  if (held === "owner" && member.is_pending) requireOwnerFor(context, held);
  if (held === "owner" && !member.is_pending) {
    throw new Refusal(
      "forbidden",
      "Only an operator of the installation can create a recovery link for an owner.",
    );
  }
  if (member.is_operator || member.is_elsewhere) {
    throw new Refusal(
      "forbidden",
      `${quoted(name)} has rights beyond this workspace: only an operator of the installation can create a link for them.`,
    );
  }
}

async function linked(
  { connection, consoleOrigin, shopKey, domain, members, actor, now }: ActionContext<LinkCaller>,
  { user_id, name, role: held }: Pick<WorkspaceMemberRow, "user_id" | "name" | "role">,
  purpose: MemberLink["purpose"],
  email: string | null = null,
) {
  const origin = consoleOrigin();
  const maker = members.find((each) => userName(each.user_id) === actor.name);
  const { secret, expiresAt, linkName } = await makeLink(connection, {
    userId: user_id,
    purpose,
    now,
    madeBy: maker?.user_id ?? null,
    shopKey,
    email,
  });
  const link = new ShownSecret(`${origin}/enter?link=${linkName}#${secret}`);
  const workspace_name = (await findDisplayName(connection, shopKey)) ?? domain;
  const made = { made_by: maker?.name ?? null, purpose, link, expires_at: expiresAt };
  const result: MemberLink = { user_id, name, role: held, workspace_name, ...made };
  return {
    result,
    secret: link,
    done: `This link signs in ${name}, once, until ${expiresAt.toISOString()}.`,
    audit: { detail: { user_id, role: held, expires_at: expiresAt } },
  };
}

async function tellOwners({ connection, shopKey, now }: ActionContext, id: string): Promise<void> {
  await notifyMembers(connection, shopKey, ["owner"], {
    event: `recovery:${id}:${now.toISOString()}`,
    category: "member_recovery",
    severity: "warning",
    // Without the name, which goes with the person.
    title: "A recovery link was created for a member",
    body: "Anyone who has the link can sign in as this member within ten minutes. The member's sessions have ended; their passkeys are removed when the link is used.",
    linkPath: `/settings/members/${id}`,
    linkLabel: "View member",
  });
}
