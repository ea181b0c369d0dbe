import { createHash } from "node:crypto";
import type { Actor } from "../actor.ts";
import { impossible, invalid } from "../refusal.ts";
import { checkEnrolment, PASSKEY_REFUSALS, type PasskeySite } from "../../access/passkey.ts";
import type { Provider, ProviderAccount } from "../../access/provider.ts";
import { keyFor, type Keys } from "../../lib/keys.ts";
import {
  deletePasskey,
  insertPasskey,
  listPasskeys,
  deleteOtherSessions,
  deleteSession,
  listSessions,
  lockPerson,
} from "../../store/queries/console-user.ts";
import type { NewPasskey } from "../../store/queries/console-user.ts";
import { deleteAccounts, findAccountOf, insertAccount } from "../../store/queries/provider-account.ts";
import { defineAction, type ActionContext, type ActionCaller } from "../action.ts";
import { anyText, flag, own, text } from "../field.ts";
import { giveName, PERSON_NAME_MAX_LENGTH, readPersonName } from "../people/person-name.ts";

/** Somebody who is signed in, at their own account. */
export type AccountCaller = ActionCaller & {
  actor: { session: NonNullable<Actor["session"]> };
  keys: Keys;
  /** The site for which this browser can create a passkey; null = it cannot create one here. */
  site: PasskeySite | null;
  /** On https, where the last passkey is the only way in. */
  isPublic: boolean;
  provider: Provider | null;
  /** An account of theirs at the provider, as it has just said. */
  account?: ProviderAccount;
};

export const NO_PASSKEYS_HERE =
  "Passkeys do not work on an IP address: open the console as http://localhost instead.";

/** Used instead of a session's id: all but this browser's. */
export const OTHERS = "others";

const OF_ONESELF = { least: "person", proof: true, hasNoWorkspace: true } as const;

export const renameSelf = defineAction({
  name: "me.rename",
  title: "Change name",
  past: "Changed their own name",
  ...OF_ONESELF,
  input: { name: own("Name", readPersonName) },
  run: async ({ connection, actor }: ActionContext<AccountCaller>, { name }) => {
    const { userId } = actor.session;
    const before = await lockPerson(connection, userId);
    const isChanged = before !== null && before.name !== name;
    if (isChanged) await giveName(connection, userId, name);
    return {
      result: { name },
      done: `Your name is now ${name}.`,
      // Without the name, which goes with the person.
      audit: isChanged ? { detail: { user_id: userId } } : null,
    };
  },
});

/** Adds a passkey that the browser has made under a name. */
export const addPasskey = defineAction({
  name: "passkey.add",
  title: "Add passkey",
  past: "Added a passkey",
  ...OF_ONESELF,
  input: {
    name: text("Passkey name", PERSON_NAME_MAX_LENGTH, { hint: "such as laptop, phone or security key" }),
    credential: anyText("Passkey", { kind: "hidden" }),
  },
  prepare: async (
    { database, actor, keys, site, now }: AccountCaller,
    { credential },
  ): Promise<NewPasskey> => {
    if (site === null) throw invalid(NO_PASSKEYS_HERE);
    const challengeKey = keyFor("passkeys", keys);
    const { userId } = actor.session;
    const checked = await checkEnrolment(database, { credential, site, challengeKey, userId, now });
    if ("refused" in checked) throw invalid(PASSKEY_REFUSALS[checked.refused]);
    return checked;
  },
  run: async ({ connection, actor, now }: ActionContext<AccountCaller>, { name }, passkey) => {
    const { userId } = actor.session;
    if (!(await insertPasskey(connection, userId, name, now, passkey))) {
      throw impossible("This passkey is already registered.");
    }
    return {
      result: { name },
      done: `Passkey ${name} was added.`,
      audit: { detail: { user_id: userId, name } },
    };
  },
});

/** Removes a passkey of the signed-in person; the last one only after they confirm that they will need a link to sign in. */
export const removePasskey = defineAction({
  name: "passkey.remove",
  title: "Remove passkey",
  past: "Removed a passkey",
  ...OF_ONESELF,
  input: {
    id: anyText("Passkey", { kind: "hidden" }),
    knows: flag("I understand that I will then need a link from an owner or an operator"),
  },
  run: async ({ connection, actor, isPublic, provider }: ActionContext<AccountCaller>, { id, knows }) => {
    const { userId } = actor.session;
    // Locked, so that two concurrent removals do not both find another passkey.
    await lockPerson(connection, userId);
    const others = (await listPasskeys(connection, userId)).filter(
      (passkey) => passkey.credential_id.toString("base64url") !== id,
    );
    const isLinked = provider !== null && (await findAccountOf(connection, userId, provider.issuer)) !== null;
    if (others.length === 0 && !isLinked && isPublic && !knows) {
      throw impossible("This is your last passkey: confirm that you will then need a link to sign in.");
    }
    const name = await deletePasskey(connection, userId, Buffer.from(id, "base64url"));
    if (name === null) throw impossible("You no longer have this passkey.");
    return {
      result: { name },
      done: `Passkey ${name} was removed.`,
      audit: { detail: { user_id: userId }, before: { name } },
    };
  },
});

/** Ends one session of the signed-in person, which may be this browser's, or all the others. */
export const endSession = defineAction({
  name: "session.end_other",
  title: "End session",
  past: "Ended their other sessions",
  ...OF_ONESELF,
  input: { id: anyText("Session", { kind: "hidden" }) },
  run: async ({ connection, actor, now }: ActionContext<AccountCaller>, { id }) => {
    const { userId, sessionHash } = actor.session;
    const sessions = await listSessions(connection, userId, now);
    const detail = { user_id: userId };
    if (id === OTHERS) {
      const ended = sessions.length - 1;
      await deleteOtherSessions(connection, userId, sessionHash, 0);
      return {
        result: { ended },
        done: ended === 0 ? "There was no other session." : `Your other sessions have ended: ${ended}.`,
        audit: { detail, before: { sessions: ended } },
      };
    }
    const session = sessions.find((each) => sessionIdOf(each.session_hash) === id);
    if (session === undefined) throw impossible("This session has already ended.");
    await deleteSession(connection, session.session_hash);
    return {
      result: { ended: 1 },
      done: "The session has ended.",
      audit: { detail, before: { began: session.created_at.toISOString() } },
    };
  },
});

/** Links the account that its person has just signed in with at the identity provider. */
export const linkAccount = defineAction({
  name: "account.link",
  title: "Link account",
  past: "Linked an account at the identity provider",
  ...OF_ONESELF,
  input: {},
  run: async ({ connection, actor, account, now }: ActionContext<AccountCaller>) => {
    if (account === undefined) throw impossible("Sign in with the account first, from this page.");
    const { userId } = actor.session;
    const { issuer, subject, email } = account;
    if (!(await insertAccount(connection, { issuer, subject, userId, email, now }))) {
      throw impossible("Another person has this account, or you have another one linked: unlink that first.");
    }
    return {
      result: { issuer },
      done: "Your account was linked. You can sign in with it.",
      audit: { detail: { user_id: userId, issuer } },
    };
  },
});

export const unlinkAccount = defineAction({
  name: "account.unlink",
  title: "Unlink account",
  past: "Unlinked an account at the identity provider",
  ...OF_ONESELF,
  input: { knows: removePasskey.input.knows },
  run: async ({ connection, actor, isPublic, provider }: ActionContext<AccountCaller>, { knows }) => {
    const { userId } = actor.session;
    await lockPerson(connection, userId);
    if (isPublic && !knows && (await listPasskeys(connection, userId)).length === 0) {
      throw impossible("You have no passkey: confirm that you will then need a link to sign in.");
    }
    const issuer = provider?.issuer ?? "";
    if (!(await deleteAccounts(connection, userId, issuer))) throw impossible("No account is linked.");
    return {
      result: { issuer },
      done: "Your account was unlinked.",
      audit: { detail: { user_id: userId }, before: { issuer } },
    };
  },
});

export const ACCOUNT_ACTIONS = [
  renameSelf,
  addPasskey,
  removePasskey,
  endSession,
  linkAccount,
  unlinkAccount,
] as const;

/** Names a session without giving access: a hash of the stored hash. */
export function sessionIdOf(sessionHash: Buffer): string {
  return createHash("sha256").update(sessionHash).digest("hex").slice(0, 16);
}
