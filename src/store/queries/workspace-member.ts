import type { Connection } from "../database.ts";
import { command, query, queryAny } from "../query.ts";
import type { Member } from "../workspace.ts";

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
  /** Until when a link of theirs that nobody has used is good; null = there is none. */
  link_expires_at: Date | null;
};

const SELECT = `select u.user_id, u.name, m.role, m.created_at as since, u.last_seen_at, u.is_operator,
         u.disabled_at is not null as is_disabled,
         u.last_seen_at is null
           and not exists (select from console_session s where s.user_id = u.user_id)
           and not exists (select from console_passkey p where p.user_id = u.user_id) as is_pending,
         exists (select from workspace_member o where o.user_id = u.user_id and o.shop_key <> m.shop_key) as is_elsewhere,
         (select max(l.expires_at) from console_link l
           where l.user_id = u.user_id and l.used_at is null) as link_expires_at
    from workspace_member m join console_user u on u.user_id = m.user_id
   where m.shop_key = $1`;

/** The members of a workspace by name: a range of workspace_member's primary key, and look-ups by person. */
export const listMembers = query<WorkspaceMemberRow, [shopKey: number]>(
  "list_members",
  `${SELECT} order by u.name, u.user_id`,
);

/** The same, held until the transaction ends: whoever else changes the members of the workspace waits. */
export const lockMembers = query<WorkspaceMemberRow, [shopKey: number], Connection>(
  "lock_members",
  `${SELECT} order by m.user_id for update of m`,
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
