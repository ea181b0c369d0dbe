import { command, query, queryAny, queryRow, queryValue } from "../query.ts";

/** What a signature is asked for. */
export type ChallengePurpose = "enrol" | "sign_in" | "prove";

/** Records that a challenge was used, until it would have expired; false = it was used before. By primary key. */
export const putUsedChallenge = queryAny<
  [challenge: { hash: Buffer; purpose: ChallengePurpose; expiresAt: Date }]
>(
  "put_used_challenge",
  `insert into console_challenge (challenge_hash, purpose, expires_at) values ($1, $2, $3)
   on conflict (challenge_hash) do nothing returning 1 as first`,
  ({ hash, purpose, expiresAt }) => [hash, purpose, expiresAt],
);

/** The public half of a passkey, and whose it is. */
type PasskeyRow = {
  credential_id: Buffer;
  user_id: string;
  /** The host name that it was made for. */
  rp_id: string;
  /** As COSE. */
  public_key: Buffer;
  /** 0 = its authenticator does not count. */
  counter: number;
};

/** A passkey as its person sees it. */
export type ListedPasskey = {
  credential_id: Buffer;
  rp_id: string;
  transports: string[];
  name: string;
  created_at: Date;
  /** null = never since it was made */
  last_used_at: Date | null;
};

export type NewPasskey = {
  credentialId: Buffer;
  rpId: string;
  publicKey: Buffer;
  counter: number;
  transports: readonly string[];
};

/** Stores a passkey; false = it is known already, also another person's. */
export const insertPasskey = queryAny<[userId: string, name: string, passkey: NewPasskey, now: Date]>(
  "insert_passkey",
  `insert into console_passkey
     (credential_id, user_id, rp_id, public_key, counter, transports, name, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (credential_id) do nothing returning 1 as made`,
  (userId, name, { credentialId, rpId, publicKey, counter, transports }, now) => [
    credentialId,
    userId,
    rpId,
    publicKey,
    counter,
    transports,
    name,
    now,
  ],
);

/** A passkey by primary key; null = it is not known here. */
export const findPasskey = queryRow<PasskeyRow, [credentialId: Buffer]>(
  "find_passkey",
  `select p.credential_id, p.user_id, p.rp_id, p.public_key, p.counter
     from console_passkey p where p.credential_id = $1`,
);

/** The passkeys of a person, oldest first. console_passkey_user. */
export const listPasskeys = query<ListedPasskey, [userId: string]>(
  "list_passkeys",
  `select p.credential_id, p.rp_id, p.transports, p.name, p.created_at, p.last_used_at
     from console_passkey p where p.user_id = $1 order by p.created_at, p.credential_id`,
);

/** Records the use of a passkey, by primary key; false = it is gone, or its counter did not go on. */
export const usePasskey = queryAny<[credentialId: Buffer, counter: number, now: Date]>(
  "use_passkey",
  `update console_passkey set counter = $2, last_used_at = $3
    where credential_id = $1 and (counter < $2 or (counter = 0 and $2 = 0)) returning 1 as used`,
);

/** Removes one passkey of a person, by primary key, and returns its name; null = the person has no such passkey. */
export const deletePasskey = queryValue<string, [userId: string, credentialId: Buffer]>(
  "delete_passkey",
  "delete from console_passkey where user_id = $1 and credential_id = $2 returning name",
);

/** Removes all passkeys of a person. console_passkey_user. */
export const deletePasskeys = command<[userId: string]>(
  "delete_passkeys",
  "delete from console_passkey where user_id = $1",
);
