import type { Command } from "commander";
import { listSources } from "../control/connect.ts";
import { showConnections } from "../control/connections.ts";
import { disconnectSource } from "../control/disconnect.ts";
import type { Disconnected } from "../control/disconnect.ts";
import { requireWorkspace } from "../control/workspace.ts";
import { formatTable } from "../lib/table.ts";
import { inSession } from "./session.ts";
import type { CommandContext } from "./session.ts";

export function addConnectionCommands(program: Command, context: CommandContext): void {
  addDisconnect(program, context);
  addConnections(program, context);
}

type DisconnectOptions = { workspace: string; yes?: boolean };

function addDisconnect(program: Command, context: CommandContext): void {
  program
    .command("disconnect")
    .description("Delete the credentials of a source; what was read stays.")
    .argument(
      "<source>",
      listSources()
        .map(({ source }) => source)
        .join(", "),
    )
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .option("--yes", "do not ask")
    .addHelpText("before", "Example:\n  ./returns disconnect shopify --workspace shop.example\n")
    .action((source: string, options: DisconnectOptions, command: Command) =>
      inSession(context, command, async ({ database, terminal, interruption }) => {
        const workspace = await requireWorkspace(database, options.workspace);
        const question = `The credentials of ${source} are deleted and nothing new is read. Disconnect it?`;
        if (options.yes !== true) await terminal.confirm(question, interruption.signal);
        const result = await disconnectSource(database, workspace, source);
        terminal.print(result, `${sentenceOf(result)}\n`);
      }),
    );
}

function sentenceOf({ source, was_connected: was, last_synced_at: syncedAt }: Disconnected): string {
  const stays =
    syncedAt === null ? "nothing had been read." : `what was read until ${syncedAt.toISOString()} stays.`;
  return was ? `The credentials of ${source} are deleted; ${stays}` : `${source} is not connected; ${stays}`;
}

function addConnections(program: Command, context: CommandContext): void {
  program
    .command("connections")
    .description("Show which sources are connected, in which currency, and how their last sync went.")
    .option("--workspace <domain>", "of this workspace only")
    .action((options: { workspace?: string }, command: Command) =>
      inSession(context, command, async ({ database, terminal }) => {
        const { workspace: domain } = options;
        const workspace = domain === undefined ? null : await requireWorkspace(database, domain);
        const connections = await showConnections(database, workspace);
        const rows = connections.map((shown) => [
          shown.workspace,
          shown.source,
          shown.account ?? shown.url,
          shown.currency_code,
          shown.status,
          shown.last_synced_at,
          shown.last_error,
        ]);
        const headings = ["workspace", "source", "account", "currency", "status", "last sync", "last error"];
        const text = rows.length === 0 ? noneText(domain) : formatTable(headings, rows, terminal.style);
        terminal.print(connections, text);
      }),
    );
}

function noneText(domain: string | undefined): string {
  const holder = domain === undefined ? "" : ` to ${domain}`;
  return `No source is connected${holder}: ./returns connect --help shows how.\n`;
}
