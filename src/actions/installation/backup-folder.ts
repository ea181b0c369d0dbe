import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, readdir, rm, writeFile, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";
import Type from "typebox";
import type { Static } from "typebox";
import { Compile } from "typebox/compile";
import { refusalOf } from "../new-folder.ts";
import { impossible } from "../refusal.ts";
import { rootFingerprint } from "../../lib/keys.ts";
import { knownSecret } from "../../lib/secret-file.ts";
import { schemaLevel } from "../../store/migrate.ts";

/** As PostgreSQL's `quote_ident` writes it. */
const Name = Type.String({ pattern: '^(?:[a-z_][a-z0-9_]{0,62}|"(?:[^"\\p{Cc}]|""){1,63}")$' });
const Hash = Type.String({ pattern: "^[0-9a-f]{64}$" });
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** One table of a backup: its file, as it is on disk, and how many rows it holds. */
const Table = Type.Object({
  name: Name,
  columns: Type.Array(Name, { minItems: 1, uniqueItems: true }),
  file: Type.String({ pattern: "^\\w[\\w-]{0,80}\\.copy\\.zst$" }),
  rows: Count,
  bytes: Count,
  sha256: Hash,
});

/**
 * A backup's manifest. `migrations`: those its schema has run; `secret_fingerprints`: of the root secrets valid in it, empty:
 * none was used yet. Earlier versions wrote `secret_fingerprint`, null: not used yet.
 */
const ManifestSchema = Type.Object({
  format: Type.Integer(),
  made_at: Type.String({ pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$" }),
  version: Type.String({ pattern: "^[\\w.+-]{1,40}$" }),
  postgresql: Type.String({ maxLength: 200 }),
  migrations: Type.Array(Type.String({ pattern: "^\\w{1,100}$" }), { minItems: 1 }),
  secret_fingerprints: Type.Optional(Type.Array(Hash)),
  secret_fingerprint: Type.Optional(Type.Union([Hash, Type.Null()])),
  has_secret: Type.Boolean(),
  tables: Type.Array(Table),
  sequences: Type.Array(Type.Object({ name: Name, last_value: Type.Integer() })),
});

export type BackupTable = Static<typeof Table>;
export type Manifest = Static<typeof ManifestSchema>;

/** A backup in a folder; its manifest is unharmed. */
export type Backup = { folder: string; manifest: Manifest };

export const FORMAT = 1;
const MANIFEST_FILE = "manifest.json";
const SECRET_FILE = "secret";
/** Of the manifest, and of the secret. */
const MOST_BYTES = 16_000_000;
/** As RETURNS_SECRET has to have. */
const LEAST_SECRET = 32;
const PRIVATE = { mode: 0o600, flush: true } as const;

/** Writes the secret, if any, and then the manifest, with its own checksum. */
export async function writeManifest(
  folder: string,
  manifest: Manifest,
  secret: string | null,
): Promise<void> {
  if (secret !== null) await writeFile(join(folder, SECRET_FILE), `${secret}\n`, PRIVATE);
  const text = JSON.stringify({ ...manifest, sha256: checksumOf(manifest) }, null, 2);
  await writeFile(join(folder, MANIFEST_FILE), `${text}\n`, PRIVATE);
}

/**
 * Reads a backup's manifest, and does all checks that need no database. Throws a `Refusal` for a folder that is not a backup, a
 * damaged one, or one of a newer version. It may be malicious: unchecked content is not shown.
 */
export async function readBackup(folder: string): Promise<Backup> {
  const file = join(folder, MANIFEST_FILE);
  const text = await readPlainFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EACCES") throw impossible(`${notRestorable(folder)}: this user may not read it.`);
    throw impossible(`${notRestorable(folder)}: it has no ${MANIFEST_FILE}.`);
  });
  const { sha256, ...manifest } = parse(file, text);
  if (manifest.format !== FORMAT && Number.isInteger(manifest.format)) throw newerVersion(manifest);
  if (sha256 !== checksumOf(manifest)) throw damaged(file);
  requireShape(file, manifest);
  const migrations = manifest.migrations.map((name) => ({ name, works_with: null }));
  const level = await schemaLevel(migrations);
  if (level === "newer") throw newerVersion(manifest);
  if (level === "older") {
    throw impossible(
      'The backup is older than version 0.2.0: restore it with version 0.2.0, run "./returns migrate" there, and back up again. ' +
        "Nothing was restored.",
    );
  }
  return { folder, manifest };
}

/** Throws a `Refusal` that names the first member that no backup writes, such as a file in another folder. */
function requireShape(file: string, manifest: Manifest): void {
  const [error] = Compile(ManifestSchema).Errors(manifest);
  const { tables } = manifest;
  const isTwice =
    error === undefined &&
    new Set(tables.flatMap((table) => [table.name, table.file])).size < 2 * tables.length;
  if (error === undefined && !isTwice) return;
  const place = isTwice ? "/tables" : error?.instancePath || "/";
  throw impossible(`${file} is not a valid manifest (see ${place}). Nothing was restored.`);
}

/** The secret that a backup holds; null = none. Throws a `Refusal` when it is missing or none of the manifest's. */
export async function readBackupSecret({ folder, manifest }: Backup): Promise<string | null> {
  if (!manifest.has_secret) return null;
  const file = join(folder, SECRET_FILE);
  const secret = await readPlainFile(file).catch(() => {
    throw impossible(`${file} is missing or cannot be read: the backup is incomplete. Nothing was restored.`);
  });
  if (secret.trim().length < LEAST_SECRET || secretOf(manifest, secret.trim()) === null) throw damaged(file);
  return secret.trim();
}

type Fingerprints = Pick<Manifest, "secret_fingerprint" | "secret_fingerprints">;

/** The first secret of a list with which the tokens of a backup work; null = none. */
export function secretOf(manifest: Fingerprints, list: string): string | null {
  const { secret_fingerprint: earlier = null, secret_fingerprints: valid } = manifest;
  const fingerprints = valid ?? (earlier === null ? [] : [earlier]);
  const isValid = (secret: string): boolean => fingerprints.includes(rootFingerprint(secret).toString("hex"));
  return fingerprints.length === 0 ? list : knownSecret(list, isValid);
}

/** Reads every file once. Throws a `Refusal` for the first that is missing or not as the backup has written it. */
export async function checkFiles(
  backup: Backup,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<void> {
  for (const table of backup.manifest.tables)
    for await (const chunk of readTable(backup, table)) {
      signal.throwIfAborted();
      onBytes(chunk.length);
    }
}

/**
 * The bytes of a table's file. Throws a `Refusal` if it is missing, or at the end if they differ from the manifest: the file may
 * have been replaced since it was checked.
 */
export async function* readTable({ folder }: Backup, table: BackupTable): AsyncGenerator<Buffer> {
  const file = join(folder, table.file);
  const opened = await openPlainFile(file);
  if (opened === null)
    throw impossible(`${file} is missing: the backup is incomplete. Nothing was restored.`);
  const { handle, size } = opened;
  try {
    if (size !== table.bytes) {
      throw impossible(
        `${file} has ${size} bytes instead of ${table.bytes}: the backup is incomplete. Nothing was restored.`,
      );
    }
    const hash = createHash("sha256");
    for await (const chunk of handle.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
      hash.update(chunk);
      yield chunk;
    }
    if (hash.digest("hex") !== table.sha256) throw damaged(file);
  } finally {
    await handle.close();
  }
}

/** Of a folder of backups; names sort by time. */
const OWN_NAME = /^returns-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/u;

/** Where in a folder of backups the one of this moment is written. */
export function nextBackupIn(folder: string, now: Date): string {
  return join(folder, `returns-${now.toISOString().slice(0, 19).replaceAll(":", "-")}Z`);
}

/**
 * Removes all but the newest backups of a folder, but neither `made` nor one with a name given by a person; returns the removed ones.
 * Others may have the names of a clock that was ahead.
 */
export async function removeOldBackups(folder: string, keep: number, made: string): Promise<string[]> {
  const others = (await readdir(folder)).filter((name) => OWN_NAME.test(name) && join(folder, name) !== made);
  const old = others.toSorted().slice(0, Math.max(0, others.length + 1 - keep));
  for (const name of old) {
    const path = join(folder, name);
    await rm(path, { recursive: true }).catch((error: unknown) => {
      throw refusalOf(error, path);
    });
  }
  return old;
}

/** How long work on a whole database, or a whole workspace, is followed, and stopped. */
export type Work = {
  signal: AbortSignal;
  onProgress: (label: string, done: number, total: number) => void;
};

/** `opens`: whether tokens work with the secret that is set where it was verified; null = none is set. */
type VerifiedBackup = Pick<Manifest, "made_at" | "version" | "has_secret"> & {
  folder: string;
  tables: number;
  rows: number;
  bytes: number;
  opens: boolean | null;
};

/** Reads a whole backup and compares it with its manifest, without a database. Throws a `Refusal` for the first problem. */
export async function verifyBackup(
  folder: string,
  secret: string | null,
  { signal, onProgress }: Work,
): Promise<VerifiedBackup> {
  const backup = await readBackup(folder);
  await readBackupSecret(backup);
  const { tables, made_at, version, has_secret } = backup.manifest;
  const bytes = tables.reduce((sum, table) => sum + table.bytes, 0);
  let checkedBytes = 0;
  await checkFiles(backup, signal, (count) => onProgress("Checking", (checkedBytes += count), bytes));
  for (const table of tables) {
    const rows = await countRows(readTable(backup, table), signal);
    if (rows !== table.rows)
      throw impossible(
        `The backup of ${table.name} has ${rows ?? "unreadable"} rows instead of ${table.rows}.`,
      );
  }
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const opens = secret === null ? null : secretOf(backup.manifest, secret) !== null;
  return { folder, made_at, version, has_secret, tables: tables.length, rows, bytes, opens };
}

/** COPY ends each row with a line feed, and writes those in values as text; null = the file cannot be decompressed. */
async function countRows(file: AsyncIterable<Buffer>, signal: AbortSignal): Promise<number | null> {
  let rows = 0;
  const count = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of chunks)
      for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) rows += 1;
  };
  try {
    await pipeline(file, createZstdDecompress(), count, { signal });
    return rows;
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

export function rowsText({ rows, tables }: { rows: number; tables: number }): string {
  return `${rows.toLocaleString("en")} rows of ${tables} tables`;
}

export function sizeText({ bytes }: { bytes: number }): string {
  return `${(bytes / 1_000_000).toLocaleString("en", { maximumFractionDigits: 1 })} MB`;
}

/** Neither follows a link nor waits for a writer of a pipe. */
const OPEN_PLAIN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const NOT_PLAIN = new Set(["ENOENT", "ELOOP", "ENXIO"]);

/** A file that is no link, device or pipe; null = there is none. */
async function openPlainFile(file: string): Promise<{ handle: FileHandle; size: number } | null> {
  const handle = await open(file, OPEN_PLAIN).catch((error: NodeJS.ErrnoException) => {
    if (NOT_PLAIN.has(error.code ?? "")) return null;
    throw error;
  });
  const found = await handle?.stat();
  if (handle !== null && found?.isFile() === true) return { handle, size: found.size };
  await handle?.close();
  return null;
}

/** The text of a file that is at most as large as a backup writes. */
async function readPlainFile(file: string): Promise<string> {
  const opened = await openPlainFile(file);
  if (opened === null) throw new Error("not a regular file");
  const { handle, size } = opened;
  try {
    if (size > MOST_BYTES) throw new Error("larger than any file of a backup");
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

function parse(file: string, text: string): Manifest & { sha256: string } {
  try {
    const manifest = JSON.parse(text) as Manifest & { sha256: string };
    // It may be too deeply nested for its checksum.
    JSON.stringify(manifest);
    if (typeof manifest === "object" && manifest !== null) return manifest;
  } catch {
    // Said below.
  }
  throw damaged(file);
}

/** Of everything that the manifest states, however it is indented. */
function checksumOf(manifest: Manifest): string {
  return createHash("sha256").update(JSON.stringify(manifest)).digest("hex");
}

function notRestorable(folder: string): string {
  return `${folder} is not a backup that can be restored`;
}

function damaged(file: string): Error {
  return impossible(`${file} is damaged: it has changed since the backup was made. Nothing was restored.`);
}

function newerVersion({ version }: Manifest): Error {
  const known = Compile(ManifestSchema.properties.version).Check(version) ? ` (${version})` : "";
  return impossible(
    `The backup was made by a newer version of the service${known}: install that version, and restore with it. ` +
      "Nothing was restored.",
  );
}
