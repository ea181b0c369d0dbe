import { OPERATOR } from "../control/actor.ts";
import { distribute } from "../control/distribute.ts";
import { readSchemaLevel } from "../control/schema.ts";
import { migrateInstallation } from "../installation.ts";
import type { CommandSession, CommandSpec } from "./command.ts";

export const MIGRATE: CommandSpec = {
  name: "migrate",
  summary: "Migrate the database's schema to this version; safe to run twice, or on several servers at once.",
  takesAnySchema: true,
  options: {
    "--distribute": "then distribute the tables over the nodes of a Citus cluster (docs/scaling.md)",
  },
  examples: [
    "DATABASE_URL_FILE=./database-url ./returns migrate",
    "DATABASE_URL_FILE=./database-url ./returns migrate --distribute",
  ],
  run: async (session: CommandSession, options: { distribute?: boolean }) => {
    const { database, installation, terminal } = session;
    const migrated = (await readSchemaLevel(database)) !== "current";
    await migrateInstallation(installation, terminal.tell);
    const sentence = migrated ? "The schema was brought up to date." : "The schema was current already.";
    if (options.distribute !== true) {
      terminal.print({ schema: "current", migrated }, `${sentence}\n`);
      return;
    }
    const made = await distribute(database, OPERATOR);
    const count = made.distributed_tables.length + made.reference_tables.length;
    const outcome =
      count === 0 ? "All tables were distributed already." : `${count} tables were distributed.`;
    terminal.print({ schema: "current", migrated, ...made }, `${sentence}\n${outcome}\n`);
  },
};
