import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress } from "node:zlib";
import type { Connection, Database } from "../store/database.ts";
import { isDistributed } from "../store/distribute.ts";
import { runUnlessMigrating, UNUSABLE } from "../store/migrate.ts";
import { listSequences, listStoredTables, noteBackup } from "../store/queries/backup.ts";
import { findSecretFingerprint, serverVersion } from "../store/queries/installation.ts";
import { listRootSecrets } from "../store/queries/installation-secret.ts";
import { appliedMigrations } from "../store/queries/schema.ts";
import { streamOf } from "../store/silent-connections.ts";
import { copyOut, holdTables, setCopyFormat } from "../store/table-copy.ts";
import type { CopyOut } from "../store/table-copy.ts";
import { VERSION } from "../lib/version.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { FORMAT, secretOf, writeManifest } from "./backup-manifest.ts";
import type { BackupTable, Manifest } from "./backup-manifest.ts";
import { makePrivateFolder, writeNewFolder } from "./new-folder.ts";
import { impossible } from "./refusal.ts";
import { requireRight } from "./rights.ts";
import { readSchemaLevel } from "./schema.ts";

export type BackupRequest = {
  /** Takes the note of the backup at its end. */
  database: Database;
  /** Holds a connection for as long as the tables are read. */
  reading: Database;
  actor: Actor;
  folder: string;
  /** Written beside the tables; null = the backup holds none. */
  secret: string | null;
  now: Date;
  signal: AbortSignal;
  onProgress: (label: string, done: number, total: number) => void;
};

/** What a backup has written; `bytes` of its tables on disk. */
export type MadeBackup = {
  folder: string;
  made_at: Date;
  version: string;
  schema_level: string;
  tables: number;
  rows: number;
  bytes: number;
  has_secret: boolean;
};

type Table = Awaited<ReturnType<typeof listStoredTables>>[number];

/**
 * Writes everything that the database holds into a new folder, from one snapshot, while others read and write; the schema
 * may be behind. Throws a `Refusal` on Citus, during a migration, for a folder that cannot be written, and for a secret that the
 * database does not know.
 */
export async function makeBackup(request: BackupRequest): Promise<MadeBackup> {
  const { database, reading, actor, folder, secret, now, signal } = request;
  requireRight(actor, "backup");
  const level = await readSchemaLevel(database);
  if (level === "newer" || level === "older") throw impossible(UNUSABLE[level]);
  await requireOneServer(database);
  let manifest: Manifest | undefined;
  await writeNewFolder(folder, signal, (partial) =>
    reading.longSnapshot(
      null,
      async (connection) => {
        await makePrivateFolder(partial);
        manifest = await copyTables(connection, partial, request);
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
  // A schema that is behind may have no place for it.
  if (level === "current") await note(database, actor, made);
  return made;
}

/** Each node of a Citus has snapshots of its own: what goes through the coordinator is not of one moment. */
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

/** Writes a table's rows as they come; no more is read than is written. */
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
    // The rest of a COPY that nobody reads would hold up the connection for good.
    if (!(error as { severity?: string }).severity) streamOf(connection.client).destroy();
    throw error;
  }
  return { bytes, sha256: hash.digest("hex") };
}

async function note(database: Database, actor: Actor, made: MadeBackup): Promise<void> {
  const { made_at, rows, bytes, has_secret } = made;
  await database.transaction(async (connection) => {
    await noteBackup(connection, made_at);
    const detail = { made_at, rows, bytes, has_secret };
    await recordAction(connection, actor, { shopKey: null, action: "backup", detail });
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
