import { ROLES } from "../contract/role.ts";
import type { Role } from "../contract/role.ts";
import type { Actor } from "./actor.ts";
import { Refusal } from "./refusal.ts";

/** What an action asks of the actor. */
export type Right = {
  /** The least role in the workspace; "operator" = operators of the installation alone; "person" = anybody, on their own account. */
  least: Role | "operator" | "person";
  /** Proof of who they are within the last ten minutes: what gives access to others, or takes everything away. */
  needsProof: boolean;
};

/** Who may do what, of every page and action of the console and every command. An audit event has the name of its right. */
export const RIGHTS = {
  "me.rename": { least: "person", needsProof: true },
  "passkey.add": { least: "person", needsProof: true },
  "passkey.remove": { least: "person", needsProof: true },
  "session.end_other": { least: "person", needsProof: true },
  "figures.read": { least: "viewer", needsProof: false },
  "settings.read": { least: "viewer", needsProof: false },
  "windows.set": { least: "admin", needsProof: false },
  "watch.add": { least: "admin", needsProof: false },
  "watch.remove": { least: "admin", needsProof: false },
  "sale_event.add": { least: "admin", needsProof: false },
  "sale_event.remove": { least: "admin", needsProof: false },
  "sources.read": { least: "admin", needsProof: false },
  "sync.request": { least: "admin", needsProof: false },
  "sync.cancel": { least: "admin", needsProof: false },
  "source.connect": { least: "admin", needsProof: true },
  // The address where whoever may install apps in a shop connects it.
  "source.link": { least: "admin", needsProof: true },
  "source.disconnect": { least: "admin", needsProof: true },
  "setup.close": { least: "admin", needsProof: false },
  import: { least: "admin", needsProof: false },
  // Of a folder that is sent by browser; its parts are sent, and its import is done, as an import.
  "import.start": { least: "admin", needsProof: false },
  "import.replace": { least: "admin", needsProof: false },
  "import.request": { least: "admin", needsProof: false },
  "import.cancel": { least: "admin", needsProof: false },
  "tokens.read": { least: "admin", needsProof: false },
  "token.create": { least: "admin", needsProof: true },
  "token.rotate": { least: "admin", needsProof: true },
  "token.revoke": { least: "admin", needsProof: true },
  "notify.read": { least: "admin", needsProof: false },
  // Sends the workspace's alerts somewhere else.
  "notify.add": { least: "admin", needsProof: true },
  "notify.rotate": { least: "admin", needsProof: true },
  "notify.test": { least: "admin", needsProof: false },
  "notify.pause": { least: "admin", needsProof: false },
  "notify.resume": { least: "admin", needsProof: false },
  "notify.remove": { least: "admin", needsProof: false },
  "usage.read": { least: "admin", needsProof: false },
  "audit.read": { least: "admin", needsProof: false },
  "members.read": { least: "admin", needsProof: false },
  "member.invite": { least: "admin", needsProof: true },
  "member.set": { least: "admin", needsProof: true },
  "member.remove": { least: "admin", needsProof: true },
  "member.recover": { least: "admin", needsProof: true },
  // Asked for besides where one of these concerns an owner, now or afterwards.
  "member.set_owner": { least: "owner", needsProof: true },
  "member.leave": { least: "viewer", needsProof: false },
  "plan.ask": { least: "owner", needsProof: true },
  "plan.withdraw": { least: "owner", needsProof: false },
  "workspace.export": { least: "owner", needsProof: true },
  "workspace.erase": { least: "owner", needsProof: true },
  // Takes an erasure back, which destroys nothing.
  "workspace.keep": { least: "owner", needsProof: false },
  "workspace.create": { least: "operator", needsProof: false },
  "workspace.set": { least: "operator", needsProof: false },
  "workspace.delete": { least: "operator", needsProof: false },
  "plan.set": { least: "operator", needsProof: false },
  "user.set": { least: "operator", needsProof: false },
  "user.disable": { least: "operator", needsProof: true },
  "user.enable": { least: "operator", needsProof: true },
  "user.rename": { least: "operator", needsProof: true },
  "user.grant_operator": { least: "operator", needsProof: true },
  "user.create": { least: "operator", needsProof: false },
  "audit.read_all": { least: "operator", needsProof: false },
  rebuild: { least: "operator", needsProof: false },
  distribute: { least: "operator", needsProof: false },
  "secret.add": { least: "operator", needsProof: true },
  "secret.retire": { least: "operator", needsProof: true },
  backup: { least: "operator", needsProof: false },
  restore: { least: "operator", needsProof: false },
} as const satisfies Record<string, Right>;

const STANDINGS: readonly Actor["standing"][] = ["person", ...ROLES, "operator"];

export type RightName = keyof typeof RIGHTS;

/** Whether a role is enough for what a right asks for, fresh proof apart. */
export function hasRight(standing: Actor["standing"], name: RightName): boolean {
  const { least }: Right = RIGHTS[name];
  return STANDINGS.indexOf(standing) >= STANDINGS.indexOf(least);
}

/** Throws a `Refusal` when the actor may not do this: "forbidden" by role, "unproved" without fresh proof. */
export function requireRight(actor: Actor, name: RightName): void {
  const { least, needsProof }: Right = RIGHTS[name];
  if (!hasRight(actor.standing, name)) {
    const sentence =
      least === "operator"
        ? "Only an operator of the installation may do this."
        : `This needs the role ${least}; yours is ${actor.standing}.`;
    throw new Refusal("forbidden", sentence);
  }
  if (needsProof && !actor.isFresh) {
    throw new Refusal(
      "unproved",
      "Confirm that it is you: this needs a sign-in within the last ten minutes.",
    );
  }
}
