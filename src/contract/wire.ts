import type { ErrorBody, QuotaState } from "./errors.ts";

export const JSON_TYPE = "application/json; charset=utf-8";

/** The bytes of a refusal's JSON body, the same on every surface. */
export function jsonText(body: ErrorBody): string {
  return JSON.stringify(body);
}

/** The members of an object as they stand between the braces of its JSON; those without a value are left out. */
export function jsonMembers(members: object): string {
  return Object.entries(members)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
    .join(",");
}

/** Never on a 401 or 403: an answer that had them already loses them. */
export const QUOTA_HEADERS = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"] as const;

/** The rate-limit headers of a workspace with a finite plan; none for an unlimited one. */
export function quotaHeaders(quota: QuotaState | null): Record<string, string> {
  if (quota === null) return {};
  return {
    "X-RateLimit-Limit": String(quota.limit),
    "X-RateLimit-Remaining": String(Math.max(0, quota.limit - quota.used)),
    "X-RateLimit-Reset": quota.resetsAt.toISOString(),
  };
}
