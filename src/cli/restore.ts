import { resolve } from "node:path";
import { readConfig } from "../config.ts";
import { OPERATOR } from "../control/actor.ts";
import { readBackup } from "../control/backup-manifest.ts";
import { ownSecret } from "../control/installation-secret.ts";
import { finishRestore, restoreBackup, secretForRestore } from "../control/restore.ts";
import { dataFolderOf, migrateInstallation } from "../installation.ts";
import { readOrCreateSecret, readSecret } from "../lib/secret-file.ts";
import type { CommandSession, CommandSpec } from "./command.ts";

export const RESTORE: CommandSpec = {
  name: "restore",
  summary: "Restore a backup into an empty database: all or nothing.",
  arguments: { "<folder>": "a folder that `backup` wrote" },
  takesAnySchema: true,
  examples: [
    "RETURNS_DATA_DIR=./restored ./returns restore ./backup-2026-11-22",
    "DATABASE_URL_FILE=./database-url RETURNS_SECRET_FILE=./secret ./returns restore ./backup-2026-11-22",
  ],
  prepare: async (environment, folder: string) => {
    const config = readConfig(environment);
    const backup = await readBackup(resolve(folder));
    await secretForRestore(backup, config.secret ?? readSecret(dataFolderOf(config)));
  },
  run: async (session: CommandSession, folder: string) => {
    const { database, installation, terminal, interruption } = session;
    const backup = await readBackup(resolve(folder));
    const secret = await secretForRestore(backup, ownSecret(installation));
    const restored = await restoreBackup({
      database,
      actor: OPERATOR,
      backup,
      signal: interruption.signal,
      onProgress: terminal.showProgress,
    });
    // Not before: the secret of a backup that is refused is not that of this data folder.
    if (installation.secret === null) readOrCreateSecret(installation.dataFolder, secret);
    terminal.showStatus("");
    await migrateInstallation(installation, terminal.tell);
    await finishRestore(database, OPERATOR, backup, restored);
    const { made_at: madeAt, version } = backup.manifest;
    terminal.print(
      { folder: backup.folder, made_at: madeAt, version, ...restored },
      `Restored ${restored.rows.toLocaleString("en")} rows of ${restored.tables} tables, as of ${madeAt}.\n`,
    );
    for (const table of restored.left_out) {
      terminal.tell(`The table ${table} does not belong to this service: its rows were not restored.`);
    }
    terminal.hint("People must sign in to the console again; tokens work as before.");
  },
};
