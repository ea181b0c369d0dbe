import { resolve } from "node:path";
import type { Command } from "commander";
import { backup, restore, secretForRestore, distribute } from "../actions/installation/actions.ts";
import { readBackup, rowsText, sizeText, verifyBackup } from "../actions/installation/backup-folder.ts";
import { readConfig, type Config } from "../config.ts";
import { dataFolderOf, migrateInstallation } from "../installation.ts";
import { readSecret } from "../lib/secret-file.ts";
import { commandOf, callerOf } from "./action-command.ts";
import { addCommand, type CommandSpec, type CommandSession } from "./command.ts";
import { withTools, type CommandContext } from "./session.ts";
import { runAction } from "../actions/action.ts";
import { textInput } from "../actions/field.ts";
import { readSchemaLevel, type SchemaLevel } from "../actions/installation/schema.ts";

export function addBackupCommands(program: Command, context: CommandContext): void {
  addCommand(program, context, BACKUP)
    .command("verify <folder>")
    .description("Read all of a backup and compare it with its manifest; needs no database.")
    .addHelpText("before", "Example:\n  ./returns backup verify ./backup-2026-11-22\n")
    .action((folder: string, _options: unknown, command: Command) => verify(context, command, folder));
}

const BACKUP: CommandSpec = {
  ...commandOf(backup, {
    words: ["folder"],
    examples: [
      "./returns backup ./backup-2026-11-22",
      "./returns backup ./backup-2026-11-22 --with-secret",
      "./returns backup ./backups --keep 14",
      "./returns backup verify ./backup-2026-11-22",
    ],
    also: (terminal, { removed, has_secret: hasSecret }) => {
      for (const name of removed) terminal.tell(`Removed ${name}.`);
      if (!hasSecret)
        terminal.hint(
          "The backup holds no secret: keep a copy of RETURNS_SECRET, or of the file secret in the data folder, elsewhere.",
        );
    },
  }),
  takesAnySchema: true,
};

async function verify(context: CommandContext, command: Command, given: string): Promise<void> {
  const config = readConfig(context.environment);
  await withTools(context, command, {}, async ({ terminal, interruption: { signal } }) => {
    const secret = config.secret ?? secretHere(config);
    const verified = await verifyBackup(resolve(given), secret, {
      signal,
      onProgress: terminal.showProgress,
    });
    const { made_at: madeAt, version, opens, has_secret: hasSecret } = verified;
    terminal.showStatus("");
    terminal.print(
      verified,
      `The backup is complete: ${rowsText(verified)} (${sizeText(verified)}), as of ${madeAt}, by version ${version}.\n`,
    );
    if (opens === false)
      terminal.hint("The secret set here does not open it: it was not valid when the backup was made.");
    else if (opens === null && !hasSecret)
      terminal.hint("No secret is set here, so the backup was not tested with yours.");
  });
}

/** Of the data folder, if this user may read it: a backup can be verified by anybody who can read that. */
function secretHere(config: Config): string | null {
  try {
    return readSecret(dataFolderOf(config));
  } catch {
    return null;
  }
}

export const RESTORE: CommandSpec = {
  ...commandOf(restore, {
    words: ["folder"],
    examples: [
      "RETURNS_DATA_DIR=./restored ./returns restore ./backup-2026-11-22",
      "DATABASE_URL_FILE=./database-url RETURNS_SECRET_FILE=./secret ./returns restore ./backup-2026-11-22",
    ],
    also: (terminal, { left_out: leftOut }) => {
      for (const table of leftOut) {
        terminal.tell(`The table ${table} does not belong to this service: its rows were not restored.`);
      }
      terminal.hint("People must sign in to the console again; tokens work as before.");
    },
  }),
  takesAnySchema: true,
  prepare: async (environment, folder: string) => {
    const config = readConfig(environment);
    const read = await readBackup(resolve(folder));
    await secretForRestore(read, config.secret ?? readSecret(dataFolderOf(config)));
  },
};

const UNCHANGED: Readonly<Record<SchemaLevel, string>> = {
  current: "The schema is already current.",
  ahead: "The schema is newer than this version, and works with it.",
  behind: "",
  newer: "",
  older: "",
};

export const MIGRATE: CommandSpec = {
  name: "migrate",
  summary: "Migrate the database's schema to this version; safe to run twice, or on several servers at once.",
  takesAnySchema: true,
  options: {
    "--distribute": distribute.about ?? "",
  },
  examples: [
    "DATABASE_URL_FILE=./database-url ./returns migrate",
    "DATABASE_URL_FILE=./database-url ./returns migrate --distribute",
  ],
  run: async (session: CommandSession, options: { distribute?: boolean }) => {
    const { database, installation, terminal } = session;
    const migrated = (await readSchemaLevel(database)) === "behind";
    await migrateInstallation(installation, terminal.tell);
    const schema = await readSchemaLevel(database);
    const sentence = migrated ? "The schema is now current." : UNCHANGED[schema];
    if (options.distribute !== true) {
      terminal.print({ schema, migrated }, `${sentence}\n`);
      return;
    }
    const { result, done } = await runAction(distribute, callerOf(session), textInput({}));
    const { functions, ...tables } = result;
    terminal.print({ schema, migrated, ...tables, functions }, `${sentence}\n${done}\n`);
  },
};
