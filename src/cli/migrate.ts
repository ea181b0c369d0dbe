import { runAction } from "../actions/action.ts";
import { textInput } from "../actions/field.ts";
import { distribute } from "../actions/installation/actions.ts";
import { readSchemaLevel, type SchemaLevel } from "../actions/installation/schema.ts";
import { migrateInstallation } from "../installation.ts";
import { callerOf } from "./action-command.ts";
import type { CommandSession, CommandSpec } from "./command.ts";

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
    "--distribute": distribute.about,
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
