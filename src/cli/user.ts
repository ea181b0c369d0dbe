import { textInput } from "../actions/field.ts";
import {
  createUser,
  disableUser,
  enableUser,
  grantOperator,
  linkUser,
  renameUser,
  userList,
} from "../actions/people/actions.ts";
import { commandOf, listCommand, perform } from "./action-command.ts";
import type { CommandGroup, CommandSession } from "./command.ts";
import { personMeant, requirePerson } from "./person.ts";

type LinkOptions = { name?: string; new?: true; workspace?: string; recover?: true };

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
        "--recover": "the link ends the passkeys and sign-ins that the person has, when it is used",
      },
      examples: ["./returns user link", 'open "$(./returns user link --name NAME --workspace shop.example)"'],
      run: async (session: CommandSession, { name, new: isNew, workspace, recover }: LinkOptions) => {
        const found = name === undefined || isNew ? null : await personMeant(session, name);
        const whom = found === null ? { name } : { person: found.user_id };
        const given = { ...whom, workspace, recover: recover && "yes" };
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
