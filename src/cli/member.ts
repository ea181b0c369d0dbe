import {
  addMember,
  inviteMember,
  memberList,
  removeMember,
  setMemberRole,
} from "../actions/members/actions.ts";
import { readList } from "../actions/action.ts";
import { textInput } from "../actions/field.ts";
import { isPersonId } from "../actions/people/person-name.ts";
import { callerOf, commandOf, listCommand, perform } from "./action-command.ts";
import type { CommandGroup, CommandSession } from "./command.ts";
import { PERSON, personMeant, requirePerson } from "./person.ts";

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
      options: { "--new": "invite a new person, even if somebody else has that name" },
      forWorkspace: true,
      run: async (
        session: CommandSession,
        named: string,
        { role, new: isNew }: { role: string; new?: true },
      ) => {
        const person = isNew ? null : await personMeant(session, named);
        if (person === null) await perform(session, inviteMember, textInput({ name: named, role }));
        else await perform(session, addMember, textInput({ person: person.user_id, role }));
      },
    },
    commandOf(setMemberRole, { name: "role", words: ["person", "role"], person: memberMeant }),
    commandOf(removeMember, { words: ["person"], person: memberMeant }),
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
