import type { Command } from "commander";
import { rebuildData } from "../control/rebuild.ts";
import { requireWorkspace } from "../control/workspace.ts";
import { inSession } from "./session.ts";
import type { CommandContext } from "./session.ts";

export function addRebuildCommand(program: Command, context: CommandContext): void {
  program
    .command("rebuild")
    .description("Recompute everything that is served from the stored source data.")
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .addHelpText("before", "Example:\n  ./returns rebuild --workspace shop.example\n")
    .action((options: { workspace: string }, command: Command) =>
      inSession(context, command, async ({ database, terminal }) => {
        const workspace = await requireWorkspace(database, options.workspace);
        terminal.showStatus("Rebuilding…");
        const rebuilt = await rebuildData(database, workspace);
        terminal.print(
          rebuilt,
          `Rebuilt ${rebuilt.shop_domain}; its data version is ${rebuilt.data_version}.\n`,
        );
      }),
    );
}
