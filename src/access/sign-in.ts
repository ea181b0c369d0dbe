import type { Connection, Database, Queryable } from "../store/database.ts";
import {
  deletePasskeys,
  insertPasskey,
  usePasskey,
  deleteSessions,
  describeLink,
  useLink,
  lockPerson,
} from "../store/queries/console-user.ts";
import type { DescribedLink, LinkRow } from "../store/queries/console-user.ts";
import {
  deleteAccounts,
  findAccountHolder,
  findLinksFor,
  insertAccount,
  useAccount,
} from "../store/queries/provider-account.ts";
import { endAllGrants } from "../store/queries/workspace-member.ts";
import { checkEnrolment, checkSignature, type PasskeyAnswer, type PasskeyRefusal } from "./passkey.ts";
import type { ProviderAccount, ProviderProblem } from "./provider.ts";
import { hashSecret } from "./secret.ts";
import { beginSession, record, recordRefusal, type Origin, type Way } from "./session.ts";

/**
 * Why a sign-in failed. "changed": the person's rights differ from those of the link. "second": this passkey is already
 * registered.
 */
export type SignInRefusal =
  | "unknown"
  | "used"
  | "expired"
  | "changed"
  | "disabled"
  | "second"
  | ProviderRefusal
  | PasskeyRefusal["refused"];

/**
 * Why an account of the identity provider signs nobody in. "uninvited": nobody has it, and no open link names its address.
 * "unproven": its address is not verified. "several": links of several people name it. "taken": the person has another account there. "untimed", "not_again": it does not say
 * that its person has just proved who they are. "foreign": it is not the account of who is signed in.
 */
export type ProviderRefusal =
  | ProviderProblem
  | "uninvited"
  | "unproven"
  | "several"
  | "taken"
  | "untimed"
  | "not_again"
  | "foreign";

/** A sign-in: a new session, or why there is none. `userId` null: the person is unknown. */
export type SignIn =
  | { outcome: "signed_in"; session: string; userId: string; isRecovery: boolean }
  | { outcome: SignInRefusal; userId: string | null };

/** Who asks. */
export type Browser = {
  /** Of the browser's cookie, whose session ends; null = it has none. */
  oldSessionHash: Buffer | null;
  origin: Origin;
  /** Whether a refusal is written down; default: yes. Not of an address where too many have failed. */
  recordsRefusals?: boolean;
};

type LinkRequest = Browser & { secret: string; now: Date };

/** The first passkey of a person; others get the name that the person gives them. */
const FIRST_NAME = "Created at sign-in";

/** Uses a link up for a session with a new id; the browser's old one ends. */
export async function signInByLink(database: Database, request: LinkRequest): Promise<SignIn> {
  return withLink(database, request, async (connection, { user_id: userId, purpose }) =>
    begin(connection, userId, request, "link", purpose === "recover"),
  );
}

/** Uses up a link to register a person's passkey, which starts the session: for hosts where a link alone does not sign in. */
export async function signInByEnrolment(
  database: Database,
  request: LinkRequest & PasskeyAnswer,
): Promise<SignIn> {
  const link = await openLink(database, request.secret, request.now);
  if ("outcome" in link) return refused(database, link, request);
  const { user_id: userId } = link;
  // Before the link is used up: who dismisses the browser's question may try again.
  const checked = await checkEnrolment(database, { ...request, userId });
  if ("refused" in checked) return refused(database, { outcome: checked.refused, userId }, request);
  return withLink(database, request, async (connection, used) => {
    const signedIn = await begin(connection, userId, request, "passkey", used.purpose === "recover");
    if (signedIn.outcome !== "signed_in") return signedIn;
    if (!(await insertPasskey(connection, userId, FIRST_NAME, checked, request.now))) {
      throw new Undone({ outcome: "second", userId });
    }
    await record(connection, { userId, origin: request.origin }, "passkey.add", { name: FIRST_NAME });
    return signedIn;
  });
}

export async function signInByPasskey(database: Database, request: Browser & PasskeyAnswer): Promise<SignIn> {
  const { now } = request;
  const signed = await checkSignature(database, { ...request, purpose: "sign_in", userId: null });
  if ("refused" in signed) {
    return refused(database, { outcome: signed.refused, userId: signed.userId ?? null }, request);
  }
  const { userId, credentialId, counter } = signed;
  const result = await database.transaction(async (connection): Promise<SignIn> => {
    // Locked, so that concurrent sign-ins see each other's sessions.
    const person = await lockPerson(connection, userId);
    if (person?.disabled_at !== null) return { outcome: "disabled", userId };
    if (!(await usePasskey(connection, credentialId, counter, now))) return { outcome: "counter", userId };
    return begin(connection, userId, request, "passkey");
  });
  return refused(database, result, request);
}

/**
 * Signs in the person of an account, known by issuer and subject alone. One that nobody has is linked to the person of the open
 * link that names its verified address, which uses that up.
 */
export async function signInByProvider(
  database: Database,
  request: Browser & { account: ProviderAccount; now: Date },
): Promise<SignIn> {
  const { account, origin, now } = request;
  return undoable(database, request, async (connection) => {
    const holder = await findAccountHolder(connection, account.issuer, account.subject);
    const found = holder === null ? await findInvited(connection, account, now) : { user_id: holder };
    if ("outcome" in found) return found;
    const { user_id: userId } = found;
    const person = await lockPerson(connection, userId);
    if (person?.disabled_at !== null) return { outcome: "disabled", userId };
    const { issuer, subject, email } = account;
    const row = { issuer, subject, email, userId, now };
    if ("link_hash" in found) {
      if ((await useLink(connection, found.link_hash, now)) === null) return { outcome: "changed", userId };
      if (!(await insertAccount(connection, row))) throw new Undone({ outcome: "taken", userId });
      await record(connection, { userId, origin }, "account.link", { issuer });
    } else if (!(await useAccount(connection, row))) return { outcome: "uninvited", userId };
    return begin(connection, userId, request, "provider");
  });
}

async function findInvited(
  connection: Connection,
  { email, isVerified }: ProviderAccount,
  now: Date,
): Promise<{ link_hash: Buffer; user_id: string } | { outcome: ProviderRefusal; userId: null }> {
  if (email === null || !isVerified) return { outcome: "unproven", userId: null };
  const links = await findLinksFor(connection, email, now);
  const [link] = links;
  if (link === undefined) return { outcome: "uninvited", userId: null };
  return links.every(({ user_id: userId }) => userId === link.user_id)
    ? link
    : { outcome: "several", userId: null };
}

/** The person whom a link that still works would sign in, or why it does not. */
export async function openLink(
  database: Queryable,
  secret: string,
  now: Date,
): Promise<LinkRow | { outcome: SignInRefusal; userId: string | null }> {
  const linkHash = hashSecret(secret);
  const link = linkHash === null ? null : await describeLink(database, linkHash);
  if (link === null) return { outcome: "unknown", userId: null };
  const outcome = whyClosed(link, now);
  return outcome === null ? link : { outcome, userId: link.user_id };
}

/** Why a link no longer works; null: it works. */
export function whyClosed(
  link: Pick<DescribedLink, "used_at" | "expires_at" | "has_its_rights">,
  now: Date,
): SignInRefusal | null {
  if (link.used_at !== null) return "used";
  if (link.expires_at <= now) return "expired";
  return link.has_its_rights ? null : "changed";
}

/** A refusal that takes back what its transaction has done. */
class Undone extends Error {
  readonly result: SignIn;

  constructor(result: SignIn) {
    super(result.outcome);
    this.result = result;
  }
}

async function withLink(
  database: Database,
  request: LinkRequest,
  signIn: (connection: Connection, link: LinkRow) => Promise<SignIn>,
): Promise<SignIn> {
  const { secret, now } = request;
  const used = async (connection: Connection): Promise<SignIn> => {
    const link = await openLink(connection, secret, now);
    if ("outcome" in link) return link;
    const { user_id: userId } = link;
    // Locked before the link, in the same order as changes and removals of a person, to avoid deadlocks.
    const person = await lockPerson(connection, userId);
    if (person?.disabled_at !== null) return { outcome: "disabled", userId };
    if (await useLink(connection, hashSecret(secret) as Buffer, now)) return signIn(connection, link);
    const state = await openLink(connection, secret, now);
    return "outcome" in state ? state : { outcome: "used", userId };
  };
  return undoable(database, request, used);
}

async function undoable(
  database: Database,
  request: Browser,
  signIn: (connection: Connection) => Promise<SignIn>,
): Promise<SignIn> {
  try {
    return await refused(database, await database.transaction(signIn), request);
  } catch (error) {
    if (error instanceof Undone) return refused(database, error.result, request);
    throw error;
  }
}

/** The person is locked, so that concurrent sign-ins see each other's sessions. */
async function begin(
  connection: Connection,
  userId: string,
  request: Browser & { now: Date; account?: ProviderAccount },
  way: Way,
  isRecovery = false,
): Promise<SignIn> {
  if (isRecovery) await endAccess(connection, userId, request.origin);
  const session = await beginSession(connection, { ...request, userId, way });
  return { outcome: "signed_in", session, userId, isRecovery };
}

/**
 * A recovery link ends existing access when it is used, not when it is created: one that never arrives locks nobody out.
 * Disabling a person ends their access at once.
 */
async function endAccess(connection: Connection, userId: string, origin: Origin): Promise<void> {
  await deletePasskeys(connection, userId);
  await deleteAccounts(connection, userId, null);
  await deleteSessions(connection, userId);
  await endAllGrants(connection, userId);
  await record(connection, { userId, origin }, "user.recover");
}

/** Records a refusal whose person is known; guesses by strangers write nothing. */
async function refused(
  database: Database,
  result: SignIn,
  { origin, recordsRefusals = true }: Browser,
): Promise<SignIn> {
  const { outcome, userId } = result;
  if (outcome !== "signed_in" && userId !== null && recordsRefusals)
    await recordRefusal(database, { userId, origin }, outcome);
  return result;
}
