import { userName } from "../lib/user-name.ts";
import type { Connection, Database, Queryable } from "../store/database.ts";
import { insertInstallationEvent } from "../store/queries/audit.ts";
import {
  deleteOtherSessions,
  deleteSession,
  findSession,
  insertSession,
  renewSession as putSession,
  touchSession,
  type EndedSession,
} from "../store/queries/console-user.ts";
import type { ProviderAccount } from "./provider.ts";
import { newSecret } from "./secret.ts";

const IDLE_MS = 12 * 3_600_000;
const LONGEST_MS = 7 * 24 * 3_600_000;
/** Limits writes while pages are read. */
const TOUCH_EVERY_MS = 5 * 60_000;
const MOST_PER_PERSON = 10;
const FRESH_MS = 10 * 60_000;

/** How long a browser may keep the cookie. */
export const LONGEST_SESSION_SECONDS = LONGEST_MS / 1000;

export type SignedIn = {
  userId: string;
  name: string;
  isOperator: boolean;
  /** When they last confirmed their identity. */
  authenticatedAt: Date;
  /** The last visited workspace, which may be gone; null: none yet. */
  lastShopKey: number | null;
};

/** How a person proves who they are. */
export type Way = "link" | "passkey" | "provider";

type NewSessionRequest = {
  userId: string;
  /** How the person came in. */
  way: Way;
  /** Of a person who comes from the identity provider; any other has just proved who they are. */
  account?: Pick<ProviderAccount, "issuer" | "authenticatedAt" | "operatorGroup" | "idToken">;
  /** Of the browser's cookie, which a new session ends, and a proof renews; null = it has none. */
  oldSessionHash: Buffer | null;
  origin: Origin;
  now: Date;
};

/** Whether a proof is fresh enough for what gives access to others. */
export function isFreshProof(authenticatedAt: Date, now: Date): boolean {
  return now.getTime() - authenticatedAt.getTime() <= FRESH_MS;
}

/** Creates a session and returns its new id; the browser's old one ends. The person must be locked. */
export async function beginSession(connection: Connection, request: NewSessionRequest): Promise<string> {
  const { userId, way, account, oldSessionHash, origin, now } = request;
  if (oldSessionHash !== null) await deleteSession(connection, oldSessionHash);
  const { text, hash } = newSecret();
  const group = account?.operatorGroup ?? null;
  const endsAt = new Date(now.getTime() + LONGEST_MS);
  await insertSession(connection, {
    sessionHash: hash,
    userId,
    createdAt: now,
    provedAt: provedAt(account, now),
    idleUntil: idleUntil(now, endsAt),
    endsAt,
    idToken: account?.idToken ?? null,
    isOperator: group !== null,
  });
  await deleteOtherSessions(connection, userId, hash, MOST_PER_PERSON - 1);
  // `endGroupOperators` reads what made the session an operator's.
  const by = group === null ? { way } : { way, group, issuer: account?.issuer };
  await record(connection, { userId, origin }, "session.begin", by);
  return text;
}

/** A session at the provider may be days old: without a word of when it began, the person still has to confirm who they are. */
function provedAt(account: NewSessionRequest["account"], now: Date): Date {
  const proved = account === undefined ? now : (account.authenticatedAt ?? new Date(0));
  return proved < now ? proved : now;
}

/**
 * Gives a session a new id after a new proof of who its person is; null = it has ended. The provider may say that somebody has
 * left the group of operators; no proof makes an operator's session of another.
 */
export async function renewSession(
  connection: Connection,
  { userId, way, oldSessionHash, account, origin, now }: NewSessionRequest,
): Promise<string | null> {
  const { text, hash } = newSecret();
  if (oldSessionHash === null) return null;
  const renewed = {
    sessionHash: hash,
    provedAt: provedAt(account, now),
    idleUntil: new Date(now.getTime() + IDLE_MS),
    mayOperate: account?.operatorGroup !== null,
  };
  if (!(await putSession(connection, userId, oldSessionHash, now, renewed))) return null;
  await record(connection, { userId, origin }, "session.prove", { way });
  return text;
}

/** The person of a valid session; null: none. Extends its idle expiry, at most every five minutes. */
export async function readSession(
  database: Queryable,
  sessionHash: Buffer,
  now: Date,
): Promise<SignedIn | null> {
  const row = await findSession(database, sessionHash, now);
  if (row === null) return null;
  await keepAlive(database, { sessionHash, lastSeenAt: row.last_seen_at, endsAt: row.ends_at }, now);
  return {
    userId: row.user_id,
    name: row.name,
    isOperator: row.is_operator,
    authenticatedAt: row.proved_at,
    lastShopKey: row.last_shop_key,
  };
}

/** When a session was last seen, and when it ends in any case. */
export type SeenSession = { sessionHash: Buffer; lastSeenAt: Date; endsAt: Date };

/** Moves the idle end of a session that is in use on, at most every five minutes. */
export async function keepAlive(database: Queryable, session: SeenSession, now: Date): Promise<void> {
  const { sessionHash, lastSeenAt, endsAt } = session;
  if (isSeenLongAgo(lastSeenAt, now)) await touchSession(database, sessionHash, now, idleUntil(now, endsAt));
}

/** Whether it is time to note that somebody is there. */
export function isSeenLongAgo(lastSeenAt: Date | null, now: Date): boolean {
  return lastSeenAt === null || now.getTime() - lastSeenAt.getTime() >= TOUCH_EVERY_MS;
}

/** Ends a session; null = there was none. */
export async function signOut(
  database: Database,
  sessionHash: Buffer,
  origin: Origin,
): Promise<EndedSession | null> {
  return database.transaction(async (connection) => {
    const ended = await deleteSession(connection, sessionHash);
    if (ended !== null) await record(connection, { userId: ended.user_id, origin }, "session.end");
    return ended;
  });
}

function idleUntil(now: Date, endsAt: Date): Date {
  return new Date(Math.min(now.getTime() + IDLE_MS, endsAt.getTime()));
}

/** Where a request came from, such as an IP address; null = not by HTTP. */
export type Origin = string | null;

/** Records a person's change to their own sign-in methods. */
export async function record(
  connection: Connection,
  { userId, origin }: { userId: string; origin: Origin },
  action: string,
  detail: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await insertInstallationEvent(connection, {
    actor: userName(userId),
    action,
    detail,
    origin,
  });
}
