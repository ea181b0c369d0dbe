import { OPERATOR } from "../control/actor.ts";
import { disableUser, enableUser, grantOperator, renameUser, showPeople } from "../control/people.ts";
import { createUser } from "../control/user-create.ts";
import { linkUser } from "../control/user.ts";
import type { UserLink } from "../control/user.ts";
import { requireWorkspace } from "../control/workspace.ts";
import type { CommandGroup, CommandSession } from "./command.ts";
import { placeOfConsole } from "./console-place.ts";

type LinkOptions = { name?: string; workspace?: string; recover?: true };

const PERSON = { "<name>": "the person's name" };

export const USER: CommandGroup = {
  name: "user",
  summary: "People who use the console.",
  commands: [
    {
      name: "create",
      summary: "Create a person, who sees nothing until they are a member of a workspace.",
      arguments: { "<name>": "what they are called" },
      run: async ({ database, terminal }: CommandSession, name: string) => {
        const user = await createUser(database, OPERATOR, { name, now: new Date() });
        const rights = user.is_operator ? ", an operator of this installation" : "";
        terminal.print(user, `${user.name}${rights}\n`);
        terminal.hint("Make them a member: ./returns member add NAME --role ROLE --workspace DOMAIN");
      },
    },
    {
      name: "link",
      summary: "Print a link that signs a person in to the console, once, within 10 minutes.",
      options: {
        "--name <name>": "who signs in; a new name makes a new person (default: the first operator)",
        "--workspace <domain>": "also make the person an owner of this workspace",
        "--recover": "the link ends the passkeys and sign-ins that the person has, when it is used",
      },
      examples: ["./returns user link", 'open "$(./returns user link --name NAME --workspace shop.example)"'],
      run: async (session: CommandSession, options: LinkOptions) => {
        const { database, terminal } = session;
        const address = placeOfConsole(session);
        const workspace =
          options.workspace === undefined ? null : await requireWorkspace(database, options.workspace);
        const link = await linkUser(database, OPERATOR, {
          name: options.name,
          workspace,
          isRecovery: options.recover === true,
          address,
          now: new Date(),
        });
        terminal.print(link, `${link.link}\n`);
        terminal.hint(`${describe(link)} It works once, until ${link.expires_at.toISOString()}.`);
      },
    },
    {
      name: "list",
      summary: "Show everybody who uses the console.",
      run: async ({ database, terminal }) =>
        terminal.printTable(await showPeople(database, OPERATOR), {
          name: "name",
          operator: "is_operator",
          "disabled since": "disabled_at",
          passkeys: "passkeys",
          "last seen": "last_seen_at",
          workspaces: "workspaces",
        }),
    },
    {
      name: "disable",
      summary: "End all sessions of a person at once, and refuse new sign-ins.",
      arguments: PERSON,
      examples: ["./returns user disable NAME"],
      run: async ({ database, terminal }: CommandSession, name: string) =>
        terminal.printFields(await disableUser(database, OPERATOR, name, new Date())),
    },
    {
      name: "enable",
      summary: "Let a disabled person in again, by the passkeys that they had.",
      arguments: PERSON,
      run: async ({ database, terminal }: CommandSession, name: string) =>
        terminal.printFields(await enableUser(database, OPERATOR, name)),
    },
    {
      name: "rename",
      summary: "Give a person another name.",
      arguments: { ...PERSON, "<new-name>": "the new one" },
      run: async ({ database, terminal }: CommandSession, name: string, newName: string) =>
        terminal.printFields(await renameUser(database, OPERATOR, name, newName)),
    },
    {
      name: "grant-operator",
      summary: "Make a person an operator of this installation.",
      arguments: PERSON,
      run: async ({ database, terminal }: CommandSession, name: string) =>
        terminal.printFields(await grantOperator(database, OPERATOR, name)),
    },
  ],
};

function describe({ name, is_operator: isOperator, owner_of: domains }: UserLink): string {
  const rights = [
    isOperator ? "an operator of this installation" : null,
    domains.length > 0 ? `an owner of ${domains.join(", ")}` : null,
  ].filter((right) => right !== null);
  return `This link signs in ${name}${rights.length > 0 ? `, ${rights.join(" and ")}` : ""}.`;
}
