import { randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** The secret kept in `folder`; null = there is none yet. */
export function readSecret(folder: string): string | null {
  return readIfThere(fileIn(folder));
}

/**
 * The secret kept in `folder`; where there is none it becomes `first`, with mode 0600. Two processes that start at once
 * agree on one.
 */
export function readOrCreateSecret(folder: string, first?: string): string {
  mkdirSync(folder, { recursive: true });
  return readOrCreateSecretFile(fileIn(folder), first).secret;
}

/** The same for a file, whose folder has to be there. */
export function readOrCreateSecretFile(
  file: string,
  first: string = randomBytes(32).toString("base64url"),
): { secret: string; isMade: boolean } {
  const found = readIfThere(file);
  if (found !== null) return { secret: found, isMade: false };
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${first}\n`, { mode: 0o600, flag: "wx", flush: true });
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    unlinkSync(draft);
  }
  syncFolder(dirname(file));
  const secret = readIfThere(file) as string;
  return { secret, isMade: secret === first };
}

/** Where the next secret of `folder` waits until the database knows it. */
export function nextSecretFile(folder: string): string {
  return `${fileIn(folder)}.next`;
}

/**
 * Makes the waiting secret that of `folder`, at once, and keeps the one of before under the number of its version: backups
 * of before need it. May be repeated after it was cut off. Throws when the file to keep it in holds another secret.
 */
export function turnSecret(
  folder: string,
  change: { versionBefore: number; before: string },
): { file: string; keptFile: string } {
  const file = fileIn(folder);
  const keptFile = `${file}.${change.versionBefore}`;
  const { secret: kept } = readOrCreateSecretFile(keptFile, change.before);
  if (kept !== change.before)
    throw new Error(`${keptFile} holds another secret: move it away, and try again.`);
  try {
    renameSync(nextSecretFile(folder), file);
  } catch (error) {
    // Somebody else has done it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  syncFolder(folder);
  return { file, keptFile };
}

/** A name that a lost power supply took back would be a lost secret. */
function syncFolder(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function fileIn(folder: string): string {
  return join(folder, "secret");
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
