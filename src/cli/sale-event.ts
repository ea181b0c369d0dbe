import type { Command } from "commander";
import { addSaleEvent, removeSaleEvent, showSaleEvents } from "../control/sale-event.ts";
import { requireWorkspace } from "../control/workspace.ts";
import { formatTable } from "../lib/table.ts";
import type { TextStyle } from "../lib/table.ts";
import { inSession } from "./session.ts";
import type { CommandContext } from "./session.ts";

export function addSaleEventCommands(program: Command, context: CommandContext): void {
  const group = program
    .command("sale-event")
    .description("Sale events that reports compare with other days.");
  addAdd(group, context);
  addRemove(group, context);
  addList(group, context);
}

type AddOptions = { workspace: string; label: string; startsOn: string; endsOn: string; sku: string[] };

function addAdd(group: Command, context: CommandContext): void {
  group
    .command("add")
    .description("Add a sale event, or replace the one with that slug.")
    .argument("<slug>", "its name in requests")
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .requiredOption("--label <text>", "its name for people")
    .requiredOption("--starts-on <day>", "first day, YYYY-MM-DD (UTC)")
    .requiredOption("--ends-on <day>", "last day, YYYY-MM-DD (UTC)")
    .option(
      "--sku <sku>",
      "a SKU in the sale, repeatable (default: all)",
      (sku: string, skus: string[]) => [...skus, sku],
      [],
    )
    .addHelpText(
      "before",
      "Example:\n" +
        "  ./returns sale-event add spring-2026 --workspace shop.example --label 'Spring sale' \\\n" +
        "    --starts-on 2026-04-03 --ends-on 2026-04-12 --sku LAMP-01 --sku LAMP-02\n",
    )
    .action((slug: string, options: AddOptions, command: Command) =>
      inSession(context, command, async ({ database, terminal }) => {
        const workspace = await requireWorkspace(database, options.workspace);
        const request = { ...options, slug, skus: options.sku };
        const { event, isNew } = await addSaleEvent(database, workspace, request);
        terminal.print(event, eventTable([event], terminal.style));
        terminal.hint(isNew ? "Added." : "Replaced.");
      }),
    );
}

type RemoveOptions = { workspace: string; yes?: boolean };

function addRemove(group: Command, context: CommandContext): void {
  group
    .command("remove")
    .description("Remove a sale event.")
    .argument("<slug>", "its slug, from `sale-event list`")
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .option("--yes", "do not ask")
    .action((slug: string, options: RemoveOptions, command: Command) =>
      inSession(context, command, async ({ database, terminal, interruption }) => {
        const workspace = await requireWorkspace(database, options.workspace);
        const question = `Remove the sale event ${slug}?`;
        if (options.yes !== true) await terminal.confirm(question, interruption.signal);
        const result = await removeSaleEvent(database, workspace, slug);
        terminal.print(result, result.removed ? "Removed.\n" : `There is no sale event ${slug}.\n`);
      }),
    );
}

function addList(group: Command, context: CommandContext): void {
  group
    .command("list")
    .description("Show a workspace's sale events.")
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .action((options: { workspace: string }, command: Command) =>
      inSession(context, command, async ({ database, terminal }) => {
        const workspace = await requireWorkspace(database, options.workspace);
        const events = await showSaleEvents(database, workspace);
        terminal.print(events, eventTable(events, terminal.style));
      }),
    );
}

type Event = { slug: string; label: string; starts_on: string; ends_on: string; skus: string[] | null };

function eventTable(events: readonly Event[], style: TextStyle): string {
  const rows = events.map((event) => [
    event.slug,
    event.label,
    event.starts_on,
    event.ends_on,
    event.skus ?? "all",
  ]);
  return formatTable(["slug", "label", "starts on", "ends on", "skus"], rows, style);
}
