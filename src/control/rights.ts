import { mayDo, requireRight as requireRightOf } from "../actions/right.ts";
import type { Right } from "../actions/right.ts";
import type { Actor } from "./actor.ts";

export type { Right };

/** Who may do what, of every page and action of the console and every command. An audit event has the name of its right. */
export const RIGHTS = {
  "sources.read": { least: "admin", proof: false },
} as const satisfies Record<string, Omit<Right, "name">>;

export type RightName = keyof typeof RIGHTS;

/** A right by its name, or the action or list that is one. */
export function rightOf(right: RightName | Right): Right {
  return typeof right === "string" ? { name: right, ...RIGHTS[right] } : right;
}

/** Whether a role is enough for what a right asks for, fresh proof apart. */
export function hasRight(standing: Actor["standing"], right: RightName | Right): boolean {
  return mayDo(standing, rightOf(right));
}

/** Throws as `requireRight` of actions does. */
export function requireRight(actor: Actor, right: RightName | Right): void {
  requireRightOf(actor, rightOf(right));
}
