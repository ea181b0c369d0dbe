import type { Command } from "commander";
import { deleteWorkspace } from "../control/workspace-delete.ts";
import { setWorkspace, WORKSPACE_SETTINGS } from "../control/workspace-settings.ts";
import { createWorkspace, requireWorkspace, shownWorkspace, showWorkspaces } from "../control/workspace.ts";
import { formatFields, formatTable } from "../lib/table.ts";
import { readAssignments } from "./assignments.ts";
import { inSession } from "./session.ts";
import type { CommandContext } from "./session.ts";

export function addWorkspaceCommands(program: Command, context: CommandContext): void {
  const group = program.command("workspace").description("Workspaces: one store each.");
  addCreate(group, context);
  addList(group, context);
  addShow(group, context);
  addSet(group, context);
  addDelete(group, context);
}

type CreateOptions = { domain: string; currency: string; plan?: string; organization?: string };

function addCreate(group: Command, context: CommandContext): void {
  group
    .command("create")
    .description("Create a workspace; it serves answers after its first import.")
    .requiredOption("--domain <domain>", "the store's host name, unique in this installation")
    .requiredOption("--currency <code>", "the store's currency (ISO 4217)")
    .option("--plan <plan>", "a plan of `plan list` (default: growth)")
    .option("--organization <id>", "the organization it belongs to (default: one of its own)")
    .addHelpText(
      "before",
      "Example:\n  ./returns workspace create --domain shop.example --currency EUR --plan scale\n",
    )
    .action((options: CreateOptions, command: Command) =>
      inSession(context, command, async ({ database, terminal }) => {
        const created = await createWorkspace(database, options);
        terminal.print(created, formatFields(created, terminal.style));
        terminal.hint("Next: connect its store or import its data, then create a token.");
      }),
    );
}

function addList(group: Command, context: CommandContext): void {
  group
    .command("list")
    .description("Show every workspace.")
    .action((_options: unknown, command: Command) =>
      inSession(context, command, async ({ database, terminal }) => {
        const workspaces = await showWorkspaces(database);
        const rows = workspaces.map((shown) => [
          shown.shop_domain,
          shown.currency_code,
          shown.plan,
          shown.billing,
          shown.readiness,
          shown.data_as_of,
        ]);
        const headings = ["domain", "currency", "plan", "billing", "readiness", "data as of"];
        terminal.print(workspaces, formatTable(headings, rows, terminal.style));
      }),
    );
}

function addShow(group: Command, context: CommandContext): void {
  group
    .command("show")
    .description("Show one workspace's settings and state.")
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .action((options: { workspace: string }, command: Command) =>
      inSession(context, command, async ({ database, terminal }) => {
        const shown = shownWorkspace(await requireWorkspace(database, options.workspace));
        terminal.print(shown, formatFields(shown, terminal.style));
      }),
    );
}

function addSet(group: Command, context: CommandContext): void {
  group
    .command("set")
    .description("Change a workspace's settings; they apply from the next request.")
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .argument("<key=value...>", `settings: ${WORKSPACE_SETTINGS.join(", ")}`)
    .addHelpText(
      "before",
      "Examples:\n" +
        "  ./returns workspace set --workspace shop.example plan=enterprise\n" +
        "  ./returns workspace set --workspace shop.example primary_window_days=45 min_sold_units=10\n" +
        "  ./returns workspace set --workspace shop.example billing=inactive readiness=backfilling\n",
    )
    .action((words: string[], options: { workspace: string }, command: Command) =>
      inSession(context, command, async ({ database, terminal }) => {
        const settings = readAssignments(words);
        const workspace = await requireWorkspace(database, options.workspace);
        const shown = shownWorkspace(await setWorkspace(database, workspace, settings));
        terminal.print(shown, formatFields(shown, terminal.style));
      }),
    );
}

function addDelete(group: Command, context: CommandContext): void {
  group
    .command("delete")
    .description("Delete a workspace with all its data; this cannot be undone.")
    .argument("<domain>", "the workspace's domain")
    .option("--yes", "do not ask")
    .addHelpText("before", "Example:\n  ./returns workspace delete shop.example\n")
    .action((domain: string, options: { yes?: boolean }, command: Command) =>
      inSession(context, command, async ({ database, terminal, interruption }) => {
        const workspace = await requireWorkspace(database, domain);
        if (options.yes !== true) {
          const question = `All data, tokens, connections and history of ${workspace.shop_domain} are deleted for good. Delete it?`;
          await terminal.confirm(question, interruption.signal);
        }
        const deleted = await deleteWorkspace(database, workspace);
        terminal.print(deleted, `The workspace ${deleted.shop_domain} is deleted.\n`);
      }),
    );
}
