import { resolve } from "node:path";
import type { Command } from "commander";
import { importIntoWorkspace } from "../control/import.ts";
import type { ImportSummary } from "../control/import.ts";
import { readInstant } from "../control/input.ts";
import { impossible } from "../control/refusal.ts";
import { requireWorkspace } from "../control/workspace.ts";
import { formatFields } from "../lib/table.ts";
import { createProgress } from "./progress.ts";
import { inSession } from "./session.ts";
import type { CommandContext } from "./session.ts";
import type { Terminal } from "./terminal.ts";

type ImportOptions = { workspace: string; asOf?: string; skipInvalid?: boolean };

const SHOWN_ROWS = 20;

export function addImportCommand(program: Command, context: CommandContext): void {
  program
    .command("import")
    .description("Import a folder of CSV files; the same folder twice changes nothing.")
    .argument("<folder>", "the folder, as docs/import-format.md describes it")
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .option("--as-of <time>", "the moment, or the day, up to which the files are complete (default: now)")
    .option("--skip-invalid", "leave out rows that cannot be used, instead of refusing everything")
    .addHelpText(
      "before",
      "Examples:\n" +
        "  ./returns import ./folder --workspace shop.example\n" +
        "  ./returns import ./folder --workspace shop.example --as-of 2026-07-01 --skip-invalid\n",
    )
    .action((folder: string, options: ImportOptions, command: Command) =>
      inSession(context, command, async ({ database, terminal, interruption }) => {
        const now = new Date();
        const asOf = options.asOf === undefined ? now : readInstant("--as-of", options.asOf);
        const workspace = await requireWorkspace(database, options.workspace);
        const progress = createProgress(terminal);
        const summary = await importIntoWorkspace(database, workspace, {
          folder: resolve(folder),
          asOf,
          now,
          skipInvalid: options.skipInvalid === true,
          signal: interruption.signal,
          onProgress: (label, done, total) => {
            // Between two statements there is nothing to cancel.
            interruption.check();
            progress.show(label, done, total);
          },
          onWait: () => terminal.hint("Another run is writing this workspace's data; waiting for its end…"),
        }).finally(progress.end);
        show(summary, terminal, options.skipInvalid === true);
      }),
    );
}

/** Rows that cannot be used are messages; throws a `Refusal` that says why nothing was imported when that is so. */
function show(summary: ImportSummary, terminal: Terminal, isSkipping: boolean): void {
  const { counts, invalid, invalid_count: invalidCount, warnings } = summary;
  for (const row of invalid.slice(0, SHOWN_ROWS)) {
    terminal.hint(`${row.file}:${row.line} ${row.column ?? "row"}: ${row.reason}`);
  }
  const hiddenCount = invalidCount - Math.min(invalid.length, SHOWN_ROWS);
  if (hiddenCount > 0) terminal.hint(`… and ${hiddenCount.toLocaleString("en")} more.`);
  for (const { file, message, count } of warnings) {
    const place = file === null ? "" : `${file}: `;
    const often = count === null ? "" : ` (${count.toLocaleString("en")})`;
    terminal.hint(`Warning: ${place}${message}${often}.`);
  }
  terminal.print(summary, summary.imported ? formatFields(counts, terminal.style) : "");
  const rows = invalidCount === 1 ? "1 row" : `${invalidCount.toLocaleString("en")} rows`;
  if (!summary.imported)
    throw impossible(`Nothing was imported: ${whyNothing(rows, invalidCount, isSkipping)}.`);
  if (invalidCount > 0) terminal.hint(`Left out ${rows} that cannot be used.`);
}

function whyNothing(rows: string, invalidCount: number, isSkipping: boolean): string {
  if (invalidCount === 0) return "the files hold no rows, only headers";
  return `${rows} cannot be used; ${isSkipping ? "there are no others" : "--skip-invalid imports the rest"}`;
}
