/** Roles of a member of a workspace; each may do what those before it may. */
export const ROLES = ["viewer", "admin", "owner"] as const;

export type Role = (typeof ROLES)[number];
