import { ROLES } from "../../../contract/role.ts";
import type { Role } from "../../../contract/role.ts";
import { hasRight } from "../../../control/rights.ts";

/** What a role allows besides what those before it do. */
export const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  viewer: "sees figures, alerts, files and settings",
  admin: "also changes settings, sources, tokens, and members who are no owners",
  owner: "also changes owners, asks for a plan, exports and erases everything",
};

/** The roles that somebody may give, as choices of a form. */
export function roleOptions(role: Role): (readonly [value: string, text: string])[] {
  return ROLES.filter((each) => each !== "owner" || hasRight(role, "member.set_owner")).map(
    (each) => [each, `${each}: ${ROLE_TEXTS[each]}`] as const,
  );
}
