import type { Connection, Database, Queryable } from "../store/database.ts";
import { INSTALLATION_SHOP_KEY, insertAuditEvent } from "../store/queries/audit.ts";
import { findLink, useLink } from "../store/queries/console-link.ts";
import type { LinkRow } from "../store/queries/console-link.ts";
import { deletePasskeys } from "../store/queries/console-passkey.ts";
import {
  deleteOtherSessions,
  deleteSession,
  deleteSessions,
  findSession,
  insertSession,
  touchSession,
} from "../store/queries/console-session.ts";
import { lockPerson } from "../store/queries/console-user.ts";
import { hashSecret, newSecret } from "./secret.ts";

const IDLE_MS = 12 * 3_600_000;
const LONGEST_MS = 7 * 24 * 3_600_000;
/** So that reading pages does not write all the time. */
const TOUCH_EVERY_MS = 5 * 60_000;
const MOST_PER_PERSON = 10;

/** How long a browser may keep the cookie. */
export const LONGEST_SESSION_SECONDS = LONGEST_MS / 1000;

/** Who is signed in. */
export type SignedIn = {
  userId: string;
  name: string;
  isOperator: boolean;
  /** The workspace they looked at last, which may be gone; null = none yet. */
  lastShopKey: number | null;
};

/** A sign-in by a link: a new session, or why there is none. */
export type SignIn =
  | { outcome: "signed_in"; session: string; userId: string }
  | { outcome: "unknown" | "used" | "expired" | "disabled"; userId: string | null };

export type SignInRequest = {
  /** The secret of a link, as it was sent. */
  secret: string;
  /** Of the browser's cookie, which ends; null = it has none. */
  oldSessionHash: Buffer | null;
  now: Date;
};

/** Uses a link up for a session with a new id; the browser's old one ends. */
export async function signIn(database: Database, request: SignInRequest): Promise<SignIn> {
  const { secret, oldSessionHash, now } = request;
  const linkHash = hashSecret(secret);
  if (linkHash === null) return { outcome: "unknown", userId: null };
  return database.transaction(async (connection) => {
    const link = await useLink(connection, linkHash, now);
    if (link === null) return explainRefusal(connection, linkHash);
    const { user_id: userId } = link;
    // Held, so that of many sign-ins at once each sees the sessions of the others.
    const { disabled_at: disabledAt } = await lockPerson(connection, userId);
    if (disabledAt !== null) return { outcome: "disabled", userId };
    if (link.purpose === "recover") await endAccess(connection, link);
    if (oldSessionHash !== null) await deleteSession(connection, oldSessionHash);
    const { text, hash } = newSecret();
    const endsAt = new Date(now.getTime() + LONGEST_MS);
    await insertSession(connection, {
      sessionHash: hash,
      userId,
      createdAt: now,
      idleUntil: idleUntil(now, endsAt),
      endsAt,
    });
    await deleteOtherSessions(connection, userId, hash, MOST_PER_PERSON - 1);
    await record(connection, userId, "session.begin");
    return { outcome: "signed_in", session: text, userId };
  });
}

/**
 * A recovery link ends what the person had when it is used, not when it is made: one that never arrives locks nobody out.
 * Disabling a person ends their access at once.
 */
async function endAccess(connection: Connection, { user_id: userId }: LinkRow): Promise<void> {
  await deletePasskeys(connection, userId);
  await deleteSessions(connection, userId);
  await record(connection, userId, "user.recover");
}

async function explainRefusal(connection: Connection, linkHash: Buffer): Promise<SignIn> {
  const link = await findLink(connection, linkHash);
  if (link === null) return { outcome: "unknown", userId: null };
  return { outcome: link.used_at === null ? "expired" : "used", userId: link.user_id };
}

/** Whose valid session this is; null = nobody's. Moves its idle end on, at most every five minutes. */
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
    lastShopKey: row.last_shop_key,
  };
}

/** When a session was last seen, and when it ends in any case. */
export type SeenSession = { sessionHash: Buffer; lastSeenAt: Date; endsAt: Date };

/** Moves the idle end of a session that is in use on, at most every five minutes. */
export async function keepAlive(database: Queryable, session: SeenSession, now: Date): Promise<void> {
  const { sessionHash, lastSeenAt, endsAt } = session;
  if (now.getTime() - lastSeenAt.getTime() < TOUCH_EVERY_MS) return;
  await touchSession(database, sessionHash, now, idleUntil(now, endsAt));
}

/** Ends a session; null = there was none. */
export async function signOut(database: Database, sessionHash: Buffer): Promise<string | null> {
  return database.transaction(async (connection) => {
    const userId = await deleteSession(connection, sessionHash);
    if (userId !== null) await record(connection, userId, "session.end");
    return userId;
  });
}

function idleUntil(now: Date, endsAt: Date): Date {
  return new Date(Math.min(now.getTime() + IDLE_MS, endsAt.getTime()));
}

async function record(connection: Connection, userId: string, action: string): Promise<void> {
  await insertAuditEvent(connection, INSTALLATION_SHOP_KEY, { actor: `user:${userId}`, action, detail: {} });
}
