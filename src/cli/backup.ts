import { resolve } from "node:path";
import { OPERATOR } from "../control/actor.ts";
import { makeBackup } from "../control/backup.ts";
import { ownSecret } from "../control/installation-secret.ts";
import { impossible } from "../control/refusal.ts";
import type { CommandSession, CommandSpec } from "./command.ts";

export const BACKUP: CommandSpec = {
  name: "backup",
  summary: "Back up the whole installation into a folder, while it runs.",
  arguments: { "<folder>": "a folder that does not exist yet, or an empty one" },
  options: { "--with-secret": "also write the secret into the backup: protect it like the secret" },
  takesAnySchema: true,
  examples: ["./returns backup ./backup-2026-11-22", "./returns backup ./backup-2026-11-22 --with-secret"],
  run: async (session: CommandSession, folder: string, options: { withSecret?: boolean }) => {
    const { database, installation, terminal, interruption } = session;
    const hasSecret = options.withSecret === true;
    const secret = hasSecret ? ownSecret(installation) : null;
    if (hasSecret && secret === null) throw impossible("No secret is set that the backup could include.");
    const made = await makeBackup({
      database,
      reading: database,
      actor: OPERATOR,
      folder: resolve(folder),
      secret,
      now: new Date(),
      signal: interruption.signal,
      onProgress: terminal.showProgress,
    });
    const megabytes = (made.bytes / 1_000_000).toLocaleString("en", { maximumFractionDigits: 1 });
    terminal.print(
      made,
      `Backed up ${made.rows.toLocaleString("en")} rows of ${made.tables} tables to ${made.folder} (${megabytes} MB).\n`,
    );
    if (!hasSecret)
      terminal.hint(
        "The backup holds no secret: keep a copy of RETURNS_SECRET, or of the file secret in the data folder, elsewhere.",
      );
  },
};
