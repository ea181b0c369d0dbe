import { ROLES } from "../contract/role.ts";
import { OPERATOR } from "../control/actor.ts";
import { addMember } from "../control/invite.ts";
import { findMemberByName, removeMember, setMemberRole, showMembers } from "../control/members.ts";
import type { CommandGroup, CommandSession } from "./command.ts";
import { placeOfConsole } from "./console-place.ts";

const NAME = { "<name>": "the person's name, from `member list`" };
const ROLE = ROLES.join(", ");

export const MEMBER: CommandGroup = {
  name: "member",
  summary: "People of a workspace, and their roles.",
  examples: [
    "./returns member add NAME --role viewer --workspace shop.example",
    "./returns member role NAME owner --workspace shop.example",
  ],
  commands: [
    {
      name: "list",
      summary: "Show the members of a workspace.",
      forWorkspace: true,
      run: async ({ database, terminal, workspace }) => {
        terminal.printTable(await showMembers(database, OPERATOR, workspace, new Date()), {
          name: "name",
          role: "role",
          since: "since",
          "last seen": "last_seen_at",
          state: ({ is_pending: isPending, is_disabled: isDisabled, link_expires_at: until }) => {
            if (isDisabled) return "disabled";
            if (!isPending) return null;
            return until === null ? "invited, without a link" : "invited";
          },
        });
      },
    },
    {
      name: "add",
      summary: "Make a person a member; a new name is invited, and its link printed once.",
      arguments: { "<name>": "the person's name" },
      required: { "--role <role>": ROLE },
      forWorkspace: true,
      run: async (session: CommandSession, name: string, { role }: { role: string }) => {
        const { database, terminal, workspace } = session;
        const { origin } = placeOfConsole(session);
        const added = await addMember(database, OPERATOR, workspace, { name, role, origin, now: new Date() });
        if (added.link === null) {
          const state = added.changed ? "is" : "already is";
          terminal.print(
            added,
            `${added.name} ${state} ${roleText(added.role)} of ${workspace.shop_domain}.\n`,
          );
          return;
        }
        terminal.print(added, `${added.link}\n`);
        terminal.hint(`This link signs in ${added.name}, once, until ${added.expires_at.toISOString()}.`);
      },
    },
    {
      name: "role",
      summary: "Give a member another role.",
      arguments: { ...NAME, "<role>": ROLE },
      forWorkspace: true,
      run: async ({ database, terminal, workspace }: CommandSession, name: string, role: string) => {
        const { user_id: userId } = await findMemberByName(database, OPERATOR, workspace, name);
        const result = await setMemberRole(database, OPERATOR, workspace, { userId, role });
        const state = result.changed ? "is" : "already is";
        terminal.print(
          result,
          `${result.name} ${state} ${roleText(result.role)} of ${workspace.shop_domain}.\n`,
        );
      },
    },
    {
      name: "remove",
      summary: "Remove a member, or withdraw an invitation.",
      arguments: NAME,
      forWorkspace: true,
      confirms: true,
      run: async ({ database, terminal, workspace, confirm }: CommandSession, name: string) => {
        const member = await findMemberByName(database, OPERATOR, workspace, name);
        await confirm(`${member.name} will see nothing of ${workspace.shop_domain} any more. Remove them?`);
        const removed = await removeMember(database, OPERATOR, workspace, member.user_id);
        terminal.print(removed, `${removed.name} is no member of ${workspace.shop_domain} any more.\n`);
      },
    },
  ],
};

function roleText(role: string): string {
  return `${role === "viewer" ? "a" : "an"} ${role}`;
}
