import { ApiError } from "../contract/errors.ts";
import type { QuotaState } from "../contract/errors.ts";
import { StreamsBusy } from "../store/snapshot-stream.ts";

/** The refusals of both admissions, so that the API and the console say the same for the same cause. */

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
  erasing: ": it is going to be erased unless its owner cancels that.",
  moving: ": it is moving to another server; try again in a few minutes.",
};

const RETRY_BUSY_SECONDS = 1;
const RETRY_STREAM_SECONDS = 10;

/** The workspace had no turn for the request in time, or no place for its stream. */
export function workspaceBusy(quota: QuotaState | null, error: Error): ApiError {
  if (error instanceof StreamsBusy) {
    return new ApiError("rate_limited", error.message, { quota, retryAfterSeconds: RETRY_STREAM_SECONDS });
  }
  return new ApiError(
    "rate_limited",
    "Too many requests of this workspace are running at once: send fewer in parallel.",
    { quota, retryAfterSeconds: RETRY_BUSY_SECONDS },
  );
}
