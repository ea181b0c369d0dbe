import { readList } from "../actions/action.ts";
import { textInput } from "../actions/field.ts";
import { quoted } from "../actions/input.ts";
import {
  addMember,
  inviteMember,
  memberList,
  restoreMember,
  removeMember,
  setMemberRole,
} from "../actions/members/actions.ts";
import {
  createUser,
  disableUser,
  enableUser,
  findByIdOrName,
  grantOperator,
  linkUser,
  renameUser,
  userList,
} from "../actions/people/actions.ts";
import { isPersonId } from "../actions/people/person-name.ts";
import type { FoundPerson } from "../actions/people/queries.ts";
import { impossible } from "../actions/refusal.ts";
import { callerOf, commandOf, listCommand, perform } from "./action-command.ts";
import type { CommandGroup, CommandSession } from "./command.ts";

type LinkOptions = { name?: string; new?: true; workspace?: string; recover?: true; email?: string };

const EMAIL_HELP =
  "a person with this verified address at the identity provider can sign in there instead of with the link";

const onPerson = {
  words: ["person", "new_name"],
  person: async (session: CommandSession, named: string) => (await requirePerson(session, named)).user_id,
};

export const USER: CommandGroup = {
  name: "user",
  summary: "People who use the console.",
  commands: [
    commandOf(createUser, { words: ["name"] }),
    {
      name: "link",
      summary: linkUser.about,
      options: {
        "--name <person>":
          "who signs in: their id, or on a terminal their name; a new name creates a new person (default: the first operator)",
        "--new": createUser.input.new.hint ?? "",
        "--workspace <domain>": "also make the person an owner of this workspace",
        "--email <address>": EMAIL_HELP,
        "--recover": "when the link is used, it ends the person's passkeys and sessions",
      },
      examples: ["./returns user link", 'open "$(./returns user link --name NAME --workspace shop.example)"'],
      run: async (session: CommandSession, { name, new: isNew, workspace, recover, email }: LinkOptions) => {
        const found = name === undefined || isNew ? null : await personMeant(session, name);
        const whom = found === null ? { name } : { person: found.user_id };
        const given = { ...whom, workspace, recover: recover && "yes", email };
        await perform(session, linkUser, textInput(given));
      },
    },
    listCommand(userList),
    commandOf(disableUser, { ...onPerson, examples: ["./returns user disable ID"] }),
    commandOf(enableUser, onPerson),
    commandOf(renameUser, onPerson),
    commandOf(grantOperator, onPerson),
  ],
};

/** The argument of a command that acts on somebody. */
const PERSON = { "<person>": "their id, or on a terminal their name" };

type Among = {
  /** Whom the command may act on; default: everybody. */
  isMeant?: (person: FoundPerson) => boolean;
  /** The question about the person; default: whether to continue. */
  question?: string;
};

/**
 * The person of an id or a name; null: nobody has that name. Members choose their names, so a name is never enough for a script;
 * on a terminal the command shows the person and asks.
 */
async function personMeant(
  session: CommandSession,
  named: string,
  { isMeant = () => true, question = "Is this the right person?" }: Among = {},
): Promise<FoundPerson | null> {
  const { terminal, interruption } = session;
  const found = (await findByIdOrName(callerOf(session), named)).filter(isMeant);
  const [person, ...others] = found;
  if (person === undefined || person.user_id === named.trim().toLowerCase()) return person ?? null;
  if (others.length > 0) {
    const list = found.map((each) => `\n  ${described(each)}`).join("");
    throw impossible(`Several people are named ${quoted(person.name)}: use an id.${list}`);
  }
  const asked = `${described(person)}. ${question}`;
  await terminal.confirm(asked, interruption.signal, "name the person by their id");
  return person;
}

/** The same, where there has to be somebody. */
async function requirePerson(
  session: CommandSession,
  named: string,
  among?: Among & { where?: string },
): Promise<FoundPerson> {
  const person = await personMeant(session, named, among);
  if (person !== null) return person;
  throw impossible(`Nobody ${among?.where ?? "here"} is named ${quoted(named.trim())}.`);
}

/** Name, id and the attributes that distinguish people with the same name. */
function described({ user_id: id, name, is_operator, disabled_at, memberships }: FoundPerson): string {
  const facts = [
    id,
    ...(is_operator ? ["an operator of this installation"] : []),
    ...(disabled_at === null ? [] : ["disabled"]),
    memberships.length === 0 ? "member of no workspace" : `member of ${memberships.join(", ")}`,
  ];
  return `${quoted(name)} is ${facts.join("; ")}`;
}

export const MEMBER: CommandGroup = {
  name: "member",
  summary: "People of a workspace, and their roles.",
  examples: [
    "./returns member add NAME --role viewer --workspace shop.example",
    "./returns member role ID owner --workspace shop.example",
  ],
  commands: [
    listCommand(memberList),
    {
      name: "add",
      summary: addMember.about,
      arguments: PERSON,
      required: { "--role <role>": addMember.input.role.hint ?? "" },
      options: {
        "--new": "invite a new person, even if somebody else has that name",
        "--email <address>": EMAIL_HELP,
      },
      forWorkspace: true,
      run: async (
        session: CommandSession,
        named: string,
        { role, new: isNew, email }: { role: string; new?: true; email?: string },
      ) => {
        const person = isNew ? null : await personMeant(session, named);
        const given = textInput({ name: named, person: person?.user_id, role, email });
        const subject = (name: string) => (name === "name" ? "<person>" : `--${name}`);
        if (person === null) await perform(session, inviteMember, { ...given, subject });
        else await perform(session, addMember, { ...given, subject });
      },
    },
    commandOf(setMemberRole, { name: "role", words: ["person", "role"], person: memberMeant }),
    commandOf(removeMember, { words: ["person"], person: memberMeant }),
    commandOf(restoreMember, { words: ["person"] }),
  ],
};

async function memberMeant(session: CommandSession, named: string, question: string | null): Promise<string> {
  const members = await readList(memberList, callerOf(session));
  const ids = new Set(members.map(({ user_id: id }) => id));
  const { user_id: id, name } = await requirePerson(session, named, {
    isMeant: (person) => ids.has(person.user_id),
    where: `in ${session.workspace.shop_domain}`,
    ...(question === null ? {} : { question }),
  });
  if (question !== null && isPersonId(named.trim())) await session.confirm(`${name}: ${question}`);
  return id;
}
