import { command, queryRow } from "../../store/query.ts";

type NewGrant = {
  tokenId: string;
  clientHash: Buffer;
  redirectUri: string;
  codeHash: Buffer;
  codeChallenge: string;
  codeExpiresAt: Date;
};

/** Stores a consent with its row of api_token. */
export const insertGrant = command<[shopKey: number, grant: NewGrant]>(
  "insert_oauth_grant",
  `insert into oauth_grant (shop_key, token_id, client_hash, redirect_uri, code_hash, code_challenge, code_expires_at)
   values ($1, $2, $3, $4, $5, $6, $7)`,
  ["tokenId", "clientHash", "redirectUri", "codeHash", "codeChallenge", "codeExpiresAt"],
);

/** A grant with its token; `created_by`: who consented, as the audit names them; `has_api_access`: the plan lets programs in. */
export type GrantRow = {
  client_hash: Buffer;
  redirect_uri: string;
  code_hash: Buffer;
  code_challenge: string;
  code_expires_at: Date;
  code_used_at: Date | null;
  /** null = the code was not exchanged yet, as the two after it. */
  family_hash: Buffer | null;
  refresh_hash: Buffer | null;
  refresh_expires_at: Date | null;
  secret_hash: Buffer;
  scopes: string[];
  created_by: string;
  created_at: Date;
  revoked_at: Date | null;
  has_api_access: boolean | null;
};

/** A grant with its token and the workspace's plan, by their primary keys. */
export const findGrant = queryRow<GrantRow, [shopKey: number, tokenId: string]>(
  "find_oauth_grant",
  `select g.client_hash, g.redirect_uri, g.code_hash, g.code_challenge, g.code_expires_at, g.code_used_at, g.family_hash,
          g.refresh_hash, g.refresh_expires_at, t.secret_hash, t.scopes, t.created_by, t.created_at, t.revoked_at,
          'api_access' = any (p.entitlements) as has_api_access
     from oauth_grant g join api_token t on t.shop_key = $1 and t.token_id = g.token_id
     join workspace w on w.shop_key = $1 left join plan p on p.plan_key = w.plan_key
    where g.shop_key = $1 and g.token_id = $2`,
);

type NewSecrets = { familyHash: Buffer; refreshHash: Buffer; refreshExpiresAt: Date; now: Date };

/** The secrets of a grant from now on: its code and its earlier refresh tokens are used. Primary key. */
export const renewGrant = command<[shopKey: number, tokenId: string, secrets: NewSecrets]>(
  "renew_oauth_grant",
  `update oauth_grant
      set code_used_at = coalesce(code_used_at, $3), family_hash = $4, refresh_hash = $5, refresh_expires_at = $6
    where shop_key = $1 and token_id = $2`,
  ["now", "familyHash", "refreshHash", "refreshExpiresAt"],
);

/** Gives a token another secret, until `expiresAt`. Primary key. */
export const renewAccess = command<
  [shopKey: number, tokenId: string, access: { secretHash: Buffer; expiresAt: Date }]
>(
  "renew_oauth_access",
  "update api_token set secret_hash = $3, expires_at = $4 where shop_key = $1 and token_id = $2",
  ["secretHash", "expiresAt"],
);
