import { OPERATOR } from "../control/actor.ts";
import { listSources } from "../control/connect.ts";
import { showConnections } from "../control/connections.ts";
import { disconnectSource } from "../control/disconnect.ts";
import type { Disconnected } from "../control/disconnect.ts";
import { requireWorkspace } from "../control/workspace.ts";
import type { CommandSession, CommandSpec } from "./command.ts";

const SOURCE_NAMES = listSources()
  .map(({ source }) => source)
  .join(", ");

export const DISCONNECT: CommandSpec = {
  name: "disconnect",
  summary: "Delete the credentials of a source; what was read stays.",
  arguments: { "<source>": SOURCE_NAMES },
  forWorkspace: true,
  confirms: true,
  examples: ["./returns disconnect shopify --workspace shop.example"],
  run: async ({ database, terminal, workspace, confirm }: CommandSession, source: string) => {
    await confirm(`The credentials of ${source} are deleted and nothing new is read. Disconnect it?`);
    const result = await disconnectSource(database, OPERATOR, workspace, source);
    terminal.print(result, `${sentenceOf(result)}\n`);
  },
};

function sentenceOf({ source, was_connected: was, last_synced_at: syncedAt }: Disconnected): string {
  const stays =
    syncedAt === null ? "nothing had been read." : `what was read until ${syncedAt.toISOString()} stays.`;
  return was ? `The credentials of ${source} are deleted; ${stays}` : `${source} is not connected; ${stays}`;
}

export const CONNECTIONS: CommandSpec = {
  name: "connections",
  summary: "Show which sources are connected, in which currency, and how their last sync went.",
  options: { "--workspace <domain>": "of this workspace only" },
  run: async ({ database, terminal }, { workspace: domain }: { workspace?: string }) => {
    const workspace = domain === undefined ? null : await requireWorkspace(database, domain);
    const connections = await showConnections(database, workspace);
    if (connections.length === 0) {
      const holder = domain === undefined ? "" : ` to ${domain}`;
      terminal.print([], `No source is connected${holder}: ./returns connect --help shows how.\n`);
      return;
    }
    terminal.printTable(connections, {
      workspace: "workspace",
      source: "source",
      account: ({ account, url }) => account ?? url,
      currency: "currency_code",
      status: "status",
      "last sync": "last_synced_at",
      "last error": "last_error",
    });
  },
};
