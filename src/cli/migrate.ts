import { OPERATOR } from "../control/actor.ts";
import { distribute } from "../control/distribute.ts";
import { readSchemaLevel } from "../control/schema.ts";
import type { SchemaLevel } from "../control/schema.ts";
import { migrateInstallation } from "../installation.ts";
import type { CommandSession, CommandSpec } from "./command.ts";

const UNCHANGED: Readonly<Record<SchemaLevel, string>> = {
  current: "The schema was current already.",
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
    "--distribute": "then distribute the tables over the nodes of a Citus cluster (docs/scaling.md)",
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
    const sentence = migrated ? "The schema was brought up to date." : UNCHANGED[schema];
    if (options.distribute !== true) {
      terminal.print({ schema, migrated }, `${sentence}\n`);
      return;
    }
    const made = await distribute(database, OPERATOR);
    const { functions, ...tables } = made;
    const count = Object.values(tables).flat().length;
    const outcome =
      count === 0 ? "All tables were distributed already." : `${count} tables were distributed.`;
    terminal.print({ schema, migrated, ...tables, functions }, `${sentence}\n${outcome}\n`);
  },
};
