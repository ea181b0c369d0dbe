import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";
import type { Connection, Database } from "../store/database.ts";
import { holdOffMigrations, makeSchema, UnknownMigrations } from "../store/migrate.ts";
import {
  analyzeEverything,
  findUnusedDataVersion,
  isEmptyDatabase,
  listSequences,
  listStoredTables,
  moveSequence,
  raiseDataVersions,
  raiseWarnedVersions,
} from "../store/queries/backup.ts";
import { listForeignKeys } from "../store/queries/distribute.ts";
import type { ForeignKeyRow } from "../store/queries/distribute.ts";
import { copyIn, emptyTables, setCopyFormat } from "../store/table-copy.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { checkFiles, secretOf, readBackupSecret, readTable } from "./backup-manifest.ts";
import type { Backup, BackupTable } from "./backup-manifest.ts";
import { quoted } from "./input.ts";
import { impossible } from "./refusal.ts";
import { requireRight } from "./rights.ts";

export type RestoreRequest = {
  database: Database;
  actor: Actor;
  backup: Backup;
  signal: AbortSignal;
  onProgress: (label: string, done: number, total: number) => void;
};

/** What was restored; `left_out`: tables of the backup that its version of the service does not have. */
export type Restored = { rows: number; tables: number; left_out: string[] };

/** Signs people in, which a restored database does not: they sign in again. */
const ENDED_TABLES: ReadonlySet<string> = new Set(["console_session", "console_link", "console_challenge"]);

/**
 * The secrets that a restored installation runs with: the list that is set, of which one has to be valid in the backup, or else
 * the one that the backup holds. Throws a `Refusal` when neither is.
 */
export async function secretForRestore(backup: Backup, setSecret: string | null): Promise<string> {
  const held = await readBackupSecret(backup);
  const secret = setSecret ?? held;
  if (secret === null) {
    throw impossible(
      "The backup holds no secret, and none is set: set RETURNS_SECRET, or put the file secret into the data folder, as in the " +
        "installation that was backed up. Nothing was restored.",
    );
  }
  if (secretOf(backup.manifest, secret) !== null) return secret;
  throw impossible(
    "The secret is not one of those that were valid in the installation when it was backed up, so no token would work: set one of " +
      "them as RETURNS_SECRET, or use a data folder that has none. Nothing was restored.",
  );
}

/**
 * Restores a backup into an empty database, all of it in one transaction: at its own schema level, from which a migration
 * goes on. Sign-ins and links of people have ended, and no response cache knows its data versions. Throws a `Refusal` when a file
 * is missing or damaged, or the database holds anything.
 */
export async function restoreBackup(request: RestoreRequest): Promise<Restored> {
  const { database, actor, backup, signal, onProgress } = request;
  requireRight(actor, "restore");
  const { manifest } = backup;
  const totalBytes = sum(manifest.tables.map(({ bytes }) => bytes));
  let checkedBytes = 0;
  await database.transaction(requireEmpty, signal);
  await checkFiles(backup, signal, (bytes) => onProgress("Checking", (checkedBytes += bytes), totalBytes));
  return database.transaction(async (connection) => {
    await holdOffMigrations(connection);
    await requireEmpty(connection);
    try {
      await makeSchema(connection, manifest.migrations);
      const restored = await restoreRows(connection, backup, (table, bytes) =>
        onProgress(`Restoring ${table}`, bytes, totalBytes),
      );
      await raiseVersions(connection, manifest.tables);
      return restored;
    } catch (error) {
      throw refusalOf(error);
    }
  }, signal);
}

/** What follows once the schema is current: the audit has it, and the planner knows the sizes of the tables. */
export async function finishRestore(
  database: Database,
  actor: Actor,
  { manifest }: Backup,
  { rows }: Restored,
): Promise<void> {
  await database.transaction((connection) =>
    recordAction(connection, actor, {
      shopKey: null,
      action: "restore",
      detail: { made_at: manifest.made_at, version: manifest.version, rows },
    }),
  );
  await analyzeEverything(database);
}

async function requireEmpty(connection: Connection): Promise<void> {
  if (await isEmptyDatabase(connection)) return;
  throw impossible(
    "The database is not empty: restore into a new one, by another DATABASE_URL or another RETURNS_DATA_DIR. Nothing " +
      "was restored.",
  );
}

/** What of a backup itself cannot be restored is said in one sentence; any other error is returned as it is. */
function refusalOf(error: unknown): unknown {
  const { code = "", message } = error as Error & { code?: string };
  const isOfRows = /^(?:22|23|54)...$/u.test(code) || code.startsWith("ZSTD_");
  if (!isOfRows && !(error instanceof UnknownMigrations)) return error;
  return impossible(`The backup cannot be restored (${quoted(message)}). Nothing was restored.`);
}

/**
 * Puts a backup's rows in place of those of a schema that was just made; `onBytes` is told how much was read of all files. No
 * statement names what the schema does not have.
 */
export async function restoreRows(
  connection: Connection,
  backup: Backup,
  onBytes: (table: string, bytes: number) => void,
): Promise<Restored> {
  const { tables, sequences } = backup.manifest;
  await setCopyFormat(connection);
  const present = await listStoredTables(connection);
  const wanted = new Map(tables.map((table) => [table.name, table]));
  const missing = present.find(({ name }) => !wanted.has(name));
  if (missing !== undefined) {
    throw impossible(`The backup has no table ${missing.name}, which its version has. Nothing was restored.`);
  }
  for (const { name, columns } of present) requireColumns(name, columns, wanted.get(name)?.columns ?? []);
  const ordered = inOrderOfReferences(
    present.map(({ name }) => name),
    await listForeignKeys(connection),
  ).flatMap((name) => wanted.get(name) ?? []);
  await emptyTables(connection, ordered);
  let readBytes = 0;
  const filled = ordered.filter(({ name }) => !ENDED_TABLES.has(name));
  for (const table of filled) {
    await restoreTable(connection, backup, table, (bytes) => onBytes(table.name, (readBytes += bytes)));
  }
  const moving = new Set((await listSequences(connection)).map(({ name }) => name));
  for (const { name, last_value: lastValue } of sequences)
    if (moving.has(name)) await moveSequence(connection, name, lastValue);
  const leftOut = tables.filter((table) => !ordered.includes(table)).map(({ name }) => name);
  return { rows: sum(filled.map(({ rows }) => rows)), tables: ordered.length, left_out: leftOut };
}

function requireColumns(table: string, present: readonly string[], given: readonly string[]): void {
  const [other] = new Set(given).symmetricDifference(new Set(present));
  if (other === undefined) return;
  throw impossible(
    `The columns of ${table} in the backup are not those of its version (${other}). Nothing was restored.`,
  );
}

/** Every table after those that it refers to. */
function inOrderOfReferences(tables: readonly string[], keys: readonly ForeignKeyRow[]): string[] {
  const ordered = new Set<string>();
  const add = (table: string, path: readonly string[]): void => {
    if (ordered.has(table)) return;
    if (path.includes(table)) throw new Error(`${[...path, table].join(" → ")}: a circle of foreign keys`);
    for (const { table_name: from, referenced_table: to } of keys) {
      if (from === table && to !== table) add(to, [...path, table]);
    }
    ordered.add(table);
  };
  for (const table of tables) add(table, []);
  return [...ordered];
}

async function restoreTable(
  connection: Connection,
  backup: Backup,
  table: BackupTable,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const counted = async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of readTable(backup, table)) {
      onBytes(chunk.length);
      yield chunk;
    }
  };
  const copy = copyIn(connection, table);
  await pipeline(counted, createZstdDecompress(), copy);
  if (copy.rowCount === table.rows) return;
  throw impossible(
    `The backup of ${table.name} has ${copy.rowCount} rows instead of ${table.rows}. Nothing was restored.`,
  );
}

/** A server that has answered from this database before, as it was then, remembers nothing of these versions. */
async function raiseVersions(connection: Connection, tables: readonly BackupTable[]): Promise<void> {
  const dataVersion = await findUnusedDataVersion(connection);
  const workspace = tables.find(({ name }) => name === "workspace");
  if (workspace?.columns.includes("warned_version")) await raiseWarnedVersions(connection, dataVersion);
  await raiseDataVersions(connection, dataVersion);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
