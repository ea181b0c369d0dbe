import type { Entitlement, Scope } from "../contract/endpoint.ts";
import { ApiError, type QuotaState } from "../contract/errors.ts";
import { rememberLast } from "../lib/remember-last.ts";
import { note, traced } from "../lib/trace.ts";
import type { Queryable } from "../store/database.ts";
import { workspaceOf } from "../store/queries/workspace-load.ts";
import type { Workspace } from "../store/workspace.ts";
import { createAdmissionQueue, type AdmissionResult } from "./admission-queue.ts";
import { billingInactive, entitlementMissing, notReady, unauthorized, unknownToken } from "./admit-member.ts";
import type { NodeOfWorkspace } from "./workspace-nodes.ts";
import { parseToken } from "./token.ts";
import type { CountedCaller } from "./usage-count.ts";

/** What a request requires of its token, plan and workspace. */
export type Need = {
  scope: Scope | null;
  entitlements: readonly Entitlement[];
  /** Whether it is a request of the daily quota; MCP's own methods are not. One that is needs a workspace that is ready. */
  counted: boolean;
};

export type Admission = { workspace: Workspace; quota: QuotaState | null; tokenId: string };

/** `onKnown` hears whose request it is, refused or not, unless its token is not valid. */
export type Admit = (
  authorization: string | undefined,
  need: Need,
  now?: Date,
  onKnown?: (caller: CountedCaller) => void,
) => Promise<Admission>;

/**
 * Creates the guard of every request. It checks token, billing, entitlement, scope, readiness and quota, in this order; the first
 * failure throws an `ApiError` (401, 403, 409, 429). Results are not cached: a changed plan, billing or readiness, or a
 * revocation, applies to the next request.
 */
export function createAdmit(options: {
  database: Queryable;
  pepper: Buffer;
  /** Connections of `database`; 4 by default. */
  connections?: number;
  /** How long a request waits for its statement; 3000 by default. */
  longestWaitMs?: number;
  /** Where Citus has spread the workspaces over nodes. */
  nodeOfWorkspace?: NodeOfWorkspace | null;
  /** Connections to such a node; `database` by default. */
  databaseOfNode?: (node: number) => Queryable;
  /** Hears how long each request has waited for its check, in seconds. */
  onChecked?: (waitSeconds: number) => void;
  /** Called for each request refused because the quota is used up. */
  onOverQuota?: () => void;
}): Admit {
  const check = createAdmissionQueue({
    connections: 4,
    nodeOfWorkspace: null,
    longestWaitMs: 3000,
    ...options,
  });
  // One object for equal requests that were checked together; they arrive consecutively.
  const workspaceOfRow = rememberLast(workspaceOf);
  return async (authorization, need, now, onKnown) => {
    const { shopKey, tokenId, secret } = readBearer(authorization);
    const { scope, entitlements, counted } = need;
    const result = await traced(ADMISSION, async () => {
      const askedMs = performance.now();
      const checked = await check({ shopKey, tokenId, secret, scope, entitlements, counted }, now).finally(
        () => options.onChecked?.((performance.now() - askedMs) / 1000),
      );
      note({ "returns.verdict": checked.verdict });
      return checked;
    });
    if (result.verdict === "over_quota") options.onOverQuota?.();
    if (!INVALID_TOKEN.has(result.verdict)) onKnown?.({ shopKey, tokenId, day: result.row.usage_day });
    refuse(result, now ?? new Date());
    return { workspace: workspaceOfRow(result.row), quota: quotaOf(result), tokenId };
  };
}

const NOTHING_NEEDED: Need = { scope: null, entitlements: [], counted: false };

/** A token's used quota, without counting: for answers that fail before admission. null: unknown, or unlimited. */
export async function quotaOfToken(
  admit: Admit,
  authorization: string | undefined,
): Promise<QuotaState | null> {
  if (authorization === undefined) return null;
  return admit(authorization, NOTHING_NEEDED).then(
    ({ quota }) => quota,
    () => null,
  );
}

const ADMISSION = { name: "admission" };

const INVALID_TOKEN: ReadonlySet<AdmissionResult["verdict"]> = new Set([
  "unknown_token",
  "revoked_token",
  "expired_token",
]);

function readBearer(authorization: string | undefined): { shopKey: number; tokenId: string; secret: string } {
  if (authorization === undefined || authorization === "") {
    throw unauthorized("Send your API token in the header Authorization: Bearer <API_TOKEN>.");
  }
  const match = /^bearer +(\S+) *$/iu.exec(authorization);
  if (match?.[1] === undefined) {
    throw unauthorized("The Authorization header must be written Bearer <API_TOKEN>.");
  }
  const token = parseToken(match[1]);
  if (token === null) {
    throw unauthorized("The API token is malformed; check that it was copied whole.");
  }
  return token;
}

function refuse(result: AdmissionResult, now: Date): void {
  const { missing, row } = result;
  switch (result.verdict) {
    case "admitted":
      return;
    case "unknown_token":
      throw unknownToken();
    case "revoked_token":
      throw unauthorized("The API token has been revoked.");
    case "expired_token":
      throw unauthorized("The API token has expired.");
    case "billing_inactive":
      throw billingInactive();
    case "entitlement_missing":
      throw entitlementMissing(String(missing));
    case "scope_missing":
      throw new ApiError(
        "forbidden",
        `The API token lacks the scope ${missing}. An owner or admin of the workspace can create a token with it.`,
        {
          missingScope: missing,
        },
      );
    case "not_ready":
      throw notReady(row.readiness, quotaOf(result));
    case "locked":
      throw new Error("admission returned a request whose workspace is locked");
    case "over_quota": {
      const quota = quotaOf(result);
      const resetsAt = quota?.resetsAt ?? now;
      throw new ApiError(
        "rate_limited",
        `The daily quota of ${row.daily_quota} requests is used up; it resets at ${resetsAt.toISOString()}.`,
        { quota, retryAfterSeconds: Math.max(1, Math.ceil((resetsAt.getTime() - now.getTime()) / 1000)) },
      );
    }
  }
}

const DAY_MS = 86_400_000;

function quotaOf({ row, usedRequests }: AdmissionResult): QuotaState | null {
  if (row.daily_quota === null) return null;
  return {
    limit: row.daily_quota,
    used: usedRequests ?? 0,
    resetsAt: new Date(Date.parse(`${row.usage_day}T00:00:00Z`) + DAY_MS),
  };
}
