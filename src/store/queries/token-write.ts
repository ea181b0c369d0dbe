import { query, queryAny, queryRow, queryValue } from "../query.ts";

/** A token without its secret. */
export type TokenRow = {
  token_id: string;
  name: string;
  scopes: string[];
  created_by: string;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
};

const COLUMNS = "token_id, name, scopes, created_by, created_at, expires_at, revoked_at, last_used_at";

export type TokenToKeep = {
  tokenId: string;
  name: string;
  secretHash: Buffer;
  scopes: readonly string[];
  createdBy: string;
  expiresAt: Date | null;
};

/** Keeps a new token; false when its id is taken. */
export const insertToken = queryAny<[shopKey: number, token: TokenToKeep]>(
  "insert_token",
  `insert into api_token (shop_key, token_id, name, secret_hash, scopes, created_by, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7) on conflict (shop_key, token_id) do nothing returning 1 as made`,
  (shopKey, token) => [
    shopKey,
    token.tokenId,
    token.name,
    token.secretHash,
    token.scopes,
    token.createdBy,
    token.expiresAt,
  ],
);

/** The workspace's tokens, oldest first: a range of the primary key. */
export const listTokens = query<TokenRow, [shopKey: number]>(
  "list_tokens",
  `select ${COLUMNS} from api_token where shop_key = $1 order by created_at, token_id`,
);

/** One token by its primary key, held until the transaction ends. */
export const lockToken = queryRow<TokenRow, [shopKey: number, tokenId: string]>(
  "lock_token",
  `select ${COLUMNS} from api_token where shop_key = $1 and token_id = $2 for update`,
);

/** Ends a token now; null = there is no such token, or it was revoked before. */
export const revokeToken = queryValue<Date, [shopKey: number, tokenId: string]>(
  "revoke_token",
  // Not "coalesce(revoked_at, now())", which Citus refuses.
  `update api_token set revoked_at = now()
          where shop_key = $1 and token_id = $2 and revoked_at is null returning revoked_at`,
);

/** Lets a token end at `expiresAt`, or earlier when it already would. */
export const expireToken = queryValue<Date, [shopKey: number, tokenId: string, expiresAt: Date]>(
  "expire_token",
  `update api_token set expires_at = least(expires_at, $3)
          where shop_key = $1 and token_id = $2 returning expires_at`,
);
