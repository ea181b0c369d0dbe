import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * AES-256-GCM: nonce, tag, ciphertext. `context` is authenticated, not hidden: a value sealed for one purpose cannot be opened
 * for another.
 */
export function seal(key: Buffer, context: string, plaintext: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context, "utf8"));
  const ciphertext = Buffer.concat([cipher.update(plaintext, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
}

/** Throws when `sealed` was changed, or was sealed with another key or for another context. */
export function unseal(key: Buffer, context: string, sealed: Buffer): string {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(context, "utf8"))
    .setAuthTag(tag);
  const ciphertext = sealed.subarray(NONCE_BYTES + TAG_BYTES);
  return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString("utf8");
}

/** A value that was sealed as JSON; null where `unseal` throws. */
export function unsealJson(key: Buffer, context: string, sealed: Buffer): unknown {
  try {
    return JSON.parse(unseal(key, context, sealed));
  } catch {
    return null;
  }
}

/** Longer ones are not opened. */
const LONGEST_TEXT = 4096;

/** A value for addresses and browsers to keep until `endsAt`, in milliseconds since 1970. */
export function sealText(key: Buffer, context: string, value: object, endsAt: number): string {
  return seal(key, context, JSON.stringify({ ...value, endsAt })).toString("base64url");
}

/** null: it was not sealed here for this context, or has ended. */
export function unsealText(key: Buffer, context: string, text: string, now: Date): unknown {
  if (text.length > LONGEST_TEXT) return null;
  const value = unsealJson(key, context, Buffer.from(text, "base64url")) as { endsAt: number } | null;
  return value !== null && now.getTime() < value.endsAt ? value : null;
}
