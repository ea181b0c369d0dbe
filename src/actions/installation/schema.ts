import { impossible } from "../refusal.ts";
import type { Queryable } from "../../store/database.ts";
import { isMigrationDue, readApplied, schemaLevel, UNUSABLE, type SchemaLevel } from "../../store/migrate.ts";
import { seesWorkers } from "../../store/worker-session.ts";

export type { SchemaLevel };

/** Whether the database's schema is current; that of an empty database is behind. */
export async function readSchemaLevel(database: Queryable): Promise<SchemaLevel> {
  return schemaLevel(await readApplied(database));
}

/** Whether the schema is behind, or roles wait for their rights. */
export async function needsMigration(database: Queryable): Promise<boolean> {
  return isMigrationDue(database, await readSchemaLevel(database));
}

/** Throws a `Refusal` with instructions if this version is incompatible with the schema. */
export async function requireCurrentSchema(database: Queryable): Promise<void> {
  const sentence = schemaProblem(await readSchemaLevel(database));
  if (sentence !== null) throw impossible(sentence);
}

/** The problem of a schema level, with instructions; null: none. */
export function schemaProblem(level: SchemaLevel): string | null {
  switch (level) {
    case "current":
    case "ahead":
      return null;
    case "behind":
      return 'The database\'s schema is behind this version of the service: run "./returns migrate".';
    case "newer":
    case "older":
      return UNUSABLE[level];
  }
}

/**
 * Throws a `Refusal` on a node of a Citus cluster: workers claim runs with locks of their connection, which only one server can
 * manage.
 */
export async function requireWorkerPlace(database: Queryable): Promise<void> {
  if (await seesWorkers(database)) return;
  throw impossible(
    "Workers need the coordinator of a Citus cluster: set DATABASE_URL to its address, or serve with --no-worker.",
  );
}
