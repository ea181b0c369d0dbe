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

/** In SQL, everything that a person may do: their roles by workspace, and whether they are an operator. */
const rightsOf = (userId: string): string =>
  `(select concat_ws(' ', case when p.is_operator then 'operator' end,
                     (select string_agg(r.shop_key || ':' || r.role, ' ' order by r.shop_key)
                        from workspace_member r where r.user_id = p.user_id))
      from console_user p where p.user_id = ${userId})`;

/** In SQL, whether the person of a link `l` may do just what they might when it was made. */
export const HAS_ITS_RIGHTS = `l.rights is not distinct from ${rightsOf("l.user_id")}`;

/** The link carries what its person may do now: after any change of that it works no more. */
export const insertLink = command<[link: NewLink]>(
  "insert_link",
  `insert into console_link (link_hash, user_id, purpose, created_at, expires_at, rights)
   values ($1, $2, $3, $4, $5, ${rightsOf("$2")})`,
  ({ linkHash, userId, purpose, createdAt, expiresAt }) => [linkHash, userId, purpose, createdAt, expiresAt],
);

/** Makes every link of a person useless: a scan, of the links of some days. */
export const deleteLinks = command<[userId: string]>(
  "delete_links",
  "delete from console_link where user_id = $1",
);

/**
 * Uses a link up, by primary key, and returns whose it is; null = there is no such link, it was used or has expired, or its
 * person may do something else by now. Of several at once one gets it: the others wait for its row, and then see that it is
 * used.
 */
export const useLink = queryRow<LinkRow, [linkHash: Buffer, now: Date]>(
  "use_link",
  `update console_link l set used_at = $2
    where l.link_hash = $1 and l.used_at is null and l.expires_at > $2 and ${HAS_ITS_RIGHTS}
    returning l.user_id, l.purpose`,
);

/** A link in whatever state it is, by primary key; null = there is no such link. */
export const findLink = queryRow<
  LinkRow & { used_at: Date | null; expires_at: Date; has_its_rights: boolean },
  [linkHash: Buffer]
>(
  "find_link",
  `select l.user_id, l.purpose, l.used_at, l.expires_at, ${HAS_ITS_RIGHTS} as has_its_rights
     from console_link l where l.link_hash = $1`,
);
