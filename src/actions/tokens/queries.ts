import { query, queryAny, queryRow, queryValue } from "../../store/query.ts";

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
  /** The token that it replaced; null = none. */
  replaces: string | null;
};

const COLUMNS =
  "token_id, name, scopes, created_by, created_at, expires_at, revoked_at, last_used_at, replaces";

type TokenToKeep = {
  tokenId: string;
  name: string;
  secretHash: Buffer;
  scopes: readonly string[];
  createdBy: string;
  expiresAt: Date | null;
  replaces: string | null;
  /** Identifies the form that created it; null: no form. */
  requestKey: string | null;
};

/** Keeps a new token; false when its id is taken, or the same form has made one. */
export const insertToken = queryAny<[shopKey: number, token: TokenToKeep]>(
  "insert_token",
  `insert into api_token (shop_key, token_id, name, secret_hash, scopes, created_by, expires_at, replaces, request_key)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing returning 1 as made`,
  ["tokenId", "name", "secretHash", "scopes", "createdBy", "expiresAt", "replaces", "requestKey"],
);

/** The id of the token that a form has made, by api_token_request; null = none yet. */
export const findRequestedToken = queryValue<string, [shopKey: number, requestKey: string]>(
  "find_requested_token",
  "select token_id from api_token where shop_key = $1 and request_key = $2",
);

/** The token that replaced another one; null = none. A range of the primary key. */
export const findReplacement = queryValue<string, [shopKey: number, tokenId: string]>(
  "find_replacement",
  "select token_id from api_token where shop_key = $1 and replaces = $2 order by created_at limit 1",
);

/** The workspace's tokens, oldest first: a range of the primary key. */
export const listTokens = query<TokenRow, [shopKey: number]>(
  "list_tokens",
  `select ${COLUMNS} from api_token where shop_key = $1 order by created_at, token_id`,
);

/** One token by its primary key, locked until the transaction ends. */
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

/** Expires a token at `expiresAt`, or earlier if it already would. */
export const expireToken = queryValue<Date, [shopKey: number, tokenId: string, expiresAt: Date]>(
  "expire_token",
  `update api_token set expires_at = least(expires_at, $3)
          where shop_key = $1 and token_id = $2 returning expires_at`,
);

/** A token with its creator, its replacement and its usage. */
export type UsedTokenRow = TokenRow & {
  /** null = not a person, or a deleted one. */
  maker_name: string | null;
  replaced_by: string | null;
  replaced_at: Date | null;
  /** Of all outcomes, from `fromDay` on. */
  requests: number;
  /** Of a connected app, where its codes go; null = the token was created by hand. */
  app_redirect_uri: string | null;
};

/**
 * Every token of the workspace, oldest first: ranges of the primary keys of api_token, oauth_grant and usage_detail, each read
 * once. An app's token expires with its refresh token, and is listed once the app has it.
 */
export const listUsedTokens = query<UsedTokenRow, [shopKey: number, fromDay: string]>(
  "list_used_tokens",
  `select t.token_id, t.name, t.scopes, t.created_by, t.created_at, coalesce(g.refresh_expires_at, t.expires_at) as expires_at, t.revoked_at, t.last_used_at, t.replaces,
                p.name as maker_name, n.token_id as replaced_by, n.created_at as replaced_at,
                coalesce(u.requests, 0) as requests, g.redirect_uri as app_redirect_uri
           from api_token t
           left join oauth_grant g on g.shop_key = $1 and g.token_id = t.token_id
           left join api_token n on n.shop_key = $1 and n.replaces = t.token_id
           left join console_user p on t.created_by = 'user:' || p.user_id
           left join (select d.token_id, sum(d.requests) as requests
                        from usage_detail d where d.shop_key = $1 and d.day >= $2
                       group by d.token_id) u on u.token_id = t.token_id
          where t.shop_key = $1 and (g.token_id is null or g.code_used_at is not null)
          order by t.created_at, t.token_id`,
);
