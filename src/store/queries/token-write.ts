import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";

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

const INSERT_TOKEN = defineStatement({
  name: "insert_token",
  text: `insert into api_token (shop_key, token_id, name, secret_hash, scopes, created_by, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7) on conflict (shop_key, token_id) do nothing returning 1 as made`,
});

/** Keeps a new token; false when its id is taken. */
export async function insertToken(
  database: Queryable,
  shopKey: number,
  token: TokenToKeep,
): Promise<boolean> {
  const made = await database.rows(INSERT_TOKEN, [
    shopKey,
    token.tokenId,
    token.name,
    token.secretHash,
    token.scopes,
    token.createdBy,
    token.expiresAt,
  ]);
  return made.length > 0;
}

const LIST_TOKENS = defineStatement({
  name: "list_tokens",
  text: `select ${COLUMNS} from api_token where shop_key = $1 order by created_at, token_id`,
});

/** The workspace's tokens, oldest first: a range of the primary key. */
export async function listTokens(database: Queryable, shopKey: number): Promise<TokenRow[]> {
  return database.rows(LIST_TOKENS, [shopKey]);
}

const LOCK_TOKEN = defineStatement({
  name: "lock_token",
  text: `select ${COLUMNS} from api_token where shop_key = $1 and token_id = $2 for update`,
});

/** One token by its primary key, held until the transaction ends. */
export async function lockToken(
  connection: Queryable,
  shopKey: number,
  tokenId: string,
): Promise<TokenRow | null> {
  const [row] = await connection.rows<TokenRow>(LOCK_TOKEN, [shopKey, tokenId]);
  return row ?? null;
}

const REVOKE_TOKEN = defineStatement({
  name: "revoke_token",
  // Not "coalesce(revoked_at, now())", which Citus refuses.
  text: `update api_token set revoked_at = now()
          where shop_key = $1 and token_id = $2 and revoked_at is null returning revoked_at`,
});

/** Ends a token now; null = there is no such token, or it was revoked before. */
export async function revokeToken(
  database: Queryable,
  shopKey: number,
  tokenId: string,
): Promise<Date | null> {
  const [row] = await database.rows<{ revoked_at: Date }>(REVOKE_TOKEN, [shopKey, tokenId]);
  return row?.revoked_at ?? null;
}

const EXPIRE_TOKEN = defineStatement({
  name: "expire_token",
  text: `update api_token set expires_at = least(expires_at, $3)
          where shop_key = $1 and token_id = $2 returning expires_at`,
});

/** Lets a token end at `expiresAt`, or earlier when it already would. */
export async function expireToken(
  database: Queryable,
  shopKey: number,
  tokenId: string,
  expiresAt: Date,
): Promise<Date | null> {
  const [row] = await database.rows<{ expires_at: Date }>(EXPIRE_TOKEN, [shopKey, tokenId, expiresAt]);
  return row?.expires_at ?? null;
}
