import { query } from "../query.ts";
import type { TokenRow } from "./token-write.ts";

/** A token with who made it, what took its place, and how much it is used. */
export type UsedTokenRow = TokenRow & {
  /** null = it was no person, or one whom the console no longer knows. */
  maker_name: string | null;
  replaced_by: string | null;
  replaced_at: Date | null;
  /** Of all outcomes, from `fromDay` on. */
  requests: number;
};

/** Every token of the workspace, oldest first: ranges of the primary keys of api_token and usage_detail, each read once. */
export const listUsedTokens = query<UsedTokenRow, [shopKey: number, fromDay: string]>(
  "list_used_tokens",
  `select t.token_id, t.name, t.scopes, t.created_by, t.created_at, t.expires_at, t.revoked_at, t.last_used_at, t.replaces,
                p.name as maker_name, n.token_id as replaced_by, n.created_at as replaced_at,
                coalesce(u.requests, 0) as requests
           from api_token t
           left join api_token n on n.shop_key = $1 and n.replaces = t.token_id
           left join console_user p on t.created_by = 'user:' || p.user_id
           left join (select d.token_id, sum(d.requests) as requests
                        from usage_detail d where d.shop_key = $1 and d.day >= $2
                       group by d.token_id) u on u.token_id = t.token_id
          where t.shop_key = $1
          order by t.created_at, t.token_id`,
);

/** A token that ends soon. */
export type EndingTokenRow = {
  token_id: string;
  name: string;
  created_at: Date;
  expires_at: Date;
};

/** A shop's tokens that end within a span of time, unless they are revoked or another one has taken their place. Primary key. */
export const listEndingTokens = query<EndingTokenRow, [shopKey: number, from: Date, to: Date]>(
  "list_ending_tokens",
  `select t.token_id, t.name, t.created_at, t.expires_at
           from api_token t
          where t.shop_key = $1 and t.expires_at > $2 and t.expires_at <= $3 and t.revoked_at is null
            and not exists (select from api_token n where n.shop_key = $1 and n.replaces = t.token_id)
          order by t.expires_at, t.token_id`,
);
