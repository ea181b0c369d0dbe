import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";
import { checkFiles, secretOf, readBackup, readBackupSecret, readTable } from "./backup-manifest.ts";
import type { Manifest } from "./backup-manifest.ts";
import { refusalOf } from "./new-folder.ts";
import { impossible } from "./refusal.ts";

/** Of a folder of backups; names sort by time. */
const OWN_NAME = /^returns-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/u;

/** Where in a folder of backups the one of this moment is written. */
export function nextBackupIn(folder: string, now: Date): string {
  return join(folder, `returns-${now.toISOString().slice(0, 19).replaceAll(":", "-")}Z`);
}

/** Removes all but the newest backups of a folder, none that somebody has named; returns what was removed. */
export async function removeOldBackups(folder: string, keep: number): Promise<string[]> {
  const old = (await readdir(folder))
    .filter((name) => OWN_NAME.test(name))
    .toSorted()
    .slice(0, -keep);
  for (const name of old) {
    const path = join(folder, name);
    await rm(path, { recursive: true }).catch((error: unknown) => {
      throw refusalOf(error, path);
    });
  }
  return old;
}

/** `opens`: whether tokens work with the secret that is set where it was verified; null = none is set. */
export type VerifiedBackup = Pick<Manifest, "made_at" | "version" | "has_secret"> & {
  folder: string;
  tables: number;
  rows: number;
  bytes: number;
  opens: boolean | null;
};

/** Reads all of a backup and compares it with its manifest; needs no database. Throws a `Refusal` for what is wrong first. */
export async function verifyBackup(
  folder: string,
  secret: string | null,
  {
    signal,
    onProgress,
  }: { signal: AbortSignal; onProgress: (label: string, done: number, total: number) => void },
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
