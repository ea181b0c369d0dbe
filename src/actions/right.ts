import { isFreshProof } from "../access/session.ts";
import { ROLES, type Role } from "../contract/role.ts";
import type { Connection } from "../store/database.ts";
import { holdSession, lockMemberships, lockPerson } from "../store/queries/console-user.ts";
import { holdRole, lockMembers, type WorkspaceMemberRow } from "../store/queries/workspace-member.ts";
import type { Actor } from "./actor.ts";
import { Refusal } from "./refusal.ts";

/** The requirements of an action, list or page. */
export type Right = {
  /** Name of the action or list, such as "token.revoke"; also its name in the audit. */
  name: string;
  /**
   * The lowest role in the workspace; "operator": only operators of the installation; "person": anybody, on their own account.
   */
  least: Role | "operator" | "person";
  /** A sign-in within the last ten minutes: for what gives access to others, or takes everything away. */
  proof?: boolean;
  /** It concerns no workspace: its command takes none, and no workspace's audit shows it. */
  hasNoWorkspace?: boolean;
  /** It changes members or their rights: its transaction locks all of them. */
  holdsMembers?: boolean;
};

/** A right with its words in the table of rights, such as "Read settings". */
export type NamedRight = Right & { past: string };

export const readFigures: NamedRight = {
  name: "figures.read",
  past: "Read figures, alerts and files",
  least: "viewer",
};
export const readSettings: NamedRight = { name: "settings.read", past: "Read settings", least: "viewer" };
export const readSources: NamedRight = { name: "sources.read", past: "Read the sources", least: "admin" };
export const readAudit: NamedRight = { name: "audit.read", past: "Read the audit log", least: "admin" };
export const readAuditOfAll: NamedRight = {
  name: "audit.read_all",
  past: "Read the audit log of every workspace",
  least: "operator",
  hasNoWorkspace: true,
};

const STANDINGS: readonly Actor["standing"][] = ["person", ...ROLES, "operator"];

/** Whether a role suffices for a right, without regard to reauthentication. */
export function mayDo(standing: Actor["standing"], { least }: Pick<Right, "least">): boolean {
  return STANDINGS.indexOf(standing) >= STANDINGS.indexOf(least);
}

/** Throws a `Refusal` when the actor may not do this: "forbidden" by role, "unconfirmed" without fresh proof. */
export function requireRight(actor: Actor, right: Right): void {
  const { least, proof = false } = right;
  if (!mayDo(actor.standing, right)) {
    const sentence =
      least === "operator"
        ? "Only an operator of the installation may do this."
        : `This needs the role ${least}; yours is ${actor.standing}.`;
    throw new Refusal("forbidden", sentence);
  }
  if (proof && !actor.isFresh) {
    throw new Refusal(
      "unconfirmed",
      "Confirm your identity: this needs a sign-in within the last ten minutes.",
    );
  }
}

/** Who acts, as their request was admitted, and for what. */
type Sender = {
  actor: Actor;
  right: Right;
  /** null = it concerns no workspace. */
  shopKey: number | null;
  now: Date;
};

/** The actor as they are at this moment, and the members of the workspace; [] unless the right `holdsMembers`. */
export type HeldRights = { actor: Actor; members: readonly WorkspaceMemberRow[] };

/** The sender of a request has since been signed out ("signed_out"), or is no longer a member of the workspace ("not_found"). */
export class SenderGone extends Error {
  readonly reason: "signed_out" | "not_found";

  constructor(reason: SenderGone["reason"]) {
    super(`the sender of the request: ${reason}`);
    this.reason = reason;
  }
}

/**
 * Reads the rights of somebody who is signed in again, and holds them to the end of the transaction. Of an action and a
 * removal, demotion or sign-out at the same time, one comes first, and the other sees it.
 *
 * Lock order of everything that concerns people: memberships and people, by the person's id; sessions, links and passkeys;
 * names; rows of a workspace. So an action that changes members holds all of them first, any other one the sender's alone.
 *
 * @throws SenderGone, Refusal as `requireRight`, and "forbidden" when the role is another one since
 */
export async function holdRights(
  connection: Connection,
  { actor, right, shopKey, now }: Sender,
): Promise<HeldRights> {
  const holdsMembers = right.holdsMembers === true;
  const members = holdsMembers && shopKey !== null ? await lockMembers(connection, shopKey) : [];
  if (actor.session === null) return { actor, members };
  const { userId, sessionHash } = actor.session;
  let role: Actor["standing"] | null = null;
  // What operators alone may do, they do to workspaces that they are no members of.
  const isOfInstallation = shopKey === null || right.least === "operator";
  if (isOfInstallation) {
    await lockMemberships(connection, userId);
    await lockPerson(connection, userId);
  } else if (holdsMembers) {
    role = members.find((member) => member.user_id === userId)?.role ?? null;
  } else {
    role = await holdRole(connection, shopKey, userId);
  }
  const session = await holdSession(connection, sessionHash);
  if (session?.user_id !== userId) throw new SenderGone("signed_out");
  if (!isOfInstallation && role === null) throw new SenderGone("not_found");
  const standing: Actor["standing"] =
    role ?? (session.is_operator && actor.standing === "operator" ? "operator" : "person");
  const present = { ...actor, standing, isFresh: isFreshProof(session.proved_at, now) };
  requireRight(present, right);
  if (standing !== actor.standing) {
    throw new Refusal("forbidden", "Your role has changed since you sent this. Nothing was changed.");
  }
  return { actor: present, members };
}
