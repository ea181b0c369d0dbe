import type { Connection, Database, Queryable } from "../store/database.ts";
import { insertInstallationEvent } from "../store/queries/audit.ts";
import {
  deletePasskeys,
  insertPasskey,
  usePasskey,
  deleteSessions,
  describeLink,
  useLink,
  lockPerson,
} from "../store/queries/console-user.ts";
import type { DescribedLink } from "../store/queries/console-user.ts";
import {
  deleteAccounts,
  findAccountHolder,
  findLinksFor,
  insertAccount,
  useAccount,
} from "../store/queries/provider-account.ts";
import { endAllGrants } from "../store/queries/workspace-member.ts";
import {
  checkEnrolment,
  checkSignature,
  findAnswering,
  PASSKEY_REFUSALS,
  type PasskeySite,
} from "./passkey.ts";
import { userName } from "../lib/user-name.ts";
import { hasSignedInAgain, PROVIDER_REFUSALS, type ProviderAccount } from "./provider.ts";
import { hashSecret } from "./secret.ts";
import { beginSession, record, renewSession, type Origin, type Way } from "./session.ts";

/** Why a link was not accepted, as its person is told. */
export const LINK_REFUSALS = {
  unknown: "This link is not valid: it was withdrawn, has expired, or is not complete.",
  used: "This link has been used already; it works once.",
  expired: "This link has expired.",
  changed: "This link no longer works: the rights of the person it was created for have changed.",
  disabled: "This person can no longer sign in.",
  other: "This link is for another account or another purpose. It was not used.",
  signed_out: "You are no longer signed in.",
};

/** Why a sign-in or a confirmation failed. */
export const REFUSALS = { ...LINK_REFUSALS, ...PASSKEY_REFUSALS, ...PROVIDER_REFUSALS };
export type SignInRefusal = keyof typeof REFUSALS;

/**
 * What somebody proves with who they are. "enrolment": with a link, by creating a passkey, for hosts where a link alone does not
 * sign in. `startedAt`: when they were sent to the provider.
 */
export type Evidence =
  | { way: "link"; secret: string }
  | { way: "enrolment"; secret: string; credential: string; site: PasskeySite }
  | { way: "passkey"; credential: string; site: PasskeySite }
  | { way: "provider"; account: ProviderAccount; startedAt: Date };

/** Who asks. */
export type Browser = {
  /** Who is signed in and confirms that it is them; absent or null: somebody who signs in. */
  userId?: string | null;
  /** Of the browser's cookie. Its session ends with a sign-in, and gets a new id with a confirmation; null = it has none. */
  oldSessionHash: Buffer | null;
  origin: Origin;
  /** Whether a refusal is written down; default: yes. Not of an address where too many have failed. */
  recordsRefusals?: boolean;
};

/** `challengeKey` belongs to the installation, so that any of its servers can check a passkey. */
type Timed = { now: Date; challengeKey: Buffer };

type Request = Evidence & Browser & Timed;
/** One that brings evidence of a kind. */
type RequestBy<Kind extends Evidence["way"]> = Extract<Evidence, { way: Kind }> & Browser & Timed;

/** Why there is no session; `userId` null: the person is unknown. */
export type Refused = { outcome: SignInRefusal; userId: string | null };

/** A session that was begun, or confirmed. */
export type SignIn = { outcome: "signed_in"; session: string; userId: string; isRecovery: boolean } | Refused;

/** Whose evidence it is; `useUp` accepts it in the transaction of the session, or returns why not. */
type Found = {
  userId: string;
  way: Way;
  isRecovery?: boolean;
  account?: ProviderAccount;
  useUp: (connection: Connection) => Promise<SignInRefusal | null>;
};

/** The first passkey of a person; others get the name that the person gives them. */
const FIRST_NAME = "Created at sign-in";

/** Uses evidence up for a session with a new id. */
export async function signIn(database: Database, request: Request): Promise<SignIn> {
  const { userId = null, origin, recordsRefusals = true } = request;
  // A passkey is checked before the transaction, which would hold a connection meanwhile.
  const checked = "credential" in request ? await find(database, request) : null;
  const result =
    checked !== null && "outcome" in checked ? checked : await accept(database, checked, request);
  const { outcome } = result;
  // Guesses by strangers write nothing.
  const named = userId ?? result.userId;
  if (outcome !== "signed_in" && named !== null && recordsRefusals) {
    const detail = { user_id: named, reason: userId === null ? outcome : `proof: ${outcome}` };
    await insertInstallationEvent(database, { actor: "unknown", action: "session.refuse", detail, origin });
  }
  return result;
}

/** Whether evidence may be accepted: at most one look-up by primary key, without a write. */
export async function mayAccept(
  database: Queryable,
  evidence: Evidence & Timed & { userId: string | null },
): Promise<boolean> {
  if (evidence.way === "provider") return true;
  if (evidence.way === "passkey") return !("refused" in (await findAnswering(database, evidence)));
  return !("outcome" in (await openLink(database, evidence.secret, evidence.now)));
}

/** A refusal that takes back what its transaction has done. */
class Undone extends Error {
  readonly refused: Refused;

  constructor(refused: Refused) {
    super(refused.outcome);
    this.refused = refused;
  }
}

async function accept(database: Database, checked: Found | null, request: Request): Promise<SignIn> {
  try {
    return await database.transaction(async (connection): Promise<SignIn> => {
      const found = checked ?? (await find(connection, request));
      if ("outcome" in found) return found;
      const { userId, isRecovery = false, useUp } = found;
      // Locked before sessions, links and passkeys, in the order of changes and removals of a person, to avoid deadlocks; and so
      // that concurrent sign-ins see each other's sessions.
      const person = await lockPerson(connection, userId);
      const refusal = person?.disabled_at === null ? await useUp(connection) : "disabled";
      if (refusal !== null) throw new Undone({ outcome: refusal, userId });
      const isNew = (request.userId ?? null) === null;
      const session = await (isNew ? beginSession : renewSession)(connection, { ...request, ...found });
      if (session === null) throw new Undone({ outcome: "signed_out", userId });
      return { outcome: "signed_in", session, userId, isRecovery };
    });
  } catch (error) {
    if (error instanceof Undone) return error.refused;
    throw error;
  }
}

async function find(database: Queryable, request: Request): Promise<Found | Refused> {
  switch (request.way) {
    case "link":
      return findByLink(database, request);
    case "enrolment":
      return findByEnrolment(database, request);
    case "passkey":
      return findByPasskey(database, request);
    case "provider":
      return findByProvider(database, request);
  }
}

/** Another person's link, and one that would end passkeys, confirm nothing and stay unused. */
async function findByLink(
  database: Queryable,
  { secret, userId: confirms = null, origin, now }: RequestBy<"link" | "enrolment">,
): Promise<Found | Refused> {
  const link = await openLink(database, secret, now);
  if ("outcome" in link) return link;
  const { user_id: userId, purpose } = link;
  const isRecovery = purpose === "recover";
  if (confirms !== null && (isRecovery || userId !== confirms)) return { outcome: "other", userId };
  const useUp = async (connection: Connection): Promise<SignInRefusal | null> => {
    if (!(await useLink(connection, hashSecret(secret) as Buffer, now))) {
      const state = await openLink(connection, secret, now);
      return "outcome" in state ? state.outcome : "used";
    }
    if (isRecovery) await endAccess(connection, userId, origin);
    return null;
  };
  return { userId, way: "link", isRecovery, useUp };
}

async function findByEnrolment(
  database: Queryable,
  request: RequestBy<"enrolment">,
): Promise<Found | Refused> {
  const { origin, now } = request;
  const link = await findByLink(database, request);
  if ("outcome" in link) return link;
  const { userId } = link;
  // Before the link is used up: a person who dismisses the browser's prompt can try again.
  const passkey = await checkEnrolment(database, { ...request, userId });
  if ("refused" in passkey) return { outcome: passkey.refused, userId };
  const useUp = async (connection: Connection): Promise<SignInRefusal | null> => {
    const refusal = await link.useUp(connection);
    if (refusal !== null) return refusal;
    if (!(await insertPasskey(connection, userId, FIRST_NAME, now, passkey))) return "second";
    await record(connection, { userId, origin }, "passkey.add", { name: FIRST_NAME });
    return null;
  };
  return { ...link, way: "passkey", useUp };
}

async function findByPasskey(database: Queryable, request: RequestBy<"passkey">): Promise<Found | Refused> {
  const signed = await checkSignature(database, { ...request, userId: request.userId ?? null });
  if ("refused" in signed) return { outcome: signed.refused, userId: signed.userId ?? null };
  const { userId, credentialId, counter } = signed;
  const useUp = async (connection: Connection) =>
    (await usePasskey(connection, credentialId, counter, request.now)) ? null : "counter";
  return { userId, way: "passkey", useUp };
}

/**
 * The person of an account, known by issuer and subject alone. One that nobody has is linked to the person of the open link that
 * names its verified address, which uses that up. Whoever confirms must have signed in at the provider once more.
 */
async function findByProvider(
  database: Queryable,
  { account, startedAt, userId: confirms = null, origin, now }: RequestBy<"provider">,
): Promise<Found | Refused> {
  const { issuer, subject, email } = account;
  const use = (userId: string, refusal: SignInRefusal): Found => ({
    userId,
    way: "provider",
    account,
    useUp: async (connection) =>
      (await useAccount(connection, { issuer, subject, email, userId, now })) ? null : refusal,
  });
  if (confirms !== null) {
    const isAgain = hasSignedInAgain(account, startedAt);
    if (isAgain === null) return { outcome: "untimed", userId: confirms };
    return isAgain ? use(confirms, "foreign") : { outcome: "not_again", userId: confirms };
  }
  const holder = await findAccountHolder(database, issuer, subject);
  if (holder !== null) return use(holder, "uninvited");
  if (email === null || !account.isVerified) return { outcome: "unproven", userId: null };
  const links = await findLinksFor(database, email, now);
  const [link] = links;
  if (link === undefined) return { outcome: "uninvited", userId: null };
  const { user_id: userId, link_hash: linkHash } = link;
  if (links.some((each) => each.user_id !== userId)) return { outcome: "several", userId: null };
  const useUp = async (connection: Connection): Promise<SignInRefusal | null> => {
    if (!(await useLink(connection, linkHash, now))) return "changed";
    if (!(await insertAccount(connection, { issuer, subject, email, userId, now }))) return "taken";
    await record(connection, { userId, origin }, "account.link", { issuer });
    return null;
  };
  return { userId, way: "provider", account, useUp };
}

/** The link of a secret, if it still works, or why it does not. */
export async function openLink(
  database: Queryable,
  secret: string,
  now: Date,
): Promise<DescribedLink | Refused> {
  const linkHash = hashSecret(secret);
  const link = linkHash === null ? null : await describeLink(database, linkHash, now);
  if (link === null) return { outcome: "unknown", userId: null };
  return link.closed === null ? link : { outcome: link.closed, userId: link.user_id };
}

/**
 * A recovery link ends existing access when it is used, not when it is created: one that never arrives locks nobody out.
 * Disabling a person ends their access at once.
 */
async function endAccess(connection: Connection, userId: string, origin: Origin): Promise<void> {
  await deletePasskeys(connection, userId);
  await deleteAccounts(connection, userId, null);
  await deleteSessions(connection, userId);
  await endAllGrants(connection, userId, { name: userName(userId), origin, reason: "account recovered" });
  await record(connection, { userId, origin }, "user.recover");
}
