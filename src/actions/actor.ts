import { userInfo } from "node:os";
import type { Role } from "../contract/role.ts";

/** Who acts, and with what rights. */
export type Actor = {
  /** As the audit names them: operator, user:<id>, merchant:<shop>. */
  name: string;
  /** Where the action came from, such as an IP address; of a command: the operating system's user. */
  origin: string | null;
  /** Their role in the workspace; "operator" = of the whole installation; "person" = in no workspace: on their own account. */
  standing: Role | "operator" | "person";
  /** They confirmed their identity within the last ten minutes. */
  isFresh: boolean;
  /** The signed-in person; null: a command, or a merchant at the store platform. */
  session: { userId: string; sessionHash: Buffer } | null;
};

/** Anyone who can run a command on this installation: they have access to everything anyway. */
export const OPERATOR: Actor = {
  name: "operator",
  origin: systemUser(),
  standing: "operator",
  isFresh: true,
  session: null,
};

function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user that has no name.
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
