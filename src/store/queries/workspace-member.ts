import type { Connection, Queryable } from "../database.ts";
import { command, inOrder, query, queryColumn, queryRow, queryValue } from "../query.ts";
import type { Member } from "../workspace.ts";
import { insertAuditEvent, type AuditActor } from "./audit.ts";
import { HAS_ITS_RIGHTS } from "./console-user.ts";

/** A person with a role in a workspace. */
export type WorkspaceMemberRow = {
  user_id: string;
  name: string;
  role: Member["role"];
  /** Since when they are a member. */
  since: Date;
  /** Their last visit, to five minutes; null: never. */
  last_seen_at: Date | null;
  is_operator: boolean;
  is_disabled: boolean;
  /** They were invited and have not signed in yet. */
  is_pending: boolean;
  /** Whether they are members of other workspaces, too, or were until a removal that can be undone. */
  is_elsewhere: boolean;
  /** Expiry of their unused link; null: none, or their rights have changed since. */
  link_expires_at: Date | null;
};

export const SELECT = `select u.user_id, u.name, m.role, m.created_at as since, u.last_seen_at, u.is_operator,
         u.disabled_at is not null as is_disabled,
         u.last_seen_at is null
           and not exists (select from console_session s where s.user_id = u.user_id)
           and not exists (select from console_passkey p where p.user_id = u.user_id)
           and not exists (select from provider_account a where a.user_id = u.user_id) as is_pending,
         exists (select from workspace_member o where o.user_id = u.user_id and o.shop_key <> m.shop_key)
           or exists (select from removed_member r where r.user_id = u.user_id and r.shop_key <> m.shop_key) as is_elsewhere,
         (select max(l.expires_at) from console_link l
           where l.user_id = u.user_id and l.used_at is null and ${HAS_ITS_RIGHTS}) as link_expires_at
    from workspace_member m join console_user u on u.user_id = m.user_id
   where m.shop_key = $1`;

/**
 * The same, locked until the transaction ends together with the people: other changes of the workspace's members wait. In the
 * order of people's ids, like every lock of several people.
 */
export const lockMembers = query<WorkspaceMemberRow, [shopKey: number], Connection>(
  "lock_members",
  `${SELECT} order by m.user_id for update of m, u`,
);

/** The role of one member, locked until the transaction ends, by primary key; null: not a member. */
export const holdRole = queryValue<Member["role"], [shopKey: number, userId: string], Connection>(
  "hold_role",
  "select m.role from workspace_member m where m.shop_key = $1 and m.user_id = $2 for share",
);

/** A workspace that a person may see. */
export type MembershipRow = {
  shop_key: number;
  shop_domain: string;
  /** Its display name; default: its domain. */
  display_name: string;
  role: Member["role"];
};

/** A page of a person's workspaces; `search`: part of a name or domain in any case, "" = all; `after`: a domain, "" = from the first. */
export type MembershipPage = { search: string; after: string; limit: number };

/** The workspaces of a person, by domain: workspace_member_user, and the primary key of shop_directory. */
export const listMemberships = query<MembershipRow, [userId: string, page: MembershipPage]>(
  "list_memberships",
  `select m.shop_key, d.shop_domain, coalesce(d.display_name, d.shop_domain) as display_name, m.role
     from workspace_member m join shop_directory d on d.shop_key = m.shop_key
    where m.user_id = $1 and d.shop_domain > $3
      and (strpos(d.shop_domain, lower($2)) > 0 or strpos(lower(d.display_name), lower($2)) > 0)
    order by d.shop_domain limit $4`,
  ["search", "after", "limit"],
);

/** Where a person's work begins: the workspace seen last, if they are still a member, and another. Indexes as above. */
export const listHomes = query<
  { shop_domain: string; is_last: boolean },
  [userId: string, lastShopKey: number | null]
>(
  "list_homes",
  `select d.shop_domain, m.shop_key is not distinct from $2 as is_last
     from workspace_member m join shop_directory d on d.shop_key = m.shop_key
    where m.user_id = $1
    order by is_last desc limit 2`,
);

/** The ids of a workspace's members in one of the roles who may sign in: a range of the primary key. */
export const listMembersByRole = queryColumn<string, [shopKey: number, roles: readonly Member["role"][]]>(
  "list_members_by_role",
  `select m.user_id from workspace_member m join console_user u on u.user_id = m.user_id
    where m.shop_key = $1 and m.role = any ($2) and u.disabled_at is null
    order by m.created_at, m.user_id`,
);

/** Removes the members of a workspace, and those who were: ranges of the primary keys. */
export const deleteMembers = inOrder(
  command<[shopKey: number]>("delete_members", "delete from workspace_member where shop_key = $1"),
  command<[shopKey: number]>("delete_removed_members", "delete from removed_member where shop_key = $1"),
);

/** A signed-in person who is not a member of the requested workspace. */
export type NoMember = { userId: string; role: null };

/** A browser's request for a page of a workspace. */
export type SessionRequest = { sessionHash: Buffer; shopDomain: string };

/** `shop_key` and `role` are null when the person is no member, or when there is no such workspace. */
type MemberRow = {
  user_id: string;
  user_name: string;
  last_shop_key: number | null;
  person_seen_at: Date | null;
  last_seen_at: Date;
  ends_at: Date;
  proved_at: Date;
  shop_key: number | null;
  workspace_name: string | null;
  role: Member["role"] | null;
};

const findMemberRow = queryRow<MemberRow, [sessionHash: Buffer, shopDomain: string, now: Date | null]>(
  "find_member",
  `select u.user_id, u.name as user_name, u.last_shop_key, u.last_seen_at as person_seen_at, s.last_seen_at, s.ends_at, s.proved_at, m.shop_key,
                coalesce(d.display_name, d.shop_domain) as workspace_name, m.role
           from console_session s
           join console_user u on u.user_id = s.user_id
           left join (shop_directory d join workspace_member m on m.shop_key = d.shop_key)
             on d.shop_domain = $2 and m.user_id = u.user_id
          where s.session_hash = $1 and s.idle_until > coalesce($3, now()) and u.disabled_at is null`,
);

/**
 * The member whose session it is; "signed_out" = the session is unknown or has ended, or the person is disabled;
 * `role` null = the person is no member of such a workspace. Without `now` by the database's clock. Primary keys of the
 * four tables; on Citus they lie on the coordinator, whole.
 */
export async function findMember(
  database: Queryable,
  { sessionHash, shopDomain }: SessionRequest,
  now: Date | null,
): Promise<Member | NoMember | "signed_out"> {
  const row = await findMemberRow(database, sessionHash, shopDomain, now);
  if (row === null) return "signed_out";
  const { user_id: userId, user_name: userName, shop_key: shopKey, role, proved_at: authenticatedAt } = row;
  if (shopKey === null || role === null) return { userId, role: null };
  const visit = {
    lastShopKey: row.last_shop_key,
    personSeenAt: row.person_seen_at,
    lastSeenAt: row.last_seen_at,
    endsAt: row.ends_at,
  };
  return {
    shopKey,
    workspaceName: row.workspace_name,
    userId,
    userName,
    role,
    authenticatedAt,
    visit,
  } as unknown as Member;
}

/** Revokes the tokens of the apps that a person allowed in a workspace, or one, with consents not used yet: ranges of the primary keys. */
const revokeGrants = query<
  { token_id: string; is_issued: boolean },
  [shopKey: number, userId: string | null, tokenId: string | null]
>(
  "end_oauth_grants",
  `update api_token t set revoked_at = now() from oauth_grant g
    where t.shop_key = $1 and (t.created_by = 'user:' || $2::text or t.token_id = $3) and t.revoked_at is null
      and g.shop_key = $1 and g.token_id = t.token_id
   returning t.token_id, g.family_hash is not null as is_issued`,
);

/** Why apps lose their access; the audit shows it as revoked tokens. */
type GrantEnd = AuditActor & { reason: string };

/** Ends the access of every app that a person allowed in a workspace, or of the one with a token. */
export async function endGrants(
  connection: Connection,
  shopKey: number,
  { userId = null, tokenId = null }: { userId?: string | null; tokenId?: string | null },
  { name: actor, origin, reason }: GrantEnd,
): Promise<void> {
  for (const { token_id, is_issued: isIssued } of await revokeGrants(connection, shopKey, userId, tokenId)) {
    if (!isIssued) continue;
    const detail = { token_id, reason };
    await insertAuditEvent(connection, shopKey, { actor, origin, action: "token.revoke", detail });
  }
}

/** The workspaces of a person: workspace_member_user. */
const listShopKeysOf = queryColumn<number, [userId: string]>(
  "list_shop_keys_of",
  "select m.shop_key from workspace_member m where m.user_id = $1 order by m.shop_key",
);

/** Ends the access of every app that a person allowed, in all their workspaces. */
export async function endAllGrants(connection: Connection, userId: string, end: GrantEnd): Promise<void> {
  for (const shopKey of await listShopKeysOf(connection, userId))
    await endGrants(connection, shopKey, { userId }, end);
}
