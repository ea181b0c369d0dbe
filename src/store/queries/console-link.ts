import { command, queryRow } from "../query.ts";

/** What a link is for; "recover" ends the passkeys and sessions that the person had. */
export type LinkPurpose = "enter" | "invite" | "recover";

export type NewLink = {
  linkHash: Buffer;
  userId: string;
  purpose: LinkPurpose;
  createdAt: Date;
  expiresAt: Date;
};

/** Whose link it is, and what for. */
export type LinkRow = { user_id: string; purpose: LinkPurpose };

export const insertLink = command<[link: NewLink]>(
  "insert_link",
  "insert into console_link (link_hash, user_id, purpose, created_at, expires_at) values ($1, $2, $3, $4, $5)",
  ({ linkHash, userId, purpose, createdAt, expiresAt }) => [linkHash, userId, purpose, createdAt, expiresAt],
);

/** Makes every link of a person useless: a scan, of the links of some days. */
export const deleteLinks = command<[userId: string]>(
  "delete_links",
  "delete from console_link where user_id = $1",
);

/**
 * Uses a link up, by primary key, and returns whose it is; null = there is no such link, or it was used or has expired. Of
 * several at once one gets it: the others wait for its row, and then see that it is used.
 */
export const useLink = queryRow<LinkRow, [linkHash: Buffer, now: Date]>(
  "use_link",
  `update console_link set used_at = $2
    where link_hash = $1 and used_at is null and expires_at > $2 returning user_id, purpose`,
);

/** A link in whatever state it is, by primary key; null = there is no such link. */
export const findLink = queryRow<LinkRow & { used_at: Date | null; expires_at: Date }, [linkHash: Buffer]>(
  "find_link",
  "select user_id, purpose, used_at, expires_at from console_link where link_hash = $1",
);
