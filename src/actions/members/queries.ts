import { command, query, queryAny } from "../../store/query.ts";
import type { Member } from "../../store/workspace.ts";
import { SELECT, type WorkspaceMemberRow } from "../../store/queries/workspace-member.ts";

/** The members of a workspace by name: a range of workspace_member's primary key, and look-ups by person. */
export const listMembers = query<WorkspaceMemberRow, [shopKey: number]>(
  "list_members",
  `${SELECT} order by u.name, u.user_id`,
);

/** Makes a person a member; false = they are one already. By primary key. */
export const insertMember = queryAny<
  [shopKey: number, userId: string, member: { role: Member["role"]; now: Date }]
>(
  "insert_member",
  `insert into workspace_member (shop_key, user_id, role, created_at) values ($1, $2, $3, $4)
   on conflict (shop_key, user_id) do nothing returning 1 as made`,
  ["role", "now"],
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

/** Keeps who was removed, and as what, for as long as that can be undone. By primary key. */
export const insertRemoved = command<
  [shopKey: number, userId: string, removed: { role: Member["role"]; now: Date }]
>(
  "insert_removed_member",
  `insert into removed_member (shop_key, user_id, role, removed_at) values ($1, $2, $3, $4)
   on conflict (shop_key, user_id) do update set role = $3, removed_at = $4`,
  ["role", "now"],
);

export type RemovedRow = { user_id: string; name: string; role: Member["role"]; removed_at: Date };

/** Who was removed after `since` and is no member again, the newest first: a range of the primary key. */
export const listRemoved = query<RemovedRow, [shopKey: number, since: Date]>(
  "list_removed_members",
  `select r.user_id, u.name, r.role, r.removed_at
     from removed_member r join console_user u on u.user_id = r.user_id
    where r.shop_key = $1 and r.removed_at > $2
      and not exists (select from workspace_member m where m.shop_key = $1 and m.user_id = r.user_id)
    order by r.removed_at desc, r.user_id`,
);

/** By primary key. */
export const deleteRemoved = command<[shopKey: number, userId: string]>(
  "delete_removed_member",
  "delete from removed_member where shop_key = $1 and user_id = $2",
);

/** Makes a person an owner of a workspace; false = they are one already. By primary key. */
export const putOwner = queryAny<[shopKey: number, userId: string, now: Date]>(
  "put_owner",
  `insert into workspace_member as m (shop_key, user_id, role, created_at) values ($1, $2, 'owner', $3)
   on conflict (shop_key, user_id) do update set role = 'owner' where m.role <> 'owner' returning 1 as changed`,
);

/** Workspaces without members, by domain: the primary key of workspace_member, for each of the directory. */
export const listWorkspacesWithoutMember = query<{ shop_key: number; shop_domain: string }>(
  "list_workspaces_without_member",
  `select d.shop_key, d.shop_domain from shop_directory d
    where not exists (select from workspace_member m where m.shop_key = d.shop_key)
    order by d.shop_domain`,
);
