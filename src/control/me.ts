import { createHash } from "node:crypto";
import { checkEnrolment } from "../identity/passkey.ts";
import type { PasskeyRefusal, PasskeySite } from "../identity/passkey.ts";
import type { Database } from "../store/database.ts";
import { deletePasskey, insertPasskey, listPasskeys } from "../store/queries/console-passkey.ts";
import { deleteOtherSessions, deleteSession, listSessions } from "../store/queries/console-session.ts";
import { lockPerson } from "../store/queries/console-user.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { readText } from "./input.ts";
import { giveName, PERSON_NAME_MAX_LENGTH } from "./person-name.ts";
import { impossible, invalid } from "./refusal.ts";
import { requireRight } from "./rights.ts";

/** Whose account it is, and in which browser. */
export type Me = { userId: string; sessionHash: Buffer };

/** A passkey of one's own; `id` is what its credential is called. */
export type MyPasskey = {
  id: string;
  name: string;
  /** The host name where it works. */
  rpId: string;
  createdAt: Date;
  /** null = never since it was made */
  lastUsedAt: Date | null;
};

/** A running sign-in; `id` opens nothing: it is a hash of the hash that is stored. */
export type MySession = { id: string; createdAt: Date; lastSeenAt: Date; isThis: boolean };

export type MyAccount = { passkeys: MyPasskey[]; sessions: MySession[] };

const REFUSED_PASSKEYS: Readonly<Record<PasskeyRefusal["refused"], string>> = {
  malformed: "The browser has sent no passkey.",
  challenge: "That took too long, or was sent twice. Add the passkey again.",
  stranger: "This passkey is not known here.",
  unverified: "The passkey did not ask for a fingerprint, a face or a PIN, which it has to.",
  counter: "This passkey may have been copied.",
  rejected: "The passkey was made for another address, or in another way than was asked for.",
  busy: "Many people are doing this right now. Add the passkey again in a moment.",
};

/** Passkeys, oldest first, and running sign-ins, newest first. */
export async function showMe(database: Database, { userId, sessionHash }: Me, now: Date): Promise<MyAccount> {
  const passkeys = await listPasskeys(database, userId);
  const sessions = await listSessions(database, userId, now);
  return {
    passkeys: passkeys.map((row) => ({
      id: row.credential_id.toString("base64url"),
      name: row.name,
      rpId: row.rp_id,
      createdAt: row.created_at,
      lastUsedAt: row.last_used_at,
    })),
    sessions: sessions.map((row) => ({
      id: sessionIdOf(row.session_hash),
      createdAt: row.created_at,
      lastSeenAt: row.last_seen_at,
      isThis: row.session_hash.equals(sessionHash),
    })),
  };
}

/** Gives oneself another name. Throws a `Refusal` when somebody has it. */
export async function renameMe(
  database: Database,
  actor: Actor,
  { userId }: Me,
  text: string,
): Promise<string> {
  requireRight(actor, "me.rename");
  const name = readText("The name", text, PERSON_NAME_MAX_LENGTH);
  await database.transaction(async (connection) => {
    const before = await lockPerson(connection, userId);
    if (before.name === name) return;
    await giveName(connection, userId, name);
    await recordAction(connection, actor, {
      shopKey: null,
      action: "me.rename",
      detail: { user_id: userId, name },
      before: { name: before.name },
    });
  });
  return name;
}

/** A passkey that the browser has made, as it was sent. */
export type SentPasskey = { name: string; credential: string; site: PasskeySite; now: Date };

/** Adds a passkey under a name. Throws a `Refusal` when it cannot be accepted. */
export async function addPasskey(
  database: Database,
  actor: Actor,
  { userId }: Me,
  sent: SentPasskey,
): Promise<string> {
  requireRight(actor, "passkey.add");
  const name = readText("The name of the passkey", sent.name, PERSON_NAME_MAX_LENGTH);
  const checked = await checkEnrolment(database, { ...sent, userId });
  if ("refused" in checked) throw invalid(REFUSED_PASSKEYS[checked.refused]);
  await database.transaction(async (connection) => {
    if (!(await insertPasskey(connection, userId, name, checked, sent.now)))
      throw impossible("This passkey is known already.");
    await recordAction(connection, actor, {
      shopKey: null,
      action: "passkey.add",
      detail: { user_id: userId, name },
    });
  });
  return name;
}

/**
 * Removes a passkey of one's own and returns its name. `keepsAWayIn`: there is another way in, or the person has said that
 * they know that they then need a link. Throws a `Refusal` when it would be the last one otherwise.
 */
export async function removePasskey(
  database: Database,
  actor: Actor,
  { userId }: Me,
  { id, keepsAWayIn }: { id: string; keepsAWayIn: boolean },
): Promise<string> {
  requireRight(actor, "passkey.remove");
  return database.transaction(async (connection) => {
    // Held, so that two removals at once do not both find another passkey.
    await lockPerson(connection, userId);
    const others = (await listPasskeys(connection, userId)).filter(
      (passkey) => passkey.credential_id.toString("base64url") !== id,
    );
    if (others.length === 0 && !keepsAWayIn) {
      throw impossible("This is your last passkey: say that you know that you then need a link to sign in.");
    }
    const name = await deletePasskey(connection, userId, Buffer.from(id, "base64url"));
    if (name === null) throw impossible("You have no such passkey any more.");
    await recordAction(connection, actor, {
      shopKey: null,
      action: "passkey.remove",
      detail: { user_id: userId },
      before: { name },
    });
    return name;
  });
}

/** Ends one sign-in of one's own, which may be this browser's. */
export async function endSession(
  database: Database,
  actor: Actor,
  me: Me,
  id: string,
  now: Date,
): Promise<void> {
  requireRight(actor, "session.end_other");
  await database.transaction(async (connection) => {
    const sessions = await listSessions(connection, me.userId, now);
    const session = sessions.find((each) => sessionIdOf(each.session_hash) === id);
    if (session === undefined) throw impossible("This sign-in has ended already.");
    await deleteSession(connection, session.session_hash);
    await recordAction(connection, actor, {
      shopKey: null,
      action: "session.end_other",
      detail: { user_id: me.userId },
      before: { began: session.created_at.toISOString() },
    });
  });
}

/** Ends every sign-in of one's own but this browser's; returns how many. */
export async function endOtherSessions(database: Database, actor: Actor, me: Me, now: Date): Promise<number> {
  requireRight(actor, "session.end_other");
  return database.transaction(async (connection) => {
    const others = (await listSessions(connection, me.userId, now)).length - 1;
    await deleteOtherSessions(connection, me.userId, me.sessionHash, 0);
    await recordAction(connection, actor, {
      shopKey: null,
      action: "session.end_other",
      detail: { user_id: me.userId },
      before: { sessions: others },
    });
    return others;
  });
}

function sessionIdOf(sessionHash: Buffer): string {
  return createHash("sha256").update(sessionHash).digest("hex").slice(0, 16);
}
