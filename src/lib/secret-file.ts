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

/** Without this, a power failure could undo the rename and lose the secret. */
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

const GUESSED_WORDS =
  /change.?me|replace.?me|password|passw0rd|insecure|example|your.?secret|default|123456789/iu;
const REPEATED = /^(.{1,16}?)\1+$/su;
const FEWEST_CHARACTERS = 8;

/** Whether a secret of enough length is guessable: a repetition, few characters, a known word. */
export function isWeakSecret(secret: string): boolean {
  return GUESSED_WORDS.test(secret) || REPEATED.test(secret) || new Set(secret).size < FEWEST_CHARACTERS;
}

/**
 * The root secrets of a list, newest first, which commas separate; each once. One that is in use may hold commas itself, as earlier
 * versions allowed: it has to be the last.
 */
export function secretsOf(list: string, isKnown: (secret: string) => boolean): string[] {
  const parts = list.split(",");
  const rests = parts.map((_, place) => parts.slice(place).join(",").trim());
  const place = rests.findIndex(isKnown);
  const newer = place === -1 ? parts : parts.slice(0, place);
  return [...new Set([...newer.map((part) => part.trim()), ...rests.slice(newer.length, newer.length + 1)])];
}

/** The first of a list that is known; null = none is. */
export function knownSecret(list: string, isKnown: (secret: string) => boolean): string | null {
  return secretsOf(list, isKnown).find(isKnown) ?? null;
}
