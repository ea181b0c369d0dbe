import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress, createZstdDecompress } from "node:zlib";
import { readOrCreateSecret } from "../../lib/secret-file.ts";
import { VERSION } from "../../lib/version.ts";
import type { Connection, Database } from "../../store/database.ts";
import { CitusMissing, distributeInstallation, isDistributed } from "../../store/distribute.ts";
import {
  holdOffMigrations,
  makeSchema,
  runUnlessMigrating,
  UnknownMigrations,
  UNUSABLE,
} from "../../store/migrate.ts";
import {
  analyzeEverything,
  findUnusedDataVersion,
  isEmptyDatabase,
  listSequences,
  listStoredTables,
  moveSequence,
  noteBackup,
  raiseDataVersions,
  raiseWarnedVersions,
  findSecretFingerprint,
  listRootSecrets,
} from "./queries.ts";
import { listForeignKeys } from "../../store/queries/distribute.ts";
import { appliedMigrations, serverVersion } from "../../store/queries/installation.ts";
import { streamOf } from "../../store/silent-connections.ts";
import {
  copyIn,
  copyOut,
  emptyTables,
  holdTables,
  inOrderOfReferences,
  setCopyFormat,
} from "../../store/table-copy.ts";
import type { CopyOut } from "../../store/table-copy.ts";
import { defineAction, type ActionCaller, type ActionContext } from "../action.ts";
import { flag, integer, optional, own } from "../field.ts";
import { quoted } from "../input.ts";
import { makePrivateFolder, writeNewFolder } from "../new-folder.ts";
import { impossible } from "../refusal.ts";
import {
  checkFiles,
  FORMAT,
  nextBackupIn,
  readBackup,
  readBackupSecret,
  readTable,
  removeOldBackups,
  rowsText,
  secretOf,
  sizeText,
  writeManifest,
} from "./backup-folder.ts";
import type { Backup, BackupTable, Manifest, Work } from "./backup-folder.ts";
import { readSchemaLevel } from "./schema.ts";
import { ownSecret, type SecretPlace } from "./secrets.ts";

/** Who acts on the installation. What takes longer than one transaction is done before it, and the action records it. */
export type InstallationCaller = ActionCaller &
  Work & {
    /** Where this process has its root secrets from. */
    secrets: Omit<SecretPlace, "database">;
    /** Brings the schema up to date. */
    migrate: () => Promise<void>;
  };

const MOST_KEPT = 10_000;

const folderField = (hint: string) => own("Folder", (_subject, given) => resolve(given), { hint });

/**
 * Writes the whole database into a new folder, from one snapshot, during normal use; the schema may be behind. Refused on Citus,
 * during a migration, for a folder that cannot be written, and for a secret that the database does not know.
 */
export const backup = defineAction({
  name: "backup",
  title: "Back up installation",
  about: "Back up the whole installation into a folder, while it runs.",
  past: "Backed up the installation",
  least: "operator",
  hasNoWorkspace: true,
  input: {
    folder: folderField("a folder that does not exist yet, or an empty one"),
    with_secret: flag("With secret", {
      hint: "also write the secret into the backup: protect it like the secret",
    }),
    keep: optional(
      integer("Keep", 1, MOST_KEPT, {
        hint: "keep several backups in the folder: add one named after the time, then remove all but this many",
        placeholder: "number",
      }),
    ),
  },
  prepare: async (caller: InstallationCaller, { folder: given, with_secret: withSecret, keep }) => {
    const folder = keep === null ? given : nextBackupIn(given, caller.now);
    // Any other error comes from writing into it.
    if (keep !== null) await mkdir(given, { mode: 0o700 }).catch(() => {});
    const secret = withSecret ? ownSecret(caller.secrets) : null;
    if (withSecret && secret === null) throw impossible("No secret is set that the backup could include.");
    return writeBackup(caller, folder, secret);
  },
  run: async (
    { connection }: ActionContext<InstallationCaller>,
    { folder: parent, keep },
    { made, hasPlace },
  ) => {
    if (hasPlace) await noteBackup(connection, made.made_at);
    const { made_at, rows, bytes, has_secret } = made;
    const removed: string[] = [];
    const done = `Backed up ${rowsText(made)} to ${made.folder} (${sizeText(made)}).`;
    return {
      result: { ...made, removed },
      done,
      audit: hasPlace ? { detail: { made_at, rows, bytes, has_secret } } : null,
      next: async () => {
        if (keep !== null) removed.push(...(await removeOldBackups(parent, keep, made.folder)));
        return { result: { ...made, removed }, done };
      },
    };
  },
});

/**
 * Restores a backup into an empty database, brings the schema up to date, and keeps the backup's secret where none is set.
 * People must sign in again.
 */
export const restore = defineAction({
  name: "restore",
  title: "Restore backup",
  about: "Restore a backup into an empty database: all or nothing.",
  past: "Restored the installation from a backup",
  least: "operator",
  hasNoWorkspace: true,
  input: { folder: folderField("a folder that `backup` wrote") },
  prepare: async (caller: InstallationCaller, { folder }) => {
    const { secrets, migrate } = caller;
    const from = await readBackup(folder);
    const secret = await secretForRestore(from, ownSecret(secrets));
    const restored = await restoreBackup(from, caller);
    // Not earlier: the secret of a refused backup must not enter this data folder.
    if (secrets.secret === null) readOrCreateSecret(secrets.dataFolder, secret);
    await migrate();
    const { made_at, version } = from.manifest;
    return { folder: from.folder, made_at, version, ...restored };
  },
  run: async (_context: ActionContext<InstallationCaller>, _input, restored) => {
    const { made_at, version, rows } = restored;
    return {
      result: restored,
      done: `Restored ${rowsText(restored)}, as of ${made_at}.`,
      audit: { detail: { made_at, version, rows } },
    };
  },
  // Gives the planner the sizes of the tables.
  after: ({ database }) => analyzeEverything(database),
});

/** Distributes the tables of the installation over a Citus cluster; refused where there is none. */
export const distribute = defineAction({
  name: "distribute",
  title: "Distribute database",
  about: "then distribute the tables over the nodes of a Citus cluster (docs/scaling.md)",
  past: "Distributed the database",
  least: "operator",
  hasNoWorkspace: true,
  input: {},
  prepare: async ({ database }: ActionCaller) => {
    try {
      return await distributeInstallation(database);
    } catch (error) {
      throw error instanceof CitusMissing ? impossible(error.message) : error;
    }
  },
  run: async (_context: ActionContext<ActionCaller>, _input, placed) => {
    const { functions: _functions, ...tables } = placed;
    const count = Object.values(tables).flat().length;
    return {
      result: placed,
      done: count === 0 ? "All tables were distributed already." : `${count} tables were distributed.`,
      audit: { detail: placed },
    };
  },
});

export const INSTALLATION_ACTIONS = [backup, restore, distribute] as const;

type Table = Awaited<ReturnType<typeof listStoredTables>>[number];
type BackupRequest = Pick<InstallationCaller, "now" | "onProgress"> & { secret: string | null };

/** `bytes`: of the tables on disk. `hasPlace`: whether the database can note the backup, for which a schema that is behind may have no place. */
async function writeBackup(
  { database, now, signal, onProgress }: InstallationCaller,
  folder: string,
  secret: string | null,
) {
  const level = await readSchemaLevel(database);
  if (level === "newer" || level === "older") throw impossible(UNUSABLE[level]);
  await requireOneServer(database);
  let manifest: Manifest | undefined;
  await writeNewFolder(folder, signal, (partial) =>
    database.longSnapshot(
      null,
      async (connection) => {
        await makePrivateFolder(partial);
        manifest = await copyTables(connection, partial, { secret, now, onProgress });
        await writeManifest(partial, manifest, secret === null ? null : secretOf(manifest, secret));
      },
      signal,
    ),
  );
  const { migrations, tables } = manifest as unknown as Manifest;
  const made = {
    folder,
    made_at: now,
    version: VERSION,
    schema_level: migrations.at(-1) ?? "",
    tables: tables.length,
    rows: sum(tables.map(({ rows }) => rows)),
    bytes: sum(tables.map(({ bytes }) => bytes)),
    has_secret: secret !== null,
  };
  return { made, hasPlace: level === "current" };
}

/** Each node of a Citus has its own snapshots: a backup through the coordinator would be inconsistent. */
async function requireOneServer(database: Database): Promise<void> {
  if (!(await isDistributed(database))) return;
  throw impossible(
    "This database is distributed over the nodes of a Citus cluster, which have no common snapshot: back up the " +
      "coordinator and every node with pg_basebackup and their WAL, to one point of citus_create_restore_point.",
  );
}

async function copyTables(
  connection: Connection,
  folder: string,
  { secret, now, onProgress }: BackupRequest,
): Promise<Manifest> {
  await setCopyFormat(connection);
  const tables: Table[] = [];
  const isHeld = await runUnlessMigrating(connection, async () => {
    tables.push(...(await listStoredTables(connection)));
    await holdTables(connection, tables);
  });
  if (!isHeld) throw impossible("A migration is under way: try again when it has ended.");
  if (tables.length === 0) throw impossible("The database is empty: there is nothing to back up.");
  const fingerprints = await listFingerprints(connection, tables);
  if (secret !== null && secretOf({ secret_fingerprints: fingerprints }, secret) === null) {
    throw impossible("The secret is not one of this database's valid ones: no backup was made.");
  }
  const total = sum(tables.map(({ bytes }) => bytes));
  const copied: { table: Table; copy: CopyOut; file: string; bytes: number; sha256: string }[] = [];
  let doneBytes = 0;
  for (const [index, table] of tables.entries()) {
    const label = `Backing up ${table.name}`;
    const file = `${/^\w+$/u.test(table.name) ? table.name : `table-${index}`}.copy.zst`;
    const copy = copyOut(connection, table);
    const startBytes = doneBytes;
    const written = await writeCompressed(connection, copy, join(folder, file), (bytes) =>
      onProgress(label, startBytes + Math.min(bytes, table.bytes), total),
    );
    doneBytes += table.bytes;
    copied.push({ table, copy, file, ...written });
  }
  const sequences = (await listSequences(connection)).flatMap(({ name, last_value: lastValue }) =>
    lastValue === null ? [] : [{ name, last_value: lastValue }],
  );
  const { name: postgresql } = await serverVersion(connection);
  return {
    format: FORMAT,
    made_at: now.toISOString(),
    version: VERSION,
    postgresql,
    migrations: (await appliedMigrations(connection)).map((migration) => migration.name),
    secret_fingerprints: fingerprints,
    has_secret: secret !== null,
    tables: copied.map(({ table, copy, file, bytes, sha256 }): BackupTable => {
      const { name, columns } = table;
      return { name, columns, file, rows: copy.rowCount, bytes, sha256 };
    }),
    sequences,
  };
}

/** Of the root secrets that are valid; of the one of an earlier version, where none was used since. */
async function listFingerprints(connection: Connection, tables: readonly Table[]): Promise<string[]> {
  const has = (table: string): boolean => tables.some(({ name }) => name === table);
  const rows = has("installation_secret") ? await listRootSecrets(connection) : [];
  const earlier = rows.length === 0 && has("installation") ? await findSecretFingerprint(connection) : null;
  const valid = earlier === null ? rows.map(({ fingerprint }) => fingerprint) : [earlier];
  return valid.map((fingerprint) => fingerprint.toString("hex"));
}

/** Streams a table's rows, reading no faster than it writes. */
async function writeCompressed(
  connection: Connection,
  copy: CopyOut,
  file: string,
  onBytes: (bytes: number) => void,
): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash("sha256");
  let copiedBytes = 0;
  let bytes = 0;
  const counting = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      copiedBytes += chunk.length;
      onBytes(copiedBytes);
      done(null, chunk);
    },
  });
  const hashing = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      hash.update(chunk);
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  const target = createWriteStream(file, { mode: 0o600, flush: true });
  try {
    await pipeline(copy, counting, createZstdCompress(), hashing, target);
  } catch (error) {
    // An unread rest of a COPY would block the connection forever.
    if (!(error as { severity?: string }).severity) streamOf(connection.client).destroy();
    throw error;
  }
  return { bytes, sha256: hash.digest("hex") };
}

/** A restore's result; `left_out`: tables of the backup that its version of the service does not have. */
export type Restored = { rows: number; tables: number; left_out: string[] };

/** Signs people in, which a restored database does not: they sign in again. */
const ENDED_TABLES: ReadonlySet<string> = new Set(["console_session", "console_link", "console_challenge"]);

/**
 * The root secrets of a restored installation: the configured list, one of which must be valid in the backup, or else the
 * backup's own. Throws a `Refusal` if there is neither.
 */
export async function secretForRestore(from: Backup, setSecret: string | null): Promise<string> {
  const held = await readBackupSecret(from);
  const secret = setSecret ?? held;
  if (secret === null) {
    throw impossible(
      "The backup holds no secret, and none is set: set RETURNS_SECRET, or put the file secret into the data folder, as in the " +
        "installation that was backed up. Nothing was restored.",
    );
  }
  if (secretOf(from.manifest, secret) !== null) return secret;
  throw impossible(
    "The secret is not one of those that were valid in the installation when it was backed up, so no token would work: set one of " +
      "them as RETURNS_SECRET, or use a data folder that has none. Nothing was restored.",
  );
}

/**
 * Restores a backup into an empty database in one transaction: at its own schema level, to be migrated afterwards. Sign-ins and
 * links of people have ended, and no response cache has its data versions. Throws a `Refusal` if a file is missing or damaged, or
 * the database is not empty.
 */
export async function restoreBackup(
  from: Backup,
  { database, signal, onProgress }: Work & { database: Database },
): Promise<Restored> {
  const { manifest } = from;
  const totalBytes = sum(manifest.tables.map(({ bytes }) => bytes));
  let checkedBytes = 0;
  await database.transaction(requireEmpty, signal);
  await checkFiles(from, signal, (bytes) => onProgress("Checking", (checkedBytes += bytes), totalBytes));
  return database.transaction(async (connection) => {
    await holdOffMigrations(connection, signal);
    await requireEmpty(connection);
    try {
      await makeSchema(connection, manifest.migrations);
      const restored = await restoreRows(connection, from, (table, bytes) =>
        onProgress(`Restoring ${table}`, bytes, totalBytes),
      );
      await raiseVersions(connection, manifest.tables);
      return restored;
    } catch (error) {
      throw refusalOf(error);
    }
  }, signal);
}

async function requireEmpty(connection: Connection): Promise<void> {
  if (await isEmptyDatabase(connection)) return;
  throw impossible(
    "The database is not empty: restore into a new one, with another DATABASE_URL or another RETURNS_DATA_DIR. Nothing " +
      "was restored.",
  );
}

/** Errors caused by the backup become one sentence; any other error is returned unchanged. */
function refusalOf(error: unknown): unknown {
  const { code = "", message } = error as Error & { code?: string };
  const isOfRows = /^(?:22|23|54)...$/u.test(code) || code.startsWith("ZSTD_");
  if (!isOfRows && !(error instanceof UnknownMigrations)) return error;
  return impossible(`The backup cannot be restored (${quoted(message)}). Nothing was restored.`);
}

/**
 * Replaces the rows of a new schema with a backup's; `onBytes` receives the bytes read from all files. Statements use only names
 * of the schema.
 */
export async function restoreRows(
  connection: Connection,
  from: Backup,
  onBytes: (table: string, bytes: number) => void,
): Promise<Restored> {
  const { tables, sequences } = from.manifest;
  await setCopyFormat(connection);
  const present = await listStoredTables(connection);
  const wanted = new Map(tables.map((table) => [table.name, table]));
  const missing = present.find(({ name }) => !wanted.has(name));
  if (missing !== undefined) {
    throw impossible(`The backup has no table ${missing.name}, which its version has. Nothing was restored.`);
  }
  for (const { name, columns } of present) requireColumns(name, columns, wanted.get(name)?.columns ?? []);
  const ordered = inOrderOfReferences(present, await listForeignKeys(connection)).flatMap(
    ({ name }) => wanted.get(name) ?? [],
  );
  await emptyTables(connection, ordered);
  let readBytes = 0;
  const filled = ordered.filter(({ name }) => !ENDED_TABLES.has(name));
  for (const table of filled) {
    await restoreTable(connection, from, table, (bytes) => onBytes(table.name, (readBytes += bytes)));
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
    `The columns of ${table} in the backup differ from those of its version (${other}). Nothing was restored.`,
  );
}

async function restoreTable(
  connection: Connection,
  from: Backup,
  table: BackupTable,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const counted = async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of readTable(from, table)) {
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

/** No server has cached answers with these versions, even if it has used this database before. */
async function raiseVersions(connection: Connection, tables: readonly BackupTable[]): Promise<void> {
  const dataVersion = await findUnusedDataVersion(connection);
  const workspace = tables.find(({ name }) => name === "workspace");
  if (workspace?.columns.includes("warned_version")) await raiseWarnedVersions(connection, dataVersion);
  await raiseDataVersions(connection, dataVersion);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
