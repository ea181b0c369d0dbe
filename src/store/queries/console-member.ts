import { command, query, queryAny, queryColumn } from "../query.ts";
import type { Member } from "../workspace.ts";

/** Makes a person an owner of a workspace; false = they are one already. By primary key. */
export const putOwner = queryAny<[shopKey: number, userId: string, now: Date]>(
  "put_owner",
  `insert into workspace_member as m (shop_key, user_id, role, created_at) values ($1, $2, 'owner', $3)
   on conflict (shop_key, user_id) do update set role = 'owner' where m.role <> 'owner' returning 1 as changed`,
);

/** A workspace that a person may see. */
export type MembershipRow = { shop_key: number; shop_domain: string; role: Member["role"] };

/** The workspaces of a person, by domain: workspace_member_user, and the primary key of shop_directory. */
export const listMemberships = query<MembershipRow, [userId: string]>(
  "list_memberships",
  `select m.shop_key, d.shop_domain, m.role
     from workspace_member m join shop_directory d on d.shop_key = m.shop_key
    where m.user_id = $1
    order by d.shop_domain`,
);

/** The ids of a workspace's members in one of the roles who may sign in: a range of the primary key. */
export const listMembersByRole = queryColumn<string, [shopKey: number, roles: readonly Member["role"][]]>(
  "list_members_by_role",
  `select m.user_id from workspace_member m join console_user u on u.user_id = m.user_id
    where m.shop_key = $1 and m.role = any ($2) and u.disabled_at is null
    order by m.created_at, m.user_id`,
);

/** Workspaces that nobody can see yet, by domain: the primary key of workspace_member, for each of the directory. */
export const listWorkspacesWithoutMember = query<{ shop_key: number; shop_domain: string }>(
  "list_workspaces_without_member",
  `select d.shop_key, d.shop_domain from shop_directory d
    where not exists (select from workspace_member m where m.shop_key = d.shop_key)
    order by d.shop_domain`,
);

/** Removes the members of a workspace: a range of the primary key. */
export const deleteMembers = command<[shopKey: number]>(
  "delete_members",
  "delete from workspace_member where shop_key = $1",
);
