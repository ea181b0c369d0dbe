import type { Command } from "commander";
import { migrateInstallation } from "../app.ts";
import { readSchemaLevel } from "../control/schema.ts";
import { inUnmigratedSession } from "./session.ts";
import type { CommandContext } from "./session.ts";

export function addMigrateCommand(program: Command, context: CommandContext): void {
  program
    .command("migrate")
    .description("Bring the database's schema to this version; safe to run twice or at once.")
    .addHelpText("before", "Example:\n  DATABASE_URL_FILE=./database-url ./returns migrate\n")
    .action((_options: unknown, command: Command) =>
      inUnmigratedSession(context, command, async ({ database, installation, terminal }) => {
        const before = await readSchemaLevel(database);
        await migrateInstallation(installation, terminal.tell);
        const migrated = before !== "current";
        const sentence = migrated ? "The schema was brought up to date." : "The schema was current already.";
        terminal.print({ schema: "current", migrated }, `${sentence}\n`);
      }),
    );
}
