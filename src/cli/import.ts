import { resolve } from "node:path";
import { importIntoWorkspace, placeOfRow } from "../actions/uploads/actions.ts";
import { OPERATOR } from "../actions/actor.ts";
import { readInstant } from "../actions/input.ts";
import { impossible } from "../actions/refusal.ts";
import type { CommandSession, CommandSpec } from "./command.ts";
import type { Terminal } from "./terminal.ts";

type ImportOptions = { asOf?: string; skipInvalid?: boolean };

const SHOWN_ROWS = 20;

export const IMPORT: CommandSpec = {
  name: "import",
  summary: "Import a folder of CSV or Parquet files; importing it twice changes nothing.",
  arguments: { "<folder>": "the folder, as docs/import-format.md describes it" },
  forWorkspace: true,
  options: {
    "--as-of <time>": "the moment, or the day, up to which the files are complete (default: now)",
    "--skip-invalid": "leave out rows that cannot be used, instead of refusing everything",
  },
  examples: [
    "./returns import ./folder --workspace shop.example",
    "./returns import ./folder --workspace shop.example --as-of 2026-07-01 --skip-invalid",
  ],
  run: async (session: CommandSession, folder: string, options: ImportOptions) => {
    const { database, terminal, interruption, workspace } = session;
    const now = new Date();
    const summary = await importIntoWorkspace(database, OPERATOR, workspace, {
      folder: resolve(folder),
      asOf: options.asOf === undefined ? now : readInstant("--as-of", options.asOf),
      now,
      skipInvalid: options.skipInvalid === true,
      signal: interruption.signal,
      onProgress: (label, done, total) => {
        // Between two statements there is nothing to cancel.
        interruption.check();
        terminal.showProgress(label, done, total);
      },
      onWait: () => terminal.hint("Another run is writing this workspace's data; waiting for its end…"),
    });
    show(summary, terminal, options.skipInvalid === true);
  },
};

/** Prints problems of rows as messages; throws a `Refusal` with the reason if nothing was imported. */
function show(
  summary: Awaited<ReturnType<typeof importIntoWorkspace>>,
  terminal: Terminal,
  isSkipping: boolean,
): void {
  const { counts, invalid, invalid_count: invalidCount, warnings } = summary;
  for (const row of invalid.slice(0, SHOWN_ROWS)) {
    terminal.hint(`${placeOfRow(row)} ${row.column ?? "row"}: ${row.reason}`);
  }
  const hiddenCount = invalidCount - Math.min(invalid.length, SHOWN_ROWS);
  if (hiddenCount > 0) terminal.hint(`… and ${hiddenCount.toLocaleString("en")} more.`);
  for (const { file, message, count } of warnings) {
    const place = file === null ? "" : `${file}: `;
    const often = count === null ? "" : ` (${count.toLocaleString("en")})`;
    terminal.hint(`Warning: ${place}${message}${often}.`);
  }
  if (summary.imported) terminal.printFields(counts, summary);
  else terminal.print(summary, "");
  const rows = invalidCount === 1 ? "1 row" : `${invalidCount.toLocaleString("en")} rows`;
  if (!summary.imported)
    throw impossible(`Nothing was imported: ${whyNothing(rows, invalidCount, isSkipping)}.`);
  if (invalidCount > 0) terminal.hint(`Left out ${rows} that cannot be used.`);
}

function whyNothing(rows: string, invalidCount: number, isSkipping: boolean): string {
  if (invalidCount === 0) return "the files hold no rows, only headers";
  return `${rows} cannot be used; ${isSkipping ? "there are no others" : "--skip-invalid imports the rest"}`;
}
