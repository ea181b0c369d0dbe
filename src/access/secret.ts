import { createHash, randomBytes } from "node:crypto";

const SECRET_BYTES = 32;
/** 32 bytes in base64url. */
const SECRET = /^[A-Za-z0-9_-]{43}$/u;

/** A random text that is shown once, and its SHA-256, which is all that is stored: 256 bits leave nothing to guess. */
type HashedSecret = { text: string; hash: Buffer };

export function newSecret(): HashedSecret {
  const text = randomBytes(SECRET_BYTES).toString("base64url");
  return { text, hash: hashOf(text) };
}

/** The hash of a secret; null = the text is none. */
export function hashSecret(text: string): Buffer | null {
  return SECRET.test(text) ? hashOf(text) : null;
}

export function hashOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
