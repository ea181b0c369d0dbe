import { resolve } from "node:path";
import { restore, secretForRestore } from "../actions/installation/actions.ts";
import { readBackup } from "../actions/installation/backup-folder.ts";
import { readConfig } from "../config.ts";
import { dataFolderOf } from "../installation.ts";
import { readSecret } from "../lib/secret-file.ts";
import { commandOf } from "./action-command.ts";
import type { CommandSpec } from "./command.ts";

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
    const backup = await readBackup(resolve(folder));
    await secretForRestore(backup, config.secret ?? readSecret(dataFolderOf(config)));
  },
};
