import type { PublicKeyCredentialCreationOptionsJSON } from "@simplewebauthn/server";
import type { Connection, Database } from "../store/database.ts";
import {
  listPasskeys,
  usePasskey,
  describeLink,
  findIdToken,
  useLink,
  isNewcomer,
  loadPerson,
  lockPerson,
  noteSeen,
} from "../store/queries/console-user.ts";
import type { DescribedLink } from "../store/queries/console-user.ts";
import { findAccountOf, useAccount } from "../store/queries/provider-account.ts";
import { listHomes, listMemberships } from "../store/queries/workspace-member.ts";
import type { MembershipPage, MembershipRow } from "../store/queries/workspace-member.ts";
import { checkSignature, enrolmentOptions, findAnswering, signatureOptions } from "./passkey.ts";
import type { Enrolment, PasskeyAnswer, PasskeySite } from "./passkey.ts";
import { CLOCK_SKEW_MS } from "./provider.ts";
import type { ProviderAccount } from "./provider.ts";
import { hashSecret } from "./secret.ts";
import {
  isSeenLongAgo,
  keepAlive,
  reauthenticateSession,
  readSession,
  recordRefusal,
  signOut,
} from "./session.ts";
import type { Origin, SeenSession, Way } from "./session.ts";
import {
  openLink,
  signInByEnrolment,
  signInByLink,
  signInByPasskey,
  signInByProvider,
  whyClosed,
} from "./sign-in.ts";
import type { Browser, SignInRefusal } from "./sign-in.ts";

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

type Answer = Omit<PasskeyAnswer, "now" | "challengeKey">;

/** Content of a link's page; `closed`: why it no longer works. */
export type LinkState = DescribedLink & { closed: SignInRefusal | null };

export type Identity = ReturnType<typeof createIdentity>;

/**
 * People of the console. Nothing is cached: every call reads the database. `challengeKey` belongs to the installation and is the
 * same on every server.
 */
export function createIdentity(database: Database, now: () => Date, challengeKey: Buffer) {
  const timed =
    <Request, Result>(act: (database: Database, request: Request) => Promise<Result>) =>
    (request: Omit<Request, "now" | "challengeKey">): Promise<Result> =>
      act(database, { ...request, challengeKey, now: now() } as Request);
  return {
    /** Whether a link would work: one look-up by primary key. */
    knowsLink: async (secret: string): Promise<boolean> =>
      !("outcome" in (await openLink(database, secret, now()))),
    /** Whether an answer is to a challenge of ours, and its passkey known: at most one look-up by primary key. */
    knowsPasskey: async (answer: Answer & { userId: string | null }): Promise<boolean> => {
      const purpose = answer.userId === null ? "sign_in" : "prove";
      const found = await findAnswering(database, { ...answer, purpose, challengeKey, now: now() });
      return !("refused" in found);
    },
    /** Content of a link's page before it is used, and why it does not work; null: no such link. */
    describeLink: (name: string): Promise<LinkState | null> => readLink(database, name, now()),
    /** Whether a person has visited no page yet and has no passkey. */
    isNewcomer: (userId: string): Promise<boolean> => isNewcomer(database, userId),
    /** Uses up a link for a session. */
    signInByLink: timed(signInByLink),
    /** The browser's options to create a passkey with a link, which stays unused. */
    enrolmentByLink: async (
      secret: string,
      site: PasskeySite,
    ): Promise<PublicKeyCredentialCreationOptionsJSON | { outcome: SignInRefusal }> => {
      const link = await openLink(database, secret, now());
      if ("outcome" in link) return { outcome: link.outcome };
      const { user_id: userId, name, disabled_at: disabledAt } = await loadPerson(database, link.user_id);
      if (disabledAt !== null) return { outcome: "disabled" };
      const isRecovery = link.purpose === "recover";
      return enrolmentOptions(database, { userId, name, site, isRecovery, challengeKey, now: now() });
    },
    /** Uses up a link for a passkey and a session. */
    signInByEnrolment: timed(signInByEnrolment),
    /** The browser's options to sign in with any passkey, or to confirm this person's identity. */
    signatureFor: (userId: string | null, site: PasskeySite) => {
      const purpose = userId === null ? "sign_in" : "prove";
      return signatureOptions(database, { purpose, userId, site, challengeKey, now: now() });
    },
    signInByPasskey: timed(signInByPasskey),
    signInByProvider: timed(signInByProvider),
    /** Whether a person can confirm their identity by a passkey, which they have for a host name. */
    hasPasskey: async (userId: string, { rpId }: PasskeySite): Promise<boolean> =>
      (await listPasskeys(database, userId)).some((passkey) => passkey.rp_id === rpId),
    /** Whether a person has an account at an identity provider. */
    hasAccount: async (userId: string, issuer: string): Promise<boolean> =>
      (await findAccountOf(database, userId, issuer)) !== null,
    reauthenticateByPasskey: timed(reauthenticateByPasskey),
    reauthenticateByLink: timed(reauthenticateByLink),
    reauthenticateByProvider: timed(reauthenticateByProvider),
    /** What the provider of a session is told at sign-out; null = it began without one. */
    idTokenOf: (sessionHash: Buffer): Promise<string | null> => findIdToken(database, sessionHash),
    /** The browser's options to create another passkey for a signed-in person. */
    enrolmentOf: (person: Omit<Enrolment, "now" | "isRecovery" | "challengeKey">) =>
      enrolmentOptions(database, { ...person, isRecovery: false, challengeKey, now: now() }),
    /** The person of a valid session; null: none. */
    readSession: (sessionHash: Buffer) => readSession(database, sessionHash, now()),
    /** Ends a session; returns whose it was. */
    signOut: (sessionHash: Buffer, origin: Origin) => signOut(database, sessionHash, origin),
    /** By domain; `isMore`: whether others follow. */
    workspacesOf: async (
      userId: string,
      { search, after }: Omit<MembershipPage, "limit">,
    ): Promise<Memberships> => {
      const limit = WORKSPACES_PER_PAGE;
      const found = await listMemberships(database, userId, { search, after, limit: limit + 1 });
      return { workspaces: found.slice(0, limit), isMore: found.length > limit };
    },
    /** The domain of the workspace that a person is led to; null = they choose, or have none. */
    homeOf: (userId: string, lastShopKey: number | null) => findHome(database, userId, lastShopKey),
    /** Keeps the session of a page of a workspace alive, and makes / redirect to that workspace; writes only when due. */
    noteVisit: async ({ userId, shopKey, lastShopKey, personSeenAt, ...session }: Visit): Promise<void> => {
      const at = now();
      await keepAlive(database, session, at);
      if (lastShopKey !== shopKey || isSeenLongAgo(personSeenAt, at))
        await noteSeen(database, userId, shopKey, at);
    },
  };
}

async function findHome(database: Database, userId: string, lastShopKey: number | null) {
  const homes = await listHomes(database, userId, lastShopKey);
  const [first] = homes;
  const isSure = first?.is_last === true || homes.length === 1;
  return { shopDomain: isSure ? (first?.shop_domain ?? null) : null, hasAny: first !== undefined };
}

async function readLink(database: Database, name: string, now: Date): Promise<LinkState | null> {
  if (!/^[\w-]{43}$/u.test(name)) return null;
  const link = await describeLink(database, Buffer.from(name, "base64url"));
  if (link === null) return null;
  return { ...link, closed: link.is_disabled ? "disabled" : whyClosed(link, now) };
}

/** A new proof of who somebody is: their session under a new id, or why not. "other": a link for something else. */
export type Proof =
  | { outcome: "confirmed"; session: string }
  | { outcome: SignInRefusal | "other" | "signed_out" };

/** Whose session is renewed, and who asks. */
type ProofRequest = Pick<Browser, "origin" | "recordsRefusals"> & {
  userId: string;
  sessionHash: Buffer;
  now: Date;
  account?: ProviderAccount;
};

/** Proves by a passkey of the person. */
async function reauthenticateByPasskey(
  database: Database,
  request: ProofRequest & PasskeyAnswer,
): Promise<Proof> {
  const { userId, now } = request;
  const signed = await checkSignature(database, { ...request, purpose: "prove", userId });
  if ("refused" in signed) return refused(database, request, signed.refused);
  return renew(database, request, "passkey", async (connection) =>
    (await usePasskey(connection, signed.credentialId, signed.counter, now)) ? null : "counter",
  );
}

/** Proves by a new link of the same person. Another person's link, and one that would end passkeys, stay unused. */
async function reauthenticateByLink(
  database: Database,
  request: ProofRequest & { secret: string },
): Promise<Proof> {
  const { secret, userId, now } = request;
  const link = await openLink(database, secret, now);
  if ("outcome" in link) return refused(database, request, link.outcome);
  if (link.user_id !== userId || link.purpose === "recover") return refused(database, request, "other");
  const hash = hashSecret(secret) as Buffer;
  return renew(database, request, "link", async (connection) =>
    (await useLink(connection, hash, now)) === null ? "used" : null,
  );
}

/** An account, and when its person was sent to the provider. */
type ProviderProof = { account: ProviderAccount; startedAt: Date };

/** Proves by the person's account, whose sign-in at the provider has to be a new one. */
async function reauthenticateByProvider(
  database: Database,
  request: ProofRequest & ProviderProof,
): Promise<Proof> {
  const { account, startedAt, userId, now } = request;
  const { issuer, subject, email, authenticatedAt } = account;
  if (authenticatedAt === null) return refused(database, request, "untimed");
  if (authenticatedAt.getTime() < startedAt.getTime() - CLOCK_SKEW_MS)
    return refused(database, request, "not_again");
  return renew(database, request, "provider", async (connection) =>
    (await useAccount(connection, { issuer, subject, email, userId, now })) ? null : "foreign",
  );
}

type ProofRefusal = Exclude<Proof["outcome"], "confirmed">;

/** Locks the person first, as every change or removal of one does; `useUp` returns why the proof is not accepted. */
async function renew(
  database: Database,
  request: ProofRequest,
  way: Way,
  useUp: (connection: Connection) => Promise<ProofRefusal | null>,
): Promise<Proof> {
  const proof = await database.transaction(async (connection) => {
    const person = await lockPerson(connection, request.userId);
    if (person?.disabled_at !== null) return "disabled";
    const refusal = await useUp(connection);
    if (refusal !== null) return refusal;
    const session = await reauthenticateSession(connection, { ...request, way });
    return session === null ? "signed_out" : { session };
  });
  return typeof proof === "string"
    ? refused(database, request, proof)
    : { outcome: "confirmed", session: proof.session };
}

async function refused(database: Database, request: ProofRequest, outcome: ProofRefusal): Promise<Proof> {
  if (request.recordsRefusals !== false) await recordRefusal(database, request, `proof: ${outcome}`);
  return { outcome };
}
