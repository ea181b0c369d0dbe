import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { readConfig } from "../config.ts";
import type { Config } from "../config.ts";
import { OPERATOR } from "../control/actor.ts";
import { nextBackupIn, removeOldBackups, verifyBackup } from "../control/backup-folder.ts";
import { makeBackup } from "../control/backup.ts";
import { readInteger } from "../control/input.ts";
import { ownSecret } from "../control/installation-secret.ts";
import { impossible } from "../control/refusal.ts";
import { dataFolderOf } from "../installation.ts";
import { readSecret } from "../lib/secret-file.ts";
import { addCommand } from "./command.ts";
import type { CommandSession, CommandSpec } from "./command.ts";
import { listenForInterruption } from "./interruption.ts";
import { LONGEST_STOP_MS, terminalOf } from "./session.ts";
import type { CommandContext } from "./session.ts";
import type { Terminal } from "./terminal.ts";

const MOST_KEPT = 10_000;

type BackupOptions = { withSecret?: boolean; keep?: string };

export function addBackupCommands(program: Command, context: CommandContext): void {
  addCommand(program, context, BACKUP)
    .command("verify <folder>")
    .description("Read all of a backup and compare it with its manifest; needs no database.")
    .addHelpText("before", "Example:\n  ./returns backup verify ./backup-2026-11-22\n")
    .action((folder: string, _options: unknown, command: Command) => verify(context, command, folder));
}

const BACKUP: CommandSpec = {
  name: "backup",
  summary: "Back up the whole installation into a folder, while it runs.",
  arguments: { "<folder>": "a folder that does not exist yet, or an empty one" },
  options: {
    "--with-secret": "also write the secret into the backup: protect it like the secret",
    "--keep <number>":
      "the folder is one of backups: add one named by the time, then remove all but this many",
  },
  takesAnySchema: true,
  examples: [
    "./returns backup ./backup-2026-11-22",
    "./returns backup ./backup-2026-11-22 --with-secret",
    "./returns backup ./backups --keep 14",
    "./returns backup verify ./backup-2026-11-22",
  ],
  run: async (session: CommandSession, given: string, options: BackupOptions) => {
    const { database, installation, terminal, interruption } = session;
    const keep = options.keep === undefined ? null : readInteger("--keep", options.keep, 1, MOST_KEPT);
    const now = new Date();
    const folder = keep === null ? resolve(given) : nextBackupIn(resolve(given), now);
    // Any other error is that of writing into it.
    if (keep !== null) await mkdir(resolve(given), { mode: 0o700 }).catch(() => {});
    const hasSecret = options.withSecret === true;
    const secret = hasSecret ? ownSecret(installation) : null;
    if (hasSecret && secret === null) throw impossible("No secret is set that the backup could include.");
    const made = await makeBackup({
      database,
      reading: database,
      actor: OPERATOR,
      folder,
      secret,
      now,
      signal: interruption.signal,
      onProgress: terminal.showProgress,
    });
    const removed = keep === null ? [] : await removeOldBackups(resolve(given), keep);
    terminal.print(
      { ...made, removed },
      `Backed up ${rowsText(made)} to ${made.folder} (${sizeText(made)}).\n`,
    );
    for (const name of removed) terminal.tell(`Removed ${name}.`);
    if (!hasSecret)
      terminal.hint(
        "The backup holds no secret: keep a copy of RETURNS_SECRET, or of the file secret in the data folder, elsewhere.",
      );
  },
};

async function verify(context: CommandContext, command: Command, given: string): Promise<void> {
  const terminal: Terminal = terminalOf(context, command);
  const config = readConfig(context.environment);
  const interruption = listenForInterruption(() => terminal.hint("Stopping…"), LONGEST_STOP_MS);
  try {
    const secret = config.secret ?? secretHere(config);
    const { signal } = interruption;
    const verified = await verifyBackup(resolve(given), secret, {
      signal,
      onProgress: terminal.showProgress,
    });
    const { made_at: madeAt, version, opens, has_secret: hasSecret } = verified;
    terminal.showStatus("");
    terminal.print(
      verified,
      `The backup is whole: ${rowsText(verified)} (${sizeText(verified)}), as of ${madeAt}, by version ${version}.\n`,
    );
    if (opens === false)
      terminal.hint("It does not open with the secret that is set here, which was not valid in it.");
    else if (opens === null && !hasSecret)
      terminal.hint("No secret is set here: whether it opens with yours was not checked.");
  } finally {
    terminal.showStatus("");
    interruption.end();
  }
}

/** Of the data folder, if this user may read it: a backup can be verified by anybody who can read that. */
function secretHere(config: Config): string | null {
  try {
    return readSecret(dataFolderOf(config));
  } catch {
    return null;
  }
}

function rowsText({ rows, tables }: { rows: number; tables: number }): string {
  return `${rows.toLocaleString("en")} rows of ${tables} tables`;
}

function sizeText({ bytes }: { bytes: number }): string {
  return `${(bytes / 1_000_000).toLocaleString("en", { maximumFractionDigits: 1 })} MB`;
}
