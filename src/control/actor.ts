import type { Role } from "../contract/role.ts";

/** Who acts, and with what rights. */
export type Actor = {
  /** As the audit names them: operator, user:<id>, merchant:<shop>. */
  name: string;
  /** Where the action came from, such as an IP address; null = this machine's command line. */
  origin: string | null;
  /** Their role in the workspace; "operator" = of the whole installation; "person" = in no workspace: on their own account. */
  standing: Role | "operator" | "person";
  /** They proved within the last ten minutes who they are. */
  isFresh: boolean;
};

/** Whoever can run a command on this installation: nothing below is out of their reach anyway. */
export const OPERATOR: Actor = { name: "operator", origin: null, standing: "operator", isFresh: true };
