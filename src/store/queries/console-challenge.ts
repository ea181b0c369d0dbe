import { queryAny } from "../query.ts";

/** What a signature is asked for. */
export type ChallengePurpose = "enrol" | "sign_in" | "prove";

/** Notes that a challenge was answered, until it would have expired; false = it was answered before. By primary key. */
export const putUsedChallenge = queryAny<
  [challenge: { hash: Buffer; purpose: ChallengePurpose; expiresAt: Date }]
>(
  "put_used_challenge",
  `insert into console_challenge (challenge_hash, purpose, expires_at) values ($1, $2, $3)
   on conflict (challenge_hash) do nothing returning 1 as first`,
  ({ hash, purpose, expiresAt }) => [hash, purpose, expiresAt],
);
