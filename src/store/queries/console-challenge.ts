import { command, queryRow } from "../query.ts";

/** What a signature is asked for. */
export type ChallengePurpose = "enrol" | "sign_in" | "prove";

export type NewChallenge = {
  challengeHash: Buffer;
  purpose: ChallengePurpose;
  /** null = whoever signs in */
  userId: string | null;
  expiresAt: Date;
};

export const insertChallenge = command<[challenge: NewChallenge]>(
  "insert_challenge",
  "insert into console_challenge (challenge_hash, purpose, user_id, expires_at) values ($1, $2, $3, $4)",
  ({ challengeHash, purpose, userId, expiresAt }) => [challengeHash, purpose, userId, expiresAt],
);

/**
 * Uses a challenge up, by primary key, and returns who it was made for; null = there is no such challenge for this purpose,
 * it was used, or it has expired.
 */
export const takeChallenge = queryRow<
  { user_id: string | null },
  [challengeHash: Buffer, purpose: ChallengePurpose, now: Date]
>(
  "take_challenge",
  `delete from console_challenge
    where challenge_hash = $1 and purpose = $2 and expires_at > $3 returning user_id`,
);
