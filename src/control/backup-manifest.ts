import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { rootFingerprint } from "../lib/keys.ts";
import type { SequenceRow } from "../store/queries/backup.ts";
import type { CopiedTable } from "../store/table-copy.ts";
import { schemaLevel } from "../store/migrate.ts";
import { impossible } from "./refusal.ts";

/** One table of a backup: its file, as it is on disk, and how many rows it holds. */
export type BackupTable = CopiedTable & { file: string; rows: number; bytes: number; sha256: string };

/**
 * What a backup holds. `migrations`: those that its schema has run; `secret_fingerprints`: of the root secrets that are valid
 * in it, none = none was used yet. Earlier versions wrote `secret_fingerprint`, null = it was not used yet.
 */
export type Manifest = {
  format: number;
  made_at: string;
  version: string;
  postgresql: string;
  migrations: string[];
  secret_fingerprints?: string[];
  secret_fingerprint?: string | null;
  has_secret: boolean;
  tables: BackupTable[];
  sequences: SequenceRow[];
};

/** A backup in a folder; its manifest is unharmed. */
export type Backup = { folder: string; manifest: Manifest };

export const FORMAT = 1;
const MANIFEST_FILE = "manifest.json";
const SECRET_FILE = "secret";
const PRIVATE = { mode: 0o600, flush: true } as const;

/** Writes the secret, if there is one, and then the manifest, with a checksum of its own. */
export async function writeManifest(
  folder: string,
  manifest: Manifest,
  secret: string | null,
): Promise<void> {
  if (secret !== null) await writeFile(join(folder, SECRET_FILE), `${secret}\n`, PRIVATE);
  const text = JSON.stringify({ ...manifest, sha256: checksumOf(manifest) }, null, 2);
  await writeFile(join(folder, MANIFEST_FILE), `${text}\n`, PRIVATE);
}

/** Reads a backup's manifest. Throws a `Refusal` for what is none, for a damaged one, and for one of a newer version. */
export async function readBackup(folder: string): Promise<Backup> {
  const file = join(folder, MANIFEST_FILE);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === "EACCES" ? "this user may not read it" : `it has no ${MANIFEST_FILE}`;
    throw impossible(`${folder} is not a backup that can be restored: ${reason}.`);
  });
  const { sha256, ...manifest } = parse(file, text);
  if (manifest.format !== FORMAT && Number.isInteger(manifest.format)) throw newerVersion(manifest);
  if (sha256 !== checksumOf(manifest)) throw damaged(file);
  const migrations = manifest.migrations.map((name) => ({ name, works_with: null }));
  if ((await schemaLevel(migrations)) === "newer") throw newerVersion(manifest);
  return { folder, manifest };
}

/** The secret that a backup holds; null = none. Throws a `Refusal` when it is missing or none of the manifest's. */
export async function readBackupSecret({ folder, manifest }: Backup): Promise<string | null> {
  if (!manifest.has_secret) return null;
  const file = join(folder, SECRET_FILE);
  const secret = await readFile(file, "utf8").catch(() => {
    throw impossible(`${file} is missing or cannot be read: the backup is incomplete. Nothing was restored.`);
  });
  if (!isSecretOf(manifest, secret.trim())) throw damaged(file);
  return secret.trim();
}

type Fingerprints = Pick<Manifest, "secret_fingerprint" | "secret_fingerprints">;

/** Whether the tokens of a backup work with a secret. */
export function isSecretOf(manifest: Fingerprints, secret: string): boolean {
  const { secret_fingerprint: earlier = null, secret_fingerprints: valid } = manifest;
  const fingerprints = valid ?? (earlier === null ? [] : [earlier]);
  return fingerprints.length === 0 || fingerprints.includes(rootFingerprint(secret).toString("hex"));
}

/** Reads every file once. Throws a `Refusal` for the first that is missing or not as the backup has written it. */
export async function checkFiles(
  backup: Backup,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<void> {
  for (const table of backup.manifest.tables) {
    const file = fileOf(backup, table);
    const found = await stat(file).catch(() => null);
    if (found === null)
      throw impossible(`${file} is missing: the backup is incomplete. Nothing was restored.`);
    if (found.size !== table.bytes) {
      throw impossible(
        `${file} has ${found.size} bytes instead of ${table.bytes}: the backup is incomplete. Nothing was restored.`,
      );
    }
    const hash = createHash("sha256");
    await pipeline(
      createReadStream(file),
      async (chunks: AsyncIterable<Buffer>) => {
        for await (const chunk of chunks) {
          hash.update(chunk);
          onBytes(chunk.length);
        }
      },
      { signal },
    );
    if (hash.digest("hex") !== table.sha256) throw damaged(file);
  }
}

/** Where a table's rows are. */
export function fileOf({ folder }: Backup, { file }: BackupTable): string {
  return join(folder, basename(file));
}

function parse(file: string, text: string): Manifest & { sha256: string } {
  try {
    return JSON.parse(text) as Manifest & { sha256: string };
  } catch {
    throw damaged(file);
  }
}

/** Of everything that the manifest states, however it is indented. */
function checksumOf(manifest: Manifest): string {
  return createHash("sha256").update(JSON.stringify(manifest)).digest("hex");
}

function damaged(file: string): Error {
  return impossible(`${file} is damaged: it is not what the backup has written. Nothing was restored.`);
}

function newerVersion({ version }: Manifest): Error {
  return impossible(
    `The backup was made by a newer version of the service (${version}): install that version, and restore with it. ` +
      "Nothing was restored.",
  );
}
