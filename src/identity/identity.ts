import type { Database } from "../store/database.ts";
import { listMemberships } from "../store/queries/console-member.ts";
import type { MembershipRow } from "../store/queries/console-member.ts";
import { noteSeen } from "../store/queries/console-user.ts";
import { isSeenLongAgo, keepAlive, readSession, signIn, signOut } from "./session.ts";
import type { SeenSession, SignedIn, SignIn } from "./session.ts";

/** A workspace that a person may see. */
export type Membership = MembershipRow;

/** A page of a workspace, and what was noted of the one before. */
export type Visit = SeenSession & {
  userId: string;
  shopKey: number;
  lastShopKey: number | null;
  personSeenAt: Date | null;
};

/** Who uses the console, as its pages ask for it. Nothing is remembered: every call reads the database. */
export type Identity = {
  /** Uses up a link for a session; `oldSessionHash` is of the browser's cookie, whose session ends. */
  signIn(secret: string, oldSessionHash: Buffer | null): Promise<SignIn>;
  /** Whose valid session this is; null = nobody's. */
  readSession(sessionHash: Buffer): Promise<SignedIn | null>;
  /** Ends a session; returns whose it was. */
  signOut(sessionHash: Buffer): Promise<string | null>;
  /** By domain. */
  workspacesOf(userId: string): Promise<Membership[]>;
  /** Keeps the session of a page of a workspace alive, and makes / lead to that workspace; writes what is due alone. */
  noteVisit(visit: Visit): Promise<void>;
};

export function createIdentity(database: Database, now: () => Date): Identity {
  return {
    signIn: (secret, oldSessionHash) => signIn(database, { secret, oldSessionHash, now: now() }),
    readSession: (sessionHash) => readSession(database, sessionHash, now()),
    signOut: (sessionHash) => signOut(database, sessionHash),
    workspacesOf: (userId) => listMemberships(database, userId),
    noteVisit: async ({ userId, shopKey, lastShopKey, personSeenAt, ...session }) => {
      const at = now();
      await keepAlive(database, session, at);
      if (lastShopKey !== shopKey || isSeenLongAgo(personSeenAt, at)) {
        await noteSeen(database, userId, shopKey, at);
      }
    },
  };
}
