import type { Connection } from "../database.ts";
import { command, query, queryAny, queryColumn, queryValue } from "../query.ts";
import type { Member } from "../workspace.ts";
import { HAS_ITS_RIGHTS } from "./console-link.ts";

/** A person with a role in a workspace. */
export type WorkspaceMemberRow = {
  user_id: string;
  name: string;
  role: Member["role"];
  /** Since when they are a member. */
  since: Date;
  /** When they last looked at a page, to five minutes; null = never. */
  last_seen_at: Date | null;
  is_operator: boolean;
  is_disabled: boolean;
  /** They were invited and have not signed in yet. */
  is_pending: boolean;
  /** Whether they are members of other workspaces, too. */
  is_elsewhere: boolean;
  /** Until when a link of theirs that nobody has used is good; null = there is none, or their rights have changed since. */
  link_expires_at: Date | null;
};

const SELECT = `select u.user_id, u.name, m.role, m.created_at as since, u.last_seen_at, u.is_operator,
         u.disabled_at is not null as is_disabled,
         u.last_seen_at is null
           and not exists (select from console_session s where s.user_id = u.user_id)
           and not exists (select from console_passkey p where p.user_id = u.user_id) as is_pending,
         exists (select from workspace_member o where o.user_id = u.user_id and o.shop_key <> m.shop_key) as is_elsewhere,
         (select max(l.expires_at) from console_link l
           where l.user_id = u.user_id and l.used_at is null and ${HAS_ITS_RIGHTS}) as link_expires_at
    from workspace_member m join console_user u on u.user_id = m.user_id
   where m.shop_key = $1`;

/** The members of a workspace by name: a range of workspace_member's primary key, and look-ups by person. */
export const listMembers = query<WorkspaceMemberRow, [shopKey: number]>(
  "list_members",
  `${SELECT} order by u.name, u.user_id`,
);

/**
 * The same, held until the transaction ends with the people themselves: whoever else changes the members of the workspace
 * waits. By id of the people, as everybody who holds several does.
 */
export const lockMembers = query<WorkspaceMemberRow, [shopKey: number], Connection>(
  "lock_members",
  `${SELECT} order by m.user_id for update of m, u`,
);

/** The role of one member, which nobody changes until the transaction ends, by primary key; null = they are none. */
export const holdRole = queryValue<Member["role"], [shopKey: number, userId: string], Connection>(
  "hold_role",
  "select m.role from workspace_member m where m.shop_key = $1 and m.user_id = $2 for share",
);

/** Makes a person a member; false = they are one already. By primary key. */
export const insertMember = queryAny<
  [shopKey: number, userId: string, member: { role: Member["role"]; now: Date }]
>(
  "insert_member",
  `insert into workspace_member (shop_key, user_id, role, created_at) values ($1, $2, $3, $4)
   on conflict (shop_key, user_id) do nothing returning 1 as made`,
  (shopKey, userId, { role, now }) => [shopKey, userId, role, now],
);

/** Gives a member another role, by primary key. */
export const updateRole = command<[shopKey: number, userId: string, role: Member["role"]]>(
  "update_role",
  "update workspace_member set role = $3 where shop_key = $1 and user_id = $2",
);

/** Takes a member out of a workspace, by primary key. */
export const deleteMember = command<[shopKey: number, userId: string]>(
  "delete_member",
  "delete from workspace_member where shop_key = $1 and user_id = $2",
);

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
