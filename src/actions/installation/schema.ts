import { impossible } from "../refusal.ts";
import type { Queryable } from "../../store/database.ts";
import { isMigrationDue, schemaLevel, UNUSABLE, type SchemaLevel } from "../../store/migrate.ts";
import { appliedMigrations } from "../../store/queries/installation.ts";
import { seesWorkers } from "../../store/worker-session.ts";

export type { SchemaLevel };

const UNDEFINED_TABLE = "42P01";

/** Whether the database's schema is current; that of an empty database is behind. */
export async function readSchemaLevel(database: Queryable): Promise<SchemaLevel> {
  try {
    return await schemaLevel(await appliedMigrations(database));
  } catch (error) {
    if ((error as { code?: string }).code === UNDEFINED_TABLE) return "behind";
    throw error;
  }
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
