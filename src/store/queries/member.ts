import type { Queryable } from "../database.ts";
import { queryRow } from "../query.ts";
import type { Member } from "../workspace.ts";

/** Somebody who is signed in, and no member of the workspace that they ask for. */
export type NoMember = { userId: string; role: null };

/** A browser that asks for a page of a workspace. */
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
  role: Member["role"] | null;
};

const findMemberRow = queryRow<MemberRow, [sessionHash: Buffer, shopDomain: string, now: Date | null]>(
  "find_member",
  `select u.user_id, u.name as user_name, u.last_shop_key, u.last_seen_at as person_seen_at, s.last_seen_at, s.ends_at, s.proved_at, m.shop_key, m.role
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
  const { user_id: userId, user_name: userName, shop_key: shopKey, role, proved_at: provedAt } = row;
  if (shopKey === null || role === null) return { userId, role: null };
  const visit = {
    lastShopKey: row.last_shop_key,
    personSeenAt: row.person_seen_at,
    lastSeenAt: row.last_seen_at,
    endsAt: row.ends_at,
  };
  return { shopKey, userId, userName, role, provedAt, visit } as unknown as Member;
}
