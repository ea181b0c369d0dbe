import { createHmac, hkdfSync, randomBytes } from "node:crypto";
import { seal, unseal } from "./seal.ts";

/**
 * The keys of an installation, one per purpose, so that none can replace another. They remain the same for the installation's
 * lifetime; every valid root secret opens them.
 */
export type Keys = { tokenPepper: Buffer; cursorKey: Buffer; sealingKey: Buffer };

const KEY_BYTES = 32;

export function makeKeys(): Keys {
  return {
    tokenPepper: randomBytes(KEY_BYTES),
    cursorKey: randomBytes(KEY_BYTES),
    sealingKey: randomBytes(KEY_BYTES),
  };
}

/** The keys that early versions of 0.x derived from their one root secret (HKDF-SHA-256, RFC 5869). */
export function deriveKeys(secret: string): Keys {
  return {
    tokenPepper: derive(secret, "token pepper"),
    cursorKey: derive(secret, "cursor"),
    sealingKey: derive(secret, "sealing"),
  };
}

/** Distinguishes token peppers, without revealing them. */
export function fingerprintOf(tokenPepper: Buffer): Buffer {
  return createHmac("sha256", tokenPepper).update("fingerprint of the installation").digest();
}

/** Distinguishes root secrets, in the format stored by early versions of 0.x, also in backups. */
export function rootFingerprint(secret: string): Buffer {
  return fingerprintOf(derive(secret, "token pepper"));
}

/** Seals an installation's keys under a key of the root secret, bound to the row of this version. */
export function sealKeys(secret: string, version: number, keys: Keys): Buffer {
  const { tokenPepper, cursorKey, sealingKey } = keys;
  const text = [tokenPepper, cursorKey, sealingKey].map((key) => key.toString("base64url")).join(".");
  return seal(derive(secret, "keys of the installation"), contextOf(version), text);
}

/** Throws when `sealed` was changed, or was sealed under another root secret or for another version. */
export function unsealKeys(secret: string, version: number, sealed: Buffer): Keys {
  const text = unseal(derive(secret, "keys of the installation"), contextOf(version), sealed);
  const [tokenPepper, cursorKey, sealingKey] = text.split(".").map((key) => Buffer.from(key, "base64url"));
  return { tokenPepper, cursorKey, sealingKey } as Keys;
}

const PURPOSES = {
  passkeys: "challenges of passkeys",
  digests: "links of the weekly digest",
  apps: "ids of OAuth clients",
  requests: "requests of OAuth clients",
  /** What a browser keeps while its person is at the identity provider. */
  provider: "sign-ins at the identity provider",
};

/** A further key, of one purpose. */
export function keyFor(purpose: keyof typeof PURPOSES, { sealingKey }: Keys): Buffer {
  return derive(sealingKey, PURPOSES[purpose]);
}

function derive(secret: string | Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "returns-analytics", purpose, KEY_BYTES));
}

function contextOf(version: number): string {
  return `root secret ${version}`;
}
