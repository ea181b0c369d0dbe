import type { Database } from "../store/database.ts";
import { listMemberships } from "../store/queries/console-member.ts";
import type { MembershipRow } from "../store/queries/console-member.ts";
import { noteLastShop } from "../store/queries/console-user.ts";
import { readSession, signIn, signOut } from "./session.ts";
import type { SignedIn, SignIn } from "./session.ts";

/** A workspace that a person may see. */
export type Membership = MembershipRow;

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
  /** Makes / lead to this workspace from now on. */
  noteWorkspace(person: SignedIn, shopKey: number): Promise<void>;
};

export function createIdentity(database: Database, now: () => Date): Identity {
  return {
    signIn: (secret, oldSessionHash) => signIn(database, { secret, oldSessionHash, now: now() }),
    readSession: (sessionHash) => readSession(database, sessionHash, now()),
    signOut: (sessionHash) => signOut(database, sessionHash),
    workspacesOf: (userId) => listMemberships(database, userId),
    noteWorkspace: async ({ userId, lastShopKey }, shopKey) => {
      if (lastShopKey !== shopKey) await noteLastShop(database, userId, shopKey);
    },
  };
}
