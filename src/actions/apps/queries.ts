import { command, queryRow } from "../../store/query.ts";
import type { TokenRow } from "../tokens/queries.ts";

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

/** A grant with its token; `created_by`: who consented, as the audit names them. */
export type GrantRow = Pick<TokenRow, "token_id" | "scopes" | "created_by" | "created_at" | "revoked_at"> & {
  shop_key: number;
  client_hash: Buffer;
  redirect_uri: string;
  code_hash: Buffer;
  code_challenge: string;
  /** Of the part that its refresh tokens share; null = the code was not exchanged yet, as with `refresh_hash`. */
  family_hash: Buffer | null;
  refresh_hash: Buffer | null;
  /** Of the newest refresh token, or of the code. */
  secret_expires_at: Date;
  secret_hash: Buffer;
  /** Whether the plan lets programs in; null = there is none. */
  has_api_access: boolean | null;
};

/** A grant with its token and the workspace's plan, by their primary keys. */
export const findGrant = queryRow<GrantRow, [shopKey: number, tokenId: string]>(
  "find_oauth_grant",
  `select g.shop_key, g.token_id, g.client_hash, g.redirect_uri, g.code_hash, g.code_challenge, g.family_hash, g.refresh_hash,
          coalesce(g.refresh_expires_at, g.code_expires_at) as secret_expires_at, t.secret_hash, t.scopes, t.created_by,
          t.created_at, t.revoked_at, 'api_access' = any (p.entitlements) as has_api_access
     from oauth_grant g join api_token t on t.shop_key = $1 and t.token_id = g.token_id
     join workspace w on w.shop_key = $1 left join plan p on p.plan_key = w.plan_key
    where g.shop_key = $1 and g.token_id = $2`,
);

type NewSecrets = {
  secretHash: Buffer;
  expiresAt: Date;
  refreshHash: Buffer;
  refreshExpiresAt: Date;
  now: Date;
};

/** Gives a grant its next access and refresh token: those before, and its code, are used. Primary keys. */
export const renewGrant = command<[shopKey: number, tokenId: string, secrets: NewSecrets]>(
  "renew_oauth_grant",
  `with access as (update api_token set secret_hash = $3, expires_at = $4 where shop_key = $1 and token_id = $2)
   update oauth_grant
      set refresh_hash = $5, refresh_expires_at = $6, code_used_at = coalesce(code_used_at, $7),
          family_hash = coalesce(family_hash, code_hash)
    where shop_key = $1 and token_id = $2`,
  ["secretHash", "expiresAt", "refreshHash", "refreshExpiresAt", "now"],
);
