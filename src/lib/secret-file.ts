import { randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

/** The secret kept in `folder`; null = there is none yet. */
export function readSecret(folder: string): string | null {
  try {
    return readFileSync(fileIn(folder), "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/**
 * The secret kept in `folder`; where there is none it becomes `first`, with mode 0600. Two processes that start at once
 * agree on one.
 */
export function readOrCreateSecret(
  folder: string,
  first: string = randomBytes(32).toString("base64url"),
): string {
  mkdirSync(folder, { recursive: true });
  const found = readSecret(folder);
  if (found !== null) return found;
  const file = fileIn(folder);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${first}\n`, { mode: 0o600, flag: "wx", flush: true });
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    unlinkSync(draft);
  }
  syncFolder(folder);
  return readSecret(folder) as string;
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
