import type { Connection } from "../../store/database.ts";
import { command, query, queryAny, queryColumn, queryRow } from "../../store/query.ts";
import { COLUMNS, MEMBERSHIPS, type PersonRow } from "../../store/queries/console-user.ts";

/** A person, and the workspaces that they see, each as "shop.example (owner)". */
export type FoundPerson = PersonRow & { memberships: string[] };

/** Everybody with a name, case-insensitive: console_user_name. Names are unique only within a workspace. */
export const findPeople = query<FoundPerson, [name: string]>(
  "find_people",
  `select ${COLUMNS}, ${MEMBERSHIPS} as memberships
     from console_user u where lower(u.name) = lower($1) order by u.created_at, u.user_id`,
);

/** A person by primary key, with the workspaces that they see; null = there is none. */
export const findPerson = queryRow<FoundPerson, [userId: string]>(
  "find_person",
  `select ${COLUMNS}, ${MEMBERSHIPS} as memberships from console_user u where u.user_id = $1`,
);

/** The workspaces of a person where somebody else has a name, in whatever letter case; null = their own: workspace_member_user. */
export const findNamesakes = queryColumn<string, [userId: string, name: string | null]>(
  "find_namesakes",
  `select d.shop_domain
     from workspace_member m
     join workspace_member o on o.shop_key = m.shop_key and o.user_id <> m.user_id
     join console_user u on u.user_id = o.user_id
     join console_user self on self.user_id = m.user_id
     join shop_directory d on d.shop_key = m.shop_key
    where m.user_id = $1 and lower(u.name) = lower(coalesce($2, self.name))
    order by d.shop_domain`,
);

/** One change of names or memberships after the other, until the transaction ends: by then everybody's names are seen. */
export const lockNames = command<[], Connection>(
  "lock_names",
  "select pg_advisory_xact_lock(hashtext('names of people'))",
);

/** A person as operators see them. */
export type ListedPerson = PersonRow & {
  created_at: Date;
  passkeys: number;
  /** Their last visit, to five minutes; null: never. */
  last_seen_at: Date | null;
  workspaces: string[];
};

/** A page of people: `search` is part of a name in any case, `after` the id of the person that the page follows on; null = any. */
type PeopleFilter = { search: string | null; after: string | null; limit: number };

/** People by name: a scan, of some dozens of them, and for each of the page the indexes of passkeys and memberships. */
export const listPeople = query<ListedPerson, [filter: PeopleFilter]>(
  "list_people",
  `select ${COLUMNS}, u.created_at,
          (select count(*)::integer from console_passkey p where p.user_id = u.user_id) as passkeys,
          u.last_seen_at,
          array(select d.shop_domain from workspace_member m join shop_directory d on d.shop_key = m.shop_key
                 where m.user_id = u.user_id order by d.shop_domain) as workspaces
     from console_user u
    where ($1::text is null or position(lower($1) in lower(u.name)) > 0)
      and ($2::uuid is null or (u.name, u.user_id) > (select a.name, a.user_id from console_user a where a.user_id = $2))
    order by u.name, u.user_id limit $3`,
  ["search", "after", "limit"],
);

/**
 * A person and the operators who may sign in, locked until the transaction ends, so that two operators cannot both remove the
 * other: a scan. In the order of ids, like every lock of several people.
 */
export const lockPersonAndOperators = query<PersonRow, [userId: string], Connection>(
  "lock_person_and_operators",
  `select ${COLUMNS} from console_user u where u.user_id = $1 or (u.is_operator and u.disabled_at is null)
    order by u.user_id for update`,
);

/** By primary key; null = the person may sign in. */
export const setDisabled = command<[userId: string, disabledAt: Date | null]>(
  "set_disabled",
  "update console_user set disabled_at = $2 where user_id = $1",
);

/** By primary key. */
export const renamePerson = command<[userId: string, name: string]>(
  "rename_person",
  "update console_user set name = $2 where user_id = $1",
);

/** By primary key. */
export const setOperator = command<[userId: string]>(
  "set_operator",
  "update console_user set is_operator = true where user_id = $1",
);

/**
 * Deletes a person who is not an operator, has no workspace and cannot be brought back to one, with their links, passkeys and
 * sessions. Primary key.
 */
export const deleteForeignPerson = queryAny<[userId: string]>(
  "delete_foreign_person",
  `delete from console_user u
    where u.user_id = $1 and not u.is_operator
      and not exists (select from workspace_member m where m.user_id = u.user_id)
      and not exists (select from removed_member r where r.user_id = u.user_id) returning 1 as gone`,
);
