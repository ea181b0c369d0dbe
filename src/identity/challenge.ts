import type { Queryable } from "../store/database.ts";
import { insertChallenge, takeChallenge } from "../store/queries/console-challenge.ts";
import type { ChallengePurpose } from "../store/queries/console-challenge.ts";
import { hashSecret, newSecret } from "./secret.ts";

/** As long as the browser waits for the person, and a little more. */
const LIFETIME_MS = 5 * 60_000;

/** `userId` null = whoever signs in. */
type ChallengeRequest = { purpose: ChallengePurpose; userId: string | null; now: Date };

/** Makes the bytes that a passkey has to sign. Any server on the database may check the answer, once, within five minutes. */
export async function makeChallenge(
  database: Queryable,
  { purpose, userId, now }: ChallengeRequest,
): Promise<Uint8Array<ArrayBuffer>> {
  const { text, hash } = newSecret();
  const expiresAt = new Date(now.getTime() + LIFETIME_MS);
  await insertChallenge(database, { challengeHash: hash, purpose, userId, expiresAt });
  return Uint8Array.from(Buffer.from(text, "base64url"));
}

/** Uses up the challenge that an answer names; false = it was not made for this purpose and person, was used, or has expired. */
export async function isDueChallenge(
  database: Queryable,
  challenge: string,
  { purpose, userId, now }: ChallengeRequest,
): Promise<boolean> {
  const hash = hashSecret(challenge);
  const taken = hash === null ? null : await takeChallenge(database, hash, purpose, now);
  return taken !== null && taken.user_id === userId;
}
