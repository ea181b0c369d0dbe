import type { Command } from "commander";
import { isAbandoned, showRuns } from "../control/runs.ts";
import type { RunFilter } from "../control/runs.ts";
import { formatTable } from "../lib/table.ts";
import type { TextStyle } from "../lib/table.ts";
import { countsText, durationText, stageText } from "./run-text.ts";
import { inSession } from "./session.ts";
import type { CommandContext } from "./session.ts";

type ShownRun = Awaited<ReturnType<typeof showRuns>>[number];

export function addRunsCommand(program: Command, context: CommandContext): void {
  program
    .command("runs")
    .description("Show the runs of connected sources, newest first.")
    .option("--workspace <domain>", "only of this workspace")
    .option("--source <name>", "only of this source")
    .option("--limit <number>", "how many", "20")
    .addHelpText(
      "before",
      "Examples:\n  ./returns runs\n  ./returns runs --workspace shop.example --source shopify --limit 5 --json\n",
    )
    .action((filter: RunFilter, command: Command) =>
      inSession(context, command, async ({ database, terminal }) => {
        const runs = await showRuns(database, filter);
        terminal.print(runs, runTable(runs, filter, terminal.style));
        if (await isAbandoned(database, runs)) {
          terminal.hint(
            "No worker is running: runs marked running continue when ./returns worker or serve starts.",
          );
        }
      }),
    );
}

function runTable(runs: readonly ShownRun[], { source }: RunFilter, style: TextStyle): string {
  if (runs.length === 0) return source === undefined ? "No source has run yet.\n" : `No run of ${source}.\n`;
  const headings = ["started", "workspace", "source", "kind", "by", "state", "took", "read", "remarks"];
  const rows = runs.map((run) => [
    run.started_at,
    run.shop_domain,
    run.source,
    run.kind,
    run.requested_by,
    run.attempt === 1 ? run.status : `${run.status}, try ${run.attempt}`,
    durationText(run.duration_seconds),
    Object.keys(run.counts).length > 0 ? countsText(run.counts) : stageText(run),
    [...(run.error === null ? [] : [run.error]), ...run.notes].join(" ") || null,
  ]);
  return formatTable(headings, rows, style);
}
