import type { Endpoint } from "../contract/endpoint.ts";
import type { Queryable } from "../store/database.ts";
import { findMember } from "../store/queries/workspace-member.ts";
import type { NoMember, SessionRequest } from "../store/queries/workspace-member.ts";
import { loadWorkspace } from "../store/queries/workspace-load.ts";
import type { LoadedWorkspace } from "../store/queries/workspace-load.ts";
import type { Member } from "../store/workspace.ts";
import { billingInactive, entitlementMissing, notReady } from "./refusals.ts";

/** A person who may open the pages of a workspace, and the state in which it is. */
export type MemberAdmission = LoadedWorkspace &
  Pick<Member, "userId" | "userName" | "workspaceName" | "role" | "authenticatedAt" | "visit">;

/**
 * "signed_out" = nobody is signed in with this session. `role` null = there is no such workspace, or the person is no
 * member of it: nothing tells the two apart.
 */
export type AdmitMember = (
  request: SessionRequest,
  now?: Date,
) => Promise<MemberAdmission | NoMember | "signed_out">;

/**
 * Makes the second guard, which every page of the console passes: session, person, member, workspace. Two statements, and
 * nothing is remembered: a change bites on the very next page. The time is the database's unless it is given. A workspace
 * is admitted in any state, because its pages say which; `checkMember` is for what gives figures.
 */
export function createAdmitMember({ database }: { database: Queryable }): AdmitMember {
  return async (request, now) => {
    const member = await findMember(database, request, now ?? null);
    if (member === "signed_out" || member.role === null) return member;
    const loaded = await loadWorkspace(database, member);
    const { userId, userName, workspaceName, role, authenticatedAt, visit } = member;
    if (loaded === null) return { userId, role: null };
    return { ...loaded, userId, userName, workspaceName, role, authenticatedAt, visit };
  };
}

/**
 * The checks of the API that concern a member, in its order: billing, entitlement, readiness. The console needs no
 * `api_access`. Throws an `ApiError` (403, 409) with the API's sentence.
 */
export function checkMember(admission: LoadedWorkspace, { entitlements }: Endpoint): void {
  const { workspace, isBillingActive, readiness } = admission;
  if (!isBillingActive) throw billingInactive();
  const missing = entitlements.find(
    (entitlement) => entitlement !== "api_access" && !workspace.entitlements.includes(entitlement),
  );
  if (missing !== undefined) throw entitlementMissing(missing);
  if (readiness !== "ready") throw notReady(readiness, null);
}
