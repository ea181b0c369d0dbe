import type { Database } from "../store/database.ts";
import { describeLink, listPasskeys, isNewcomer, noteSeen } from "../store/queries/console-user.ts";
import type { DescribedLink } from "../store/queries/console-user.ts";
import { findAccountOf } from "../store/queries/provider-account.ts";
import { listHomes, listMemberships } from "../store/queries/workspace-member.ts";
import type { MembershipPage, MembershipRow } from "../store/queries/workspace-member.ts";
import { enrolmentOptions, signatureOptions } from "./passkey.ts";
import type { Enrolment, PasskeySite } from "./passkey.ts";
import { isSeenLongAgo, keepAlive, readSession, signOut } from "./session.ts";
import type { Origin, SeenSession } from "./session.ts";
import { mayAccept, openLink, signIn } from "./sign-in.ts";
import type { Browser, Evidence, SignIn } from "./sign-in.ts";

/** A workspace that a person may see. */
export type Membership = MembershipRow;

const WORKSPACES_PER_PAGE = 50;
export type Memberships = { workspaces: Membership[]; isMore: boolean };

/** A visit to a page of a workspace, and what is recorded of the previous one. */
type Visit = SeenSession & {
  userId: string;
  shopKey: number;
  lastShopKey: number | null;
  personSeenAt: Date | null;
};

export type Identity = ReturnType<typeof createIdentity>;

/**
 * People of the console. Nothing is cached: every call reads the database. `challengeKey` belongs to the installation and is the
 * same on every server.
 */
export function createIdentity(database: Database, now: () => Date, challengeKey: Buffer) {
  const timed = <Request extends object>(request: Request) => ({ ...request, challengeKey, now: now() });
  return {
    /** Whether evidence may be accepted, of whoever signs in or of the person who confirms. */
    mayAccept: (evidence: Evidence, userId: string | null) =>
      mayAccept(database, timed({ ...evidence, userId })),
    /** Uses evidence up for a session, or for a confirmation of one. */
    signIn: (request: Evidence & Browser): Promise<SignIn> => signIn(database, timed(request)),
    /** Content of a link's page before it is used, and why it does not work; null: no such link. */
    describeLink: async (name: string): Promise<DescribedLink | null> =>
      /^[\w-]{43}$/u.test(name) ? describeLink(database, Buffer.from(name, "base64url"), now()) : null,
    /** Whether a person has visited no page yet and has no passkey. */
    isNewcomer: (userId: string): Promise<boolean> => isNewcomer(database, userId),
    /** The browser's options to create a passkey with a link, which stays unused. */
    enrolmentByLink: async (secret: string, site: PasskeySite) => {
      const link = await openLink(database, secret, now());
      if ("outcome" in link) return link;
      const { user_id: userId, name, purpose } = link;
      return enrolmentOptions(database, timed({ userId, name, site, isRecovery: purpose === "recover" }));
    },
    /** The browser's options to sign in with any passkey, or to confirm this person's identity. */
    signatureFor: (userId: string | null, site: PasskeySite) =>
      signatureOptions(database, timed({ userId, site })),
    /** Whether a person can confirm their identity by a passkey, which they have for a host name. */
    hasPasskey: async (userId: string, { rpId }: PasskeySite): Promise<boolean> =>
      (await listPasskeys(database, userId)).some((passkey) => passkey.rp_id === rpId),
    /** Whether a person has an account at an identity provider. */
    hasAccount: async (userId: string, issuer: string): Promise<boolean> =>
      (await findAccountOf(database, userId, issuer)) !== null,
    /** The browser's options to create another passkey for a signed-in person. */
    enrolmentOf: (person: Omit<Enrolment, "now" | "isRecovery" | "challengeKey">) =>
      enrolmentOptions(database, timed({ ...person, isRecovery: false })),
    /** The person of a valid session; null: none. */
    readSession: (sessionHash: Buffer) => readSession(database, sessionHash, now()),
    /** Ends a session; null = there was none. */
    signOut: (sessionHash: Buffer, origin: Origin) => signOut(database, sessionHash, origin),
    /** By domain; `isMore`: whether others follow. */
    workspacesOf: async (userId: string, { search, after }: Omit<MembershipPage, "limit">) => {
      const limit = WORKSPACES_PER_PAGE;
      const found = await listMemberships(database, userId, { search, after, limit: limit + 1 });
      return { workspaces: found.slice(0, limit), isMore: found.length > limit };
    },
    /** The domain of the workspace that a person is led to; null = they choose, or have none. */
    homeOf: async (userId: string, lastShopKey: number | null): Promise<string | null> => {
      const [first, second] = await listHomes(database, userId, lastShopKey);
      return first !== undefined && (first.is_last || second === undefined) ? first.shop_domain : null;
    },
    /** Keeps the session of a page of a workspace alive, and makes / redirect to that workspace; writes only when due. */
    noteVisit: async ({ userId, shopKey, lastShopKey, personSeenAt, ...session }: Visit): Promise<void> => {
      const at = now();
      await keepAlive(database, session, at);
      if (lastShopKey !== shopKey || isSeenLongAgo(personSeenAt, at))
        await noteSeen(database, userId, shopKey, at);
    },
  };
}
