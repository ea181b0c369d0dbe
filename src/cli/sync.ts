import { runAction } from "../actions/action.ts";
import { textInput } from "../actions/field.ts";
import { cancelBackfill, requestSync } from "../actions/sources/actions.ts";
import type { RequestedSync } from "../actions/sources/actions.ts";
import { findBackfillUnderWay, waitForRun } from "../actions/sources/reads.ts";
import { OPERATOR } from "../actions/actor.ts";
import { impossible, invalid } from "../actions/refusal.ts";
import type { CommandSession, CommandSpec } from "./command.ts";
import { countsText, durationText, retryText, stageText } from "../lib/run-text.ts";

type SyncOptions = { backfill?: boolean; cancelBackfill?: boolean; wait?: boolean };

export const SYNC: CommandSpec = {
  name: "sync",
  summary: requestSync.about,
  arguments: { "<source>": "shopify, shipstation or loop" },
  forWorkspace: true,
  options: {
    "--backfill": "read everything, not only what has changed",
    "--cancel-backfill": "cancel a requested backfill, and read only what has changed",
    "--wait": "show the progress and exit when the run has finished; joins a running backfill",
  },
  examples: [
    "./returns sync shopify --workspace shop.example",
    "./returns sync shopify --workspace shop.example --backfill --wait",
  ],
  run: sync,
};

async function sync(session: CommandSession, source: string, options: SyncOptions): Promise<void> {
  const { database, keys, terminal, workspace } = session;
  const caller = { database, keys, workspace, actor: OPERATOR, now: new Date() };
  if (options.cancelBackfill === true) {
    if (options.backfill === true || options.wait === true) {
      throw invalid("--cancel-backfill requests no run: leave out --backfill and --wait.");
    }
    const canceled = await runAction(cancelBackfill, caller, textInput({ source }));
    terminal.printFields(canceled.result);
    return;
  }
  const underWay = options.wait === true ? await findBackfillUnderWay(database, workspace, source) : null;
  if (underWay !== null) terminal.hint("A backfill is running: waiting for it to end.");
  const input = textInput({ source, ...(options.backfill === true ? { backfill: "yes" } : {}) });
  const requested = underWay ?? (await runAction(requestSync, caller, input)).result;
  if (!requested.has_worker) {
    terminal.hint("No worker is running: the run starts when ./returns worker or ./returns serve does.");
  }
  if (options.wait !== true) {
    terminal.printFields(requested);
    terminal.hint("./returns runs shows it.");
    return;
  }
  await follow(session, requested);
}

async function follow(
  { database, terminal, interruption, workspace }: CommandSession,
  requested: RequestedSync,
): Promise<void> {
  const run = await waitForRun(database, workspace, requested, {
    check: () => interruption.check(),
    onProgress: ({ stage, done, total }) => {
      if (stage !== null && total !== null) terminal.showProgress(stage, done, total);
      else terminal.showStatus(stageText({ stage, done, total }) ?? "Starting…");
    },
    onRetry: (retry) => terminal.hint(retryText(retry)),
  });
  for (const note of run.notes) terminal.hint(note);
  const { source, kind, status, duration_seconds: seconds, counts } = run;
  terminal.printFields({ source, kind, status, took: durationText(seconds), read: countsText(counts) }, run);
  if (run.status === "failed") throw impossible(run.error ?? "The run failed.");
}
