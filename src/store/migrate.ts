import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";

const MIGRATIONS_FOLDER = new URL("./migrations/", import.meta.url);
const MIGRATIONS_TABLE = "schema_migration";

/**
 * Brings the database's schema to this version: forward only, each file in a transaction, under an advisory lock so
 * that two at once are harmless. Throws when the database's schema is newer than this version knows, and the database's
 * own error, with its SQLSTATE, when nothing can be created there.
 */
export async function migrate(options: { url: string; log?: (line: string) => void }): Promise<void> {
  await requireMigratable(options.url);
  const log = options.log ?? (() => {});
  // Loaded only when needed: it loads a compiler, which takes memory.
  const { runner } = await import("node-pg-migrate");
  await runner({
    databaseUrl: options.url,
    dir: fileURLToPath(MIGRATIONS_FOLDER),
    direction: "up",
    migrationsTable: MIGRATIONS_TABLE,
    checkOrder: true,
    advisoryLockMode: "wait",
    singleTransaction: false,
    log: () => {},
    logger: { debug: () => {}, info: () => {}, warn: log, error: log },
  });
}

/** Names of the migrations this version brings, oldest first. */
export async function knownMigrations(): Promise<string[]> {
  const files = await readdir(MIGRATIONS_FOLDER);
  return files
    .filter((file) => file.endsWith(".sql"))
    .map((file) => file.slice(0, -".sql".length))
    .toSorted();
}

export type SchemaLevel = "current" | "behind" | "newer";

/** Compares the migrations a database has run with those this version knows. */
export async function schemaLevel(applied: readonly string[]): Promise<SchemaLevel> {
  const known = await knownMigrations();
  if (applied.some((name) => !known.includes(name))) return "newer";
  return known.every((name) => applied.includes(name)) ? "current" : "behind";
}

/** What a user without rights, a replica or a full disk refuses: the migrating library would keep its SQLSTATE to itself. */
const TRY_TO_CREATE = `begin; create table ${MIGRATIONS_TABLE}_attempt (id integer); rollback`;

async function requireMigratable(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    const applied = await client
      .query<{ name: string }>(`select name from ${MIGRATIONS_TABLE}`)
      .then((result) => result.rows.map((row) => row.name))
      .catch((error: pg.DatabaseError) => {
        if (error.code === "42P01") return [];
        throw error;
      });
    const level = await schemaLevel(applied);
    if (level === "newer") {
      throw new Error(
        "The database's schema is newer than this version of the service knows; install the newer version.",
      );
    }
    if (level === "behind") await client.query(TRY_TO_CREATE);
  } finally {
    await client.end();
  }
}
