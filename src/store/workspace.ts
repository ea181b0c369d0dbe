import type { Queryable } from "./database.ts";

declare const admitted: unique symbol;

/** One connected source, as freshness and the label rule (M10) see it. */
export type SourceState = {
  source: string;
  kind: "store" | "label_cost";
  status: string | null;
  currencyCode: string | null;
  lastSyncedAt: Date | null;
};

/** The person of a valid session as a member of a workspace; only `findMember` makes one. */
export type Member = {
  readonly [admitted]: true;
  shopKey: number;
  userId: string;
  userName: string;
  /** The workspace's display name. */
  workspaceName: string;
  role: "viewer" | "admin" | "owner";
  /** When they last confirmed their identity. */
  authenticatedAt: Date;
  /** Recorded values of the previous visit: the person's workspace, when they and the session were last seen, and its expiry. */
  visit: { lastShopKey: number | null; personSeenAt: Date | null; lastSeenAt: Date; endsAt: Date };
};

/**
 * The workspace of an admitted request. Every query function of the request path takes one, and only admission and
 * queries/workspace-load.ts make one, for an admitted workspace or member or where the caller has checked the right in
 * another way: a query can never run for a tenant without such a check.
 */
export type Workspace = {
  readonly [admitted]: true;
  shopKey: number;
  organizationId: string;
  shopId: string | null;
  shopDomain: string;
  currencyCode: string;
  entitlements: readonly string[];
  primaryWindowDays: number;
  minSoldUnits: number;
  visibleCardSize: number;
  dataVersion: number;
  /** M5: the last successful sync of the store source; null = never synced. */
  dataAsOf: Date | null;
  /** Its day, as days since 1970-01-01. */
  asOfDay: number | null;
  sources: readonly SourceState[];
};

/** One snapshot of the database: every statement on `database` reads the facts described by `workspace`. */
export type Snapshot = { database: Queryable; workspace: Workspace };
