import { readEmail } from "../../access/provider.ts";
import { makeLink, makePerson } from "../../access/link.ts";
import {
  deleteLinks,
  deleteSessions,
  findFirstOperator,
  lockPerson,
} from "../../store/queries/console-user.ts";
import type { PersonRow } from "../../store/queries/console-user.ts";
import { endAllGrants } from "../../store/queries/workspace-member.ts";
import {
  findPeople,
  findPerson,
  listPeople,
  lockPersonAndOperators,
  setDisabled,
  setOperator,
} from "./queries.ts";
import type { FoundPerson, ListedPerson } from "./queries.ts";
import { listWorkspacesWithoutMember, putOwner } from "../members/queries.ts";
import { defineAction, defineList, ShownSecret } from "../action.ts";
import type { ActionCaller, ActionContext, LinkCaller } from "../action.ts";
import { recordAction, type Detail } from "../audit/record.ts";
import { anyText, flag, optional, own } from "../field.ts";
import { quoted } from "../input.ts";
import { impossible, invalid } from "../refusal.ts";
import { requireRight } from "../right.ts";
import { requireWorkspace } from "../workspace/workspace.ts";
import { giveName, isPersonId, readPersonName, requireOwnName } from "./person-name.ts";

/** A link that signs a person in to the console, on https by a new passkey; it is shown this once. */
export type UserLink = {
  user_id: string;
  name: string;
  is_operator: boolean;
  /** The workspaces that the person owns by this link, or owned before it. */
  owner_of: string[];
  link: ShownSecret;
  expires_at: Date;
};

const OF_OPERATORS = { least: "operator", hasNoWorkspace: true } as const;

/** Whose verified address at the identity provider may use a link. */
export const signOnAddress = optional(
  own(
    "E-mail address for single sign-on",
    (subject, address): string => {
      const email = readEmail(address.trim());
      if (email !== null) return email;
      throw invalid(`${subject} must be an e-mail address such as ada@example.com.`);
    },
    {
      hint: "Optional. A person with this address, verified by the identity provider, can sign in there instead of with the link.",
    },
  ),
);

const readPersonId = (subject: string, id: string): string => {
  if (isPersonId(id)) return id;
  throw invalid(`${subject} must be a person’s id.`);
};

const person = own("Person", readPersonId, { hint: "their id, or on a terminal their name" });
const name = own("The name", readPersonName, { hint: "their name" });

const SEARCH = {
  q: optional(
    anyText("Name", { option: "search", placeholder: "text", hint: "only those whose name contains this" }),
  ),
};

/** Everybody who uses the console, by name. */
export const userList = defineList<ListedPerson, ActionCaller, typeof SEARCH>({
  name: "users.read",
  about: "List everybody who uses the console.",
  past: "Read the list of people",
  ...OF_OPERATORS,
  columns: {
    name: "name",
    id: "user_id",
    operator: "is_operator",
    "disabled since": "disabled_at",
    passkeys: "passkeys",
    "last seen": "last_seen_at",
    workspaces: "workspaces",
  },
  input: SEARCH,
  pages: {
    cursor: ({ user_id: id }) => id,
    after: ["id", "the page after a person"],
    defaultLimit: 1000,
    most: 10_000,
  },
  rows: ({ database }, { q: search }, { after, limit }) =>
    listPeople(database, { search, after: after && readPersonId("--after", after), limit }),
});

/** The people with an id or a name. People choose their names, so no action may rely on a name alone. */
export async function findByIdOrName(
  { database, actor }: ActionCaller,
  named: string,
): Promise<FoundPerson[]> {
  requireRight(actor, userList);
  const text = named.trim();
  if (!isPersonId(text)) return findPeople(database, readPersonName("The name", text));
  const found = await findPerson(database, text.toLowerCase());
  if (found === null) throw impossible(`No person has the id ${quoted(text)}.`);
  return [found];
}

/** A person who sees nothing yet. The first one of an installation without an operator becomes one. */
export const createUser = defineAction({
  name: "user.create",
  title: "Create person",
  about: "Create a person, who sees nothing until they are a member of a workspace.",
  past: "Created a person",
  ...OF_OPERATORS,
  input: { name, new: flag("New", { hint: "create a new person, even if somebody else has that name" }) },
  run: async ({ connection, now }: ActionContext<ActionCaller>, input) => {
    // Two people with one name are easily confused, so a second one must be created on purpose.
    if (!input.new && (await findPeople(connection, input.name)).length > 0) {
      throw impossible(`Somebody is already named ${quoted(input.name)}; --new creates another person.`);
    }
    const { user_id, is_operator } = await makePerson(connection, input.name, now);
    const rights = is_operator ? ", an operator of this installation" : "";
    return {
      result: { user_id, name: input.name, is_operator },
      done: `Created ${input.name}${rights}. Make them a member: ./returns member add ${user_id} --role ROLE --workspace DOMAIN`,
      audit: { detail: { user_id, is_operator } },
    };
  },
});

/**
 * Makes a link for somebody by id, for a new person, or else for the first operator. One for recovery ends the person's
 * passkeys and sessions when it is used.
 */
export const linkUser = defineAction({
  name: "user.link",
  title: "Create sign-in link",
  about: "Print a link that signs a person in to the console, once, within 10 minutes.",
  past: "Created a sign-in link",
  ...OF_OPERATORS,
  input: {
    person: optional(person),
    name: optional(name),
    workspace: optional(anyText("Workspace")),
    unseen: flag("Every workspace that has no member yet"),
    recover: flag("Recovery"),
    email: signOnAddress,
  },
  run: async (
    context: ActionContext<LinkCaller<ActionCaller>>,
    { workspace, unseen, recover, email, ...whom },
  ) => {
    const { connection, actor, consoleOrigin, now } = context;
    const origin = consoleOrigin();
    if (recover && email !== null) throw invalid("A recovery link cannot have an address.", "email");
    const { user_id, name: called, is_operator, disabled_at } = await personOf(context, whom);
    if (disabled_at !== null) throw impossible(`${quoted(called)} is disabled and cannot sign in.`);
    const owned =
      workspace !== null
        ? [await requireWorkspace(connection, workspace)]
        : unseen
          ? await listWorkspacesWithoutMember(connection)
          : [];
    for (const { shop_key: shopKey } of owned) {
      if (!(await putOwner(connection, shopKey, user_id, now))) continue;
      const detail = { user_id, role: "owner" };
      await recordAction(connection, actor, { shopKey, action: "member.set", detail });
      await requireOwnName(connection, user_id);
    }
    const purpose = recover ? "recover" : "enter";
    // Somebody who was sent an earlier link by mistake must not sign in after the recovery.
    if (recover) await deleteLinks(connection, user_id);
    const { secret, expiresAt: expires_at } = await makeLink(connection, {
      userId: user_id,
      purpose,
      now,
      email,
    });
    const link = new ShownSecret(`${origin}/enter#${secret}`);
    const owner_of = owned.map(({ shop_domain: domain }) => domain);
    const result: UserLink = { user_id, name: called, is_operator, owner_of, link, expires_at };
    const rights = [
      ...(is_operator ? ["an operator of this installation"] : []),
      ...(owner_of.length > 0 ? [`an owner of ${owner_of.join(", ")}`] : []),
    ];
    const who = rights.length > 0 ? `${called}, ${rights.join(" and ")}` : called;
    return {
      result,
      secret: link,
      done: `This link signs in ${who}. It works once, until ${expires_at.toISOString()}.`,
      audit: { detail: { user_id, purpose } },
    };
  },
});

/** Ends every sign-in of a person at once, and refuses new ones. */
export const disableUser = defineAction({
  name: "user.disable",
  title: "Disable person",
  about: "End all sessions of a person at once, and refuse new sign-ins.",
  past: "Disabled a person",
  ...OF_OPERATORS,
  proof: true,
  input: { person },
  run: (context: ActionContext<ActionCaller>, { person: id }) =>
    changePerson(context, id, "disabled", async ({ connection, now, actor }, found, isLastOperator) => {
      if (found.disabled_at !== null) return null;
      if (isLastOperator) {
        throw impossible(`${quoted(found.name)} is the last operator: make somebody else one first.`);
      }
      await setDisabled(connection, found.user_id, now);
      await deleteSessions(connection, found.user_id);
      await endAllGrants(connection, found.user_id, { ...actor, reason: "person disabled" });
      return { detail: { is_disabled: true }, before: { is_disabled: false } };
    }),
});

/** Lets a person in again, by the passkeys that they had. */
export const enableUser = defineAction({
  name: "user.enable",
  title: "Enable person",
  about: "Let a disabled person sign in again with their passkeys.",
  past: "Enabled a person",
  ...OF_OPERATORS,
  proof: true,
  input: { person },
  run: (context: ActionContext<ActionCaller>, { person: id }) =>
    changePerson(context, id, "enabled", async ({ connection }, found) => {
      if (found.disabled_at === null) return null;
      await setDisabled(connection, found.user_id, null);
      return { detail: { is_disabled: false }, before: { is_disabled: true } };
    }),
});

export const renameUser = defineAction({
  name: "user.rename",
  title: "Rename person",
  about: "Give a person another name.",
  past: "Renamed a person",
  ...OF_OPERATORS,
  proof: true,
  input: { person, new_name: own("The new name", readPersonName, { hint: "the new one" }) },
  run: (context: ActionContext<ActionCaller>, { person: id, new_name: wanted }) =>
    changePerson(context, id, `called ${wanted}`, async ({ connection }, found) => {
      if (found.name === wanted) return null;
      await giveName(connection, found.user_id, wanted);
      // Without the name, which goes with the person.
      return { detail: {} };
    }),
});

export const grantOperator = defineAction({
  name: "user.grant_operator",
  title: "Make operator",
  about: "Make a person an operator of this installation.",
  past: "Made a person an operator",
  ...OF_OPERATORS,
  proof: true,
  input: { person },
  run: (context: ActionContext<ActionCaller>, { person: id }) =>
    changePerson(context, id, "an operator of this installation", async ({ connection }, found) => {
      if (found.is_operator) return null;
      await setOperator(connection, found.user_id);
      return { detail: { is_operator: true }, before: { is_operator: false } };
    }),
});

export const USER_ACTIONS = [
  createUser,
  linkUser,
  disableUser,
  enableUser,
  renameUser,
  grantOperator,
] as const;

/** The name of the first person of an installation, unless the command gives one. */
const FIRST_NAME = "operator";

/** Somebody by id, a new person, or else the first operator, who is made when there is none. */
async function personOf(
  { connection, actor, now }: ActionContext<ActionCaller>,
  whom: { person: string | null; name: string | null },
): Promise<PersonRow> {
  if (whom.person !== null) {
    const found = await findPerson(connection, whom.person);
    if (found !== null) return found;
    throw impossible(`No person has the id ${quoted(whom.person)}.`);
  }
  const operator = whom.name === null ? await findFirstOperator(connection) : null;
  if (operator !== null) return operator;
  const made = await makePerson(connection, whom.name ?? FIRST_NAME, now);
  const detail = { user_id: made.user_id, is_operator: made.is_operator };
  await recordAction(connection, actor, { shopKey: null, action: createUser.name, detail });
  return made;
}

/**
 * Changes a person, locked together with all operators who may sign in; `change` returns their state after and before, null: no
 * change, and `state` puts it in words. In the result `changed` is false when it already was so.
 */
async function changePerson(
  context: ActionContext<ActionCaller>,
  id: string,
  state: string,
  change: (
    context: ActionContext<ActionCaller>,
    found: PersonRow,
    isLastOperator: boolean,
  ) => Promise<{ detail: Detail; before?: Detail } | null>,
) {
  const { connection } = context;
  const held = await lockPersonAndOperators(connection, id);
  const found = held.find((each) => each.user_id === id);
  if (found === undefined) throw impossible(`No person has the id ${quoted(id)}.`);
  const changed = await change(context, found, found.is_operator && held.length === 1);
  const { disabled_at: disabledAt, ...now } = (await lockPerson(connection, id)) ?? found;
  return {
    result: { ...now, is_disabled: disabledAt !== null, changed: changed !== null },
    done: `${found.name} is ${changed === null ? "already" : "now"} ${state}.`,
    audit: changed === null ? null : { ...changed, detail: { user_id: id, ...changed.detail } },
  };
}
