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
  options: { "--with-secret": "write the secret into the backup too: keep it as safe as the secret" },
  takesAnySchema: true,
  examples: ["./returns backup ./backup-2026-11-22", "./returns backup ./backup-2026-11-22 --with-secret"],
  run: async (session: CommandSession, folder: string, options: { withSecret?: boolean }) => {
    const { database, installation, terminal, interruption } = session;
    const hasSecret = options.withSecret === true;
    const secret = hasSecret ? ownSecret(installation) : null;
    if (hasSecret && secret === null) throw impossible("No secret is set that the backup could hold.");
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
      `${made.rows.toLocaleString("en")} rows of ${made.tables} tables are backed up to ${made.folder} (${megabytes} MB).\n`,
    );
    if (!hasSecret)
      terminal.hint(
        "It holds no secret: keep RETURNS_SECRET, or the file secret of the data folder, elsewhere.",
      );
  },
};
