import type { Connection } from "../database.ts";
import { query, queryAny, queryRow, queryValue } from "../query.ts";

/** An account at an identity provider with which a person signs in. */
type NewAccount = { issuer: string; subject: string; userId: string; email: string | null; now: Date };

/** The person to whom an account is linked, by primary key; null: nobody. */
export const findAccountHolder = queryValue<string, [issuer: string, subject: string]>(
  "find_account_holder",
  "select user_id from provider_account where issuer = $1 and subject = $2",
);

/** Links an account; false: it is linked already, or the person has another one there. */
export const insertAccount = queryAny<[account: NewAccount], Connection>(
  "insert_account",
  `insert into provider_account (issuer, subject, user_id, email, linked_at, last_used_at) values ($1, $2, $3, $4, $5, $5)
   on conflict do nothing returning 1 as linked`,
  ["issuer", "subject", "userId", "email", "now"],
);

/** Records a sign-in and its current address; false: the account is no longer the person's. By primary key. */
export const useAccount = queryAny<[account: NewAccount], Connection>(
  "use_account",
  `update provider_account set email = $4, last_used_at = $5
    where issuer = $1 and subject = $2 and user_id = $3 returning 1 as used`,
  ["issuer", "subject", "userId", "email", "now"],
);

/** A person's account, for display to them. */
export type LinkedAccount = { subject: string; email: string | null; linked_at: Date; last_used_at: Date };

/** In SQL, whether an account is at an issuer, which an operator may write with or without its last slash. */
const IS_AT = "rtrim(issuer, '/') = rtrim($2, '/')";

/** A person's account at an issuer: provider_account_user; null: none. */
export const findAccountOf = queryRow<LinkedAccount, [userId: string, issuer: string]>(
  "find_account_of",
  `select subject, email, linked_at, last_used_at from provider_account where user_id = $1 and ${IS_AT}`,
);

/** Unlinks a person's account at an issuer, null = each of theirs: provider_account_user; false: there is none. */
export const deleteAccounts = queryAny<[userId: string, issuer: string | null]>(
  "delete_accounts",
  `delete from provider_account where user_id = $1 and ($2::text is null or ${IS_AT}) returning 1 as unlinked`,
);

/** Unused links for an address, except those for recovery, the newest first, which knows the newest rights: console_link_email. */
export const findLinksFor = query<{ link_hash: Buffer; user_id: string }, [email: string, now: Date]>(
  "find_links_for",
  `select link_hash, user_id from console_link
    where email = $1 and used_at is null and expires_at > $2 and purpose <> 'recover' order by created_at desc`,
);
