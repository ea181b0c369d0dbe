import type { Endpoint } from "../contract/endpoint.ts";
import { ApiError, type QuotaState } from "../contract/errors.ts";
import type { Queryable } from "../store/database.ts";
import { loadWorkspace, type LoadedWorkspace } from "../store/queries/workspace-load.ts";
import { findMember, type NoMember, type SessionRequest } from "../store/queries/workspace-member.ts";
import { StreamsBusy } from "../store/snapshot-stream.ts";
import type { Member } from "../store/workspace.ts";

/** A person who may open the pages of a workspace, and the state in which it is. */
export type MemberAdmission = LoadedWorkspace &
  Pick<Member, "userId" | "userName" | "workspaceName" | "role" | "authenticatedAt" | "visit">;

/**
 * "signed_out": the session belongs to nobody. `role` null: no such workspace, or the person is not a member; the two are
 * indistinguishable.
 */
export type AdmitMember = (
  request: SessionRequest,
  now?: Date,
) => Promise<MemberAdmission | NoMember | "signed_out">;

/**
 * Makes the second guard, which every page of the console passes: session, person, member, workspace. Two statements, and
 * nothing is cached: a change takes effect on the next page. The time is the database's unless it is given. A workspace
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

// The refusals of both admissions, so that the API and the console give the same reasons.

export function unauthorized(message: string): ApiError {
  return new ApiError("unauthorized", message);
}

export function unknownToken(): ApiError {
  return unauthorized("The API token is not known.");
}

export function billingInactive(): ApiError {
  return new ApiError("forbidden", "Billing of this workspace is not active.");
}

export function entitlementMissing(entitlement: string): ApiError {
  return new ApiError("forbidden", `The workspace's plan does not include ${entitlement}.`);
}

export function notReady(readiness: string, quota: QuotaState | null): ApiError {
  const reason = NOT_READY[readiness] ?? "; try again after the next sync.";
  return new ApiError("not_ready", `The workspace is not ready (${readiness})${reason}`, { quota });
}

const NOT_READY: Readonly<Record<string, string>> = {
  reconnecting: ": the store refuses access until its owner connects it again.",
  erasing: ": it is scheduled for erasure, which an owner can cancel.",
  moving: ": it is moving to another server; try again in a few minutes.",
};

/** For programs; the console has words of its own. */
export const WORKSPACE_BUSY =
  "Too many requests of this workspace are running at once: send fewer in parallel.";
const RETRY_BUSY_SECONDS = 1;
const RETRY_STREAM_SECONDS = 10;

/** The workspace had no turn for the request in time, or no place for its stream. */
export function workspaceBusy(quota: QuotaState | null, error: Error): ApiError {
  if (error instanceof StreamsBusy) {
    return new ApiError("rate_limited", error.message, { quota, retryAfterSeconds: RETRY_STREAM_SECONDS });
  }
  return new ApiError("rate_limited", WORKSPACE_BUSY, { quota, retryAfterSeconds: RETRY_BUSY_SECONDS });
}
