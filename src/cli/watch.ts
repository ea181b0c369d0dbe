import type { Command } from "commander";
import { showWatched, unwatch, watch, WATCHED_TYPES } from "../control/watchlist.ts";
import type { WatchResult } from "../control/watchlist.ts";
import { requireWorkspace } from "../control/workspace.ts";
import { formatTable } from "../lib/table.ts";
import { inSession } from "./session.ts";
import type { CommandContext } from "./session.ts";

type Options = { workspace: string };

export function addWatchCommands(program: Command, context: CommandContext): void {
  const group = program
    .command("watch")
    .description("The watchlist: entities whose return rate is watched for spikes.")
    .addHelpText(
      "before",
      "Examples:\n" +
        "  ./returns watch add sku LAMP-01 --workspace shop.example\n" +
        "  ./returns watch add family Lighting --workspace shop.example\n",
    );
  addChange(group, context, "add", "Watch an entity.");
  addChange(group, context, "remove", "Stop watching an entity.");
  group
    .command("list")
    .description("Show what is watched.")
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .action((options: Options, command: Command) =>
      inSession(context, command, async ({ database, terminal }) => {
        const workspace = await requireWorkspace(database, options.workspace);
        const watched = await showWatched(database, workspace);
        const rows = watched.map((entry) => [entry.type, entry.key, entry.added_at]);
        terminal.print(watched, formatTable(["type", "key", "added"], rows, terminal.style));
      }),
    );
}

function addChange(
  group: Command,
  context: CommandContext,
  name: "add" | "remove",
  description: string,
): void {
  group
    .command(name)
    .description(description)
    .argument("<type>", WATCHED_TYPES.join(", "))
    .argument("<key>", "the SKU, product gid, family or category")
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .action((type: string, key: string, options: Options, command: Command) =>
      inSession(context, command, async ({ database, terminal }) => {
        const workspace = await requireWorkspace(database, options.workspace);
        const act = name === "add" ? watch : unwatch;
        const result = await act(database, workspace, type, key);
        terminal.print(result, `${sentenceOf(name, result)}\n`);
      }),
    );
}

function sentenceOf(name: "add" | "remove", { type, key, changed }: WatchResult): string {
  if (name === "add") return `The ${type} ${key} is ${changed ? "watched" : "watched already"}.`;
  return `The ${type} ${key} is ${changed ? "not watched any more" : "not watched"}.`;
}
