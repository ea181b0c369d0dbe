import { OPERATOR } from "../control/actor.ts";
import { deleteWorkspace } from "../control/workspace-delete.ts";
import { setWorkspace, WORKSPACE_SETTINGS } from "../control/workspace-settings.ts";
import { createWorkspace, requireWorkspace, shownWorkspace, showWorkspaces } from "../control/workspace.ts";
import type { WorkspaceToCreate } from "../control/workspace.ts";
import { readAssignments } from "./assignments.ts";
import type { CommandGroup, CommandSession } from "./command.ts";

export const WORKSPACE: CommandGroup = {
  name: "workspace",
  summary: "Workspaces: one store each.",
  commands: [
    {
      name: "create",
      summary: "Create a workspace; it serves answers after its first import.",
      required: {
        "--domain <domain>": "the store's host name, unique in this installation",
        "--currency <code>": "the store's currency (ISO 4217)",
      },
      options: {
        "--plan <plan>": "a plan of `plan list` (default: growth)",
        "--organization <id>": "the organization it belongs to (default: one of its own)",
      },
      examples: ["./returns workspace create --domain shop.example --currency EUR --plan scale"],
      run: async ({ database, terminal }: CommandSession, options: WorkspaceToCreate) => {
        terminal.printFields(await createWorkspace(database, OPERATOR, options));
        terminal.hint("Next: connect its store or import its data, then create a token.");
      },
    },
    {
      name: "list",
      summary: "Show every workspace.",
      run: async ({ database, terminal }) =>
        terminal.printTable(await showWorkspaces(database), {
          domain: "shop_domain",
          currency: "currency_code",
          plan: "plan",
          "asks for": "requested_plan",
          billing: "billing",
          readiness: "readiness",
          "data as of": "data_as_of",
        }),
    },
    {
      name: "show",
      summary: "Show one workspace's settings and state.",
      forWorkspace: true,
      run: async ({ terminal, workspace }) => terminal.printFields(shownWorkspace(workspace)),
    },
    {
      name: "set",
      summary:
        "Change a workspace's settings; they apply from the next request. A plan answers what its owner asks for.",
      arguments: { "<key=value...>": `settings: ${WORKSPACE_SETTINGS.join(", ")}` },
      forWorkspace: true,
      examples: [
        "./returns workspace set --workspace shop.example plan=enterprise",
        "./returns workspace set --workspace shop.example primary_window_days=45 min_sold_units=10",
        "./returns workspace set --workspace shop.example billing=inactive readiness=backfilling",
      ],
      run: async ({ database, terminal, workspace }: CommandSession, words: string[]) => {
        const changed = await setWorkspace(database, OPERATOR, workspace, readAssignments(words));
        terminal.printFields(shownWorkspace(changed));
      },
    },
    {
      name: "delete",
      summary: "Delete a workspace with all its data; this cannot be undone.",
      arguments: { "<domain>": "the workspace's domain" },
      confirms: true,
      examples: ["./returns workspace delete shop.example"],
      run: async ({ database, terminal, confirm }: CommandSession, domain: string) => {
        const workspace = await requireWorkspace(database, domain);
        await confirm(
          `All data, tokens, connections and history of ${workspace.shop_domain} are deleted for good. Delete it?`,
        );
        const deleted = await deleteWorkspace(database, OPERATOR, workspace);
        terminal.print(deleted, `The workspace ${deleted.shop_domain} is deleted.\n`);
      },
    },
  ],
};
