import { ROLES } from "../contract/role.ts";
import type { Role } from "../contract/role.ts";
import type { Actor } from "./actor.ts";
import { Refusal } from "./refusal.ts";

/** What an action, a list or a page asks of the actor. */
export type Right = {
  /** Of the action, or of what is read, such as "token.revoke": the audit's name for it, too. */
  name: string;
  /** The least role in the workspace; "operator" = operators of the installation alone; "person" = anybody, on their own account. */
  least: Role | "operator" | "person";
  /** A sign-in within the last ten minutes: for what gives access to others, or takes everything away. */
  proof?: boolean;
  /** It concerns no workspace: its command takes none, and no workspace's audit shows it. */
  hasNoWorkspace?: boolean;
  /** It changes who the members of the workspace are, or what they may do: its transaction holds all of them. */
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

/** Whether a role is enough for what a right asks for, fresh proof apart. */
export function mayDo(standing: Actor["standing"], { least }: Pick<Right, "least">): boolean {
  return STANDINGS.indexOf(standing) >= STANDINGS.indexOf(least);
}

/** Throws a `Refusal` when the actor may not do this: "forbidden" by role, "unproved" without fresh proof. */
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
    throw new Refusal("unproved", "Confirm your identity: this needs a sign-in within the last ten minutes.");
  }
}
