import { hkdfSync, randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Keys for separate purposes, derived from one secret (HKDF-SHA-256, RFC 5869), so that none can stand for another. */
export type Keys = { tokenPepper: Buffer; cursorKey: Buffer; sealingKey: Buffer };

export function deriveKeys(secret: string): Keys {
  const derive = (purpose: string): Buffer =>
    Buffer.from(hkdfSync("sha256", secret, "returns-analytics", purpose, 32));
  return { tokenPepper: derive("token pepper"), cursorKey: derive("cursor"), sealingKey: derive("sealing") };
}

/** The secret kept in `folder`; null = there is none yet. */
export function readSecret(folder: string): string | null {
  return readIfThere(fileIn(folder));
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
  const file = fileIn(folder);
  const found = readIfThere(file);
  if (found !== null) return found;
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${first}\n`, { mode: 0o600, flag: "wx" });
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    unlinkSync(draft);
  }
  return readIfThere(file) as string;
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
