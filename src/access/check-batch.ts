import type { Span } from "../lib/trace.ts";
import type { Queryable } from "../store/database.ts";
import { admitCallers } from "../store/queries/admit.ts";
import type { AdmitRow, Caller, AdmissionVerdict } from "../store/queries/admit.ts";
import { hashSecret } from "./token.ts";

/** One request as the checks see it. */
export type AdmissionRequest = {
  shopKey: number;
  tokenId: string;
  secret: string;
  scope: string | null;
  entitlements: readonly string[];
  counted: boolean;
};

/** What became of a request; `row` is shared by equal requests that were checked together. */
export type AdmissionResult = {
  verdict: AdmissionVerdict | "over_quota";
  missing: string | null;
  /** Requests of the day, this one included if it was counted; null = no daily quota. */
  usedRequests: number | null;
  row: AdmitRow;
};

/** A request that waits for its result. */
export type Waiting = {
  request: AdmissionRequest;
  node: number;
  now: Date | null;
  sinceMs: number;
  /** Of its admission, if its trace is sampled. */
  span: Span | null;
  resolve: (result: AdmissionResult) => void;
  reject: (error: unknown) => void;
};

export type BatchOptions = { database: Queryable; pepper: Buffer };

/** Answers requests from one statement; returns those whose shop is locked, none when it `waits` for locks. */
export async function checkBatch(
  { database, pepper }: BatchOptions,
  batch: readonly Waiting[],
  waits: boolean,
): Promise<Waiting[]> {
  const groups = groupEqual(batch);
  const callers = groups.map((group) => callerOf(group, pepper));
  const options = { waits, now: batch[0]?.now ?? null };
  const rows = await admitCallers(database, callers, options);
  return groups.flatMap((group, index) => {
    const row = rows[index] as AdmitRow;
    if (row.verdict === "locked" && !waits) return group;
    for (const [number, { request, resolve }] of group.entries()) resolve(resultOf(row, request, number));
    return [];
  });
}

/** Sorted by shop; equal requests that follow one another in their shop's order of arrival are one group. */
function groupEqual(batch: readonly Waiting[]): Waiting[][] {
  const groups: Waiting[][] = [];
  const sorted = batch.toSorted((one, other) => one.request.shopKey - other.request.shopKey);
  for (const entry of sorted) {
    const group = groups.at(-1);
    if (group?.[0] !== undefined && isSameCaller(group[0].request, entry.request)) group.push(entry);
    else groups.push([entry]);
  }
  return groups;
}

function isSameCaller(one: AdmissionRequest, other: AdmissionRequest): boolean {
  return (
    one.shopKey === other.shopKey &&
    one.tokenId === other.tokenId &&
    one.secret === other.secret &&
    one.scope === other.scope &&
    one.entitlements === other.entitlements &&
    one.counted === other.counted
  );
}

function callerOf(group: readonly Waiting[], pepper: Buffer): Caller {
  const { secret, ...rest } = (group[0] as Waiting).request;
  return { ...rest, secretHash: hashSecret(secret, pepper), requests: group.length };
}

/** `number`: how many of its group arrived before it. */
function resultOf(row: AdmitRow, { counted }: AdmissionRequest, number: number): AdmissionResult {
  const { verdict, missing, daily_quota, used_requests, granted_requests } = row;
  const isCounted = counted && verdict === "admitted";
  const isOver = isCounted && daily_quota !== null && number >= granted_requests;
  const added = isCounted ? Math.min(number + 1, granted_requests) : 0;
  return {
    verdict: isOver ? "over_quota" : verdict,
    missing,
    usedRequests: used_requests === null ? null : used_requests + added,
    row,
  };
}
