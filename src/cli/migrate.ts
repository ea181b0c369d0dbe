import type { Command } from "commander";
import { distribute } from "../control/distribute.ts";
import { readSchemaLevel } from "../control/schema.ts";
import { migrateInstallation } from "../installation.ts";
import { inUnmigratedSession } from "./session.ts";
import type { CommandContext } from "./session.ts";

export function addMigrateCommand(program: Command, context: CommandContext): void {
  program
    .command("migrate")
    .description(
      "Migrate the database's schema to this version; safe to run twice, or on several servers at once.",
    )
    .option("--distribute", "then distribute the tables over the nodes of a Citus cluster (docs/scaling.md)")
    .addHelpText(
      "before",
      "Examples:\n" +
        "  DATABASE_URL_FILE=./database-url ./returns migrate\n" +
        "  DATABASE_URL_FILE=./database-url ./returns migrate --distribute\n",
    )
    .action((options: { distribute?: boolean }, command: Command) =>
      inUnmigratedSession(context, command, async ({ database, installation, terminal }) => {
        const before = await readSchemaLevel(database);
        await migrateInstallation(installation, terminal.tell);
        const migrated = before !== "current";
        const sentence = migrated ? "The schema was brought up to date." : "The schema was current already.";
        if (options.distribute !== true) {
          terminal.print({ schema: "current", migrated }, `${sentence}\n`);
          return;
        }
        const made = await distribute(database);
        const count = made.distributed_tables.length + made.reference_tables.length;
        const outcome =
          count === 0 ? "All tables were distributed already." : `${count} tables were distributed.`;
        terminal.print({ schema: "current", migrated, ...made }, `${sentence}\n${outcome}\n`);
      }),
    );
}
