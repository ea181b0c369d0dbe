import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Queryable } from "../store/database.ts";
import { putUsedChallenge } from "../store/queries/console-challenge.ts";
import type { ChallengePurpose } from "../store/queries/console-challenge.ts";
import { hashOf } from "./secret.ts";

/** As long as the browser waits for the person, and a little more. */
const LIFETIME_MS = 5 * 60_000;
const RANDOM_BYTES = 16;
const TIME_BYTES = 6;
const BYTES = RANDOM_BYTES + TIME_BYTES + 32;

/** `userId` null = whoever signs in. `key` is the installation's, so that any of its servers may check the answer. */
export type ChallengeRequest = {
  key: Buffer;
  purpose: ChallengePurpose;
  userId: string | null;
  now: Date;
};

/** A challenge that this installation has made, for this purpose and person, and that has not expired. */
export type DueChallenge = { hash: Buffer; expiresAt: Date; purpose: ChallengePurpose };

/**
 * Makes the bytes that a passkey has to sign, good for five minutes. They are sealed by a key instead of stored, so that asking
 * for them costs nothing and needs no limit that would lock others out.
 */
export function makeChallenge(request: ChallengeRequest): Uint8Array<ArrayBuffer> {
  const said = Buffer.alloc(RANDOM_BYTES + TIME_BYTES);
  randomBytes(RANDOM_BYTES).copy(said);
  said.writeUIntBE(request.now.getTime() + LIFETIME_MS, RANDOM_BYTES, TIME_BYTES);
  return Uint8Array.from(Buffer.concat([said, sealOf(said, request)]));
}

/** What an answer names as its challenge; null = it was not made here for this purpose and person, or has expired. */
export function readChallenge(challenge: string, request: ChallengeRequest): DueChallenge | null {
  const bytes = Buffer.from(challenge, "base64url");
  if (bytes.length !== BYTES || bytes.toString("base64url") !== challenge) return null;
  const said = bytes.subarray(0, RANDOM_BYTES + TIME_BYTES);
  if (!timingSafeEqual(bytes.subarray(said.length), sealOf(said, request))) return null;
  const expiresAt = new Date(said.readUIntBE(RANDOM_BYTES, TIME_BYTES));
  return expiresAt > request.now ? { hash: hashOf(challenge), expiresAt, purpose: request.purpose } : null;
}

/** Uses a challenge up, on whatever server; false = it was used before. */
export async function isFirstUse(database: Queryable, challenge: DueChallenge): Promise<boolean> {
  return putUsedChallenge(database, challenge);
}

function sealOf(said: Buffer, { key, purpose, userId }: ChallengeRequest): Buffer {
  return createHmac("sha256", key)
    .update(`${purpose} ${userId ?? ""} `)
    .update(said)
    .digest();
}
