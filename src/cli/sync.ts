import type { Command } from "commander";
import { impossible, invalid } from "../control/refusal.ts";
import { cancelBackfill, findBackfillUnderWay, requestSync, waitForRun } from "../control/sync.ts";
import type { RequestedSync } from "../control/sync.ts";
import { requireWorkspace } from "../control/workspace.ts";
import { formatFields } from "../lib/table.ts";
import { createProgress } from "./progress.ts";
import { countsText, durationText, retryText, stageText } from "./run-text.ts";
import { inSession } from "./session.ts";
import type { CommandContext, Session } from "./session.ts";

type SyncOptions = { workspace: string; backfill?: boolean; cancelBackfill?: boolean; wait?: boolean };

export function addSyncCommand(program: Command, context: CommandContext): void {
  program
    .command("sync")
    .description("Request a run of a connected source now; a worker executes it.")
    .argument("<source>", "shopify, shipstation or loop")
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .option("--backfill", "read everything there is, instead of what has changed")
    .option("--cancel-backfill", "cancel a backfill that was asked for, and read only what has changed")
    .option("--wait", "show how it goes, and end when it has ended; joins a backfill that is under way")
    .addHelpText(
      "before",
      "Examples:\n" +
        "  ./returns sync shopify --workspace shop.example\n" +
        "  ./returns sync shopify --workspace shop.example --backfill --wait\n",
    )
    .action((source: string, options: SyncOptions, command: Command) =>
      inSession(context, command, (session) => sync(session, source, options)),
    );
}

async function sync(session: Session, source: string, options: SyncOptions): Promise<void> {
  const { database, terminal } = session;
  const workspace = await requireWorkspace(database, options.workspace);
  if (options.cancelBackfill === true) {
    if (options.backfill === true || options.wait === true) {
      throw invalid("--cancel-backfill asks for no run: leave out --backfill and --wait.");
    }
    const canceled = await cancelBackfill(database, workspace, source);
    terminal.print(canceled, formatFields({ ...canceled }, terminal.style));
    return;
  }
  const underWay = options.wait === true ? await findBackfillUnderWay(database, workspace, source) : null;
  if (underWay !== null) terminal.hint("A backfill is running: waiting for it to end.");
  const requested =
    underWay ?? (await requestSync(database, workspace, { source, isBackfill: options.backfill === true }));
  if (!requested.has_worker) {
    terminal.hint("No worker is running: the run starts when ./returns worker or ./returns serve does.");
  }
  if (options.wait !== true) {
    terminal.print(requested, formatFields({ ...requested }, terminal.style));
    terminal.hint("./returns runs shows it.");
    return;
  }
  await follow(session, workspace, requested);
}

async function follow(
  { database, terminal, interruption }: Session,
  workspace: Parameters<typeof waitForRun>[1],
  requested: RequestedSync,
): Promise<void> {
  const progress = createProgress(terminal);
  const run = await waitForRun(database, workspace, requested, {
    check: () => interruption.check(),
    onProgress: ({ stage, done, total }) => {
      if (stage !== null && total !== null) progress.show(stage, done, total);
      else terminal.showStatus(stageText({ stage, done, total }) ?? "Starting…");
    },
    onRetry: (retry) => terminal.hint(retryText(retry)),
  }).finally(progress.end);
  for (const note of run.notes) terminal.hint(note);
  const { source, kind, status, duration_seconds: seconds, counts } = run;
  const shown = { source, kind, status, took: durationText(seconds), read: countsText(counts) };
  const text = formatFields(shown, terminal.style);
  terminal.print(run, text);
  if (run.status === "failed") throw impossible(run.error ?? "The run failed.");
}
