import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import type { Connection } from "./database.ts";

const MIGRATIONS_FOLDER = new URL("./migrations/", import.meta.url);
const MIGRATIONS_TABLE = "schema_migration";

/**
 * The migrations of the versions before the first release. They run only on a database that one of those versions made,
 * which then continues with the migrations above. This folder and ADOPT go with version 1.0.
 */
const BEFORE_RELEASE_FOLDER = new URL("./migrations/before-release/", import.meta.url);

/**
 * From the end of that folder to the four migrations that make the same schema: no row but their names is written. One
 * by one, since Citus refuses several changes of distributed tables in one message.
 */
const ADOPT = [
  "begin",
  "alter table return_label rename column said_order_id to source_order_id",
  "alter table return_label rename column said_return_id to source_return_id",
  "alter table return_label rename column said_order_name to source_order_name",
  `delete from ${MIGRATIONS_TABLE}`,
  `insert into ${MIGRATIONS_TABLE} (name, run_on) values
    ('0001_workspaces', now()), ('0002_catalogue_and_facts', now()),
    ('0003_rollups_and_alerts', now()), ('0004_sync', now())`,
  "commit",
];

/**
 * Brings the database's schema to this version: forward only, each file in a transaction, under an advisory lock so
 * that two at once are harmless. Throws when the database's schema is newer than this version knows, and the database's
 * own error, with its SQLSTATE, when nothing can be created there.
 */
export async function migrate(options: { url: string; log?: (line: string) => void }): Promise<void> {
  // Loaded only when needed: it loads a compiler, which takes memory.
  const { PG_MIGRATE_LOCK_ID, runner } = await import("node-pg-migrate");
  const log = options.log ?? (() => {});
  const client = new pg.Client({ connectionString: options.url, connectionTimeoutMillis: 10_000 });
  // A lost connection fails the statement under way.
  client.on("error", () => {});
  const run = (folder: URL) =>
    runner({ ...runnerOptions(folder, log), dbClient: client, singleTransaction: false });
  await client.connect();
  try {
    // The end of the connection releases it.
    await client.query(`select pg_advisory_lock(${PG_MIGRATE_LOCK_ID})`);
    const applied = await readApplied(client);
    await requireMigratable(client, applied);
    if (await isBeforeRelease(applied)) {
      await run(BEFORE_RELEASE_FOLDER);
      for (const statement of ADOPT) await client.query(statement);
    }
    await run(MIGRATIONS_FOLDER);
  } finally {
    await client.end();
  }
}

function runnerOptions(folder: URL, log: (line: string) => void) {
  return {
    dir: fileURLToPath(folder),
    direction: "up",
    migrationsTable: MIGRATIONS_TABLE,
    checkOrder: true,
    noLock: true,
    log: () => {},
    logger: { debug: () => {}, info: () => {}, warn: log, error: log },
  } as const;
}

/** Migrations that this version does not have, or not in that order. */
export class UnknownMigrations extends Error {
  override name = "UnknownMigrations";
}

/**
 * Runs the first migrations, those of these names, in the connection's own transaction: on an empty database, which gets
 * the schema of an earlier version or of this one. Throws `UnknownMigrations`.
 */
export async function makeSchema({ client }: Connection, names: readonly string[]): Promise<void> {
  const folder = (await isBeforeRelease(names)) ? BEFORE_RELEASE_FOLDER : MIGRATIONS_FOLDER;
  const first = (await listMigrations(folder)).slice(0, names.length);
  if (names.length === 0 || names.some((name, index) => name !== first[index])) {
    throw new UnknownMigrations("these are not the first migrations of this version");
  }
  const { runner } = await import("node-pg-migrate");
  // The transaction is the caller's to begin and to end.
  const query = async (text: string, values?: unknown[]): Promise<unknown> =>
    TRANSACTION_WORDS.has(text) ? { rows: [] } : client.query(text, values);
  await runner({
    ...runnerOptions(folder, () => {}),
    dbClient: { query } as unknown as pg.ClientBase,
    singleTransaction: true,
    count: names.length,
  });
}

const TRANSACTION_WORDS: ReadonlySet<string> = new Set(["BEGIN", "COMMIT", "ROLLBACK"]);

/** Keeps migrations waiting until the end of the transaction. */
export async function holdOffMigrations({ client }: Connection): Promise<void> {
  const { PG_MIGRATE_LOCK_ID } = await import("node-pg-migrate");
  await client.query(`select pg_advisory_xact_lock(${PG_MIGRATE_LOCK_ID})`);
}

/** Runs `work` while no migration runs; returns false, without running it, when one does. */
export async function runUnlessMigrating(
  { client }: Connection,
  work: () => Promise<void>,
): Promise<boolean> {
  const { PG_MIGRATE_LOCK_ID } = await import("node-pg-migrate");
  const { rows } = await client.query<{ isFree: boolean }>(
    `select pg_try_advisory_lock_shared(${PG_MIGRATE_LOCK_ID}) as "isFree"`,
  );
  if (rows[0]?.isFree !== true) return false;
  try {
    await work();
  } finally {
    await client.query(`select pg_advisory_unlock_shared(${PG_MIGRATE_LOCK_ID})`).catch(() => {});
  }
  return true;
}

/** Names of the migrations this version brings, oldest first. */
export function knownMigrations(): Promise<string[]> {
  return listMigrations(MIGRATIONS_FOLDER);
}

async function listMigrations(folder: URL): Promise<string[]> {
  const files = await readdir(folder);
  return files
    .filter((file) => file.endsWith(".sql"))
    .map((file) => file.slice(0, -".sql".length))
    .toSorted();
}

export type SchemaLevel = "current" | "behind" | "newer";

/** Compares the migrations a database has run with those this version knows. */
export async function schemaLevel(applied: readonly string[]): Promise<SchemaLevel> {
  if (await isBeforeRelease(applied)) return "behind";
  const known = await knownMigrations();
  if (applied.some((name) => !known.includes(name))) return "newer";
  return known.every((name) => applied.includes(name)) ? "current" : "behind";
}

/** Whether the database has run migrations of before the first release, and no others. */
async function isBeforeRelease(applied: readonly string[]): Promise<boolean> {
  if (applied.length === 0) return false;
  const earlier = await listMigrations(BEFORE_RELEASE_FOLDER);
  return applied.every((name) => earlier.includes(name));
}

async function readApplied(client: pg.Client): Promise<string[]> {
  try {
    const { rows } = await client.query<{ name: string }>(`select name from ${MIGRATIONS_TABLE}`);
    return rows.map((row) => row.name);
  } catch (error) {
    if ((error as pg.DatabaseError).code === UNDEFINED_TABLE) return [];
    throw error;
  }
}

const UNDEFINED_TABLE = "42P01";
/** What a user without rights, a replica or a full disk refuses: the migrating library would keep its SQLSTATE to itself. */
const TRY_TO_CREATE = `begin; create table ${MIGRATIONS_TABLE}_attempt (id integer); rollback`;

async function requireMigratable(client: pg.Client, applied: readonly string[]): Promise<void> {
  const level = await schemaLevel(applied);
  if (level === "newer") {
    throw new Error(
      "The database's schema is newer than this version of the service knows; install the newer version.",
    );
  }
  if (level === "behind") await client.query(TRY_TO_CREATE);
}
