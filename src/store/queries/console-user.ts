import type { Connection } from "../database.ts";
import { command, query, queryAny, queryColumn, queryRow, requireRow } from "../query.ts";

/** A person who uses the console. */
export type PersonRow = {
  user_id: string;
  name: string;
  is_operator: boolean;
  /** null = may sign in. */
  disabled_at: Date | null;
};

const COLUMNS = "u.user_id, u.name, u.is_operator, u.disabled_at";
/** In SQL, each as "shop.example (owner)". */
const MEMBERSHIPS = `array(select d.shop_domain || ' (' || m.role || ')'
                            from workspace_member m join shop_directory d on d.shop_key = m.shop_key
                           where m.user_id = u.user_id order by d.shop_domain)`;

/** Everybody of a name, in whatever letter case: console_user_name. Names tell only the people of one workspace apart. */
export const findPeople = query<PersonRow & { memberships: string[] }, [name: string]>(
  "find_people",
  `select ${COLUMNS}, ${MEMBERSHIPS} as memberships
     from console_user u where lower(u.name) = lower($1) order by u.created_at, u.user_id`,
);

/** A person by primary key, with the workspaces that they see; null = there is none. */
export const findPerson = queryRow<PersonRow & { memberships: string[] }, [userId: string]>(
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

/** The operator who has been one for longest and may sign in: a scan, of some dozens of people. */
export const findFirstOperator = queryRow<PersonRow>(
  "find_first_operator",
  `select ${COLUMNS} from console_user u
    where u.is_operator and u.disabled_at is null order by u.created_at, u.user_id limit 1`,
);

/** Creates a person. */
export const insertPerson = requireRow<PersonRow, [name: string, isOperator: boolean, now: Date]>(
  "insert_person",
  `insert into console_user as u (name, is_operator, created_at) values ($1, $2, $3) returning ${COLUMNS}`,
);

/** A person by primary key. */
export const loadPerson = requireRow<PersonRow, [userId: string]>(
  "load_person",
  `select ${COLUMNS} from console_user u where u.user_id = $1`,
);

/** A person by primary key, locked until the transaction ends; null = there is none any more. */
export const lockPerson = queryRow<PersonRow, [userId: string], Connection>(
  "lock_person",
  `select ${COLUMNS} from console_user u where u.user_id = $1 for update`,
);

/** A person as operators see them. */
export type ListedPerson = PersonRow & {
  created_at: Date;
  passkeys: number;
  /** When they last looked at a page, to five minutes; null = never. */
  last_seen_at: Date | null;
  workspaces: string[];
};

/** Everybody, by name: a scan, of some dozens of people, and for each the indexes of their passkeys and memberships. */
export const listPeople = query<ListedPerson>(
  "list_people",
  `select ${COLUMNS}, u.created_at,
          (select count(*)::integer from console_passkey p where p.user_id = u.user_id) as passkeys,
          u.last_seen_at,
          array(select d.shop_domain from workspace_member m join shop_directory d on d.shop_key = m.shop_key
                 where m.user_id = u.user_id order by d.shop_domain) as workspaces
     from console_user u order by u.name`,
);

/** The memberships of a person, locked until the transaction ends: workspace_member_user. */
export const lockMemberships = query<{ shop_key: number }, [userId: string], Connection>(
  "lock_memberships",
  "select m.shop_key from workspace_member m where m.user_id = $1 order by m.shop_key for update",
);

/**
 * A person and the operators who may sign in, locked until the transaction ends, so that of two operators at once one is the
 * last: a scan. By id, as everybody who holds several people does.
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

/** Records which workspace a person opened, and when, by primary key. */
export const noteSeen = command<[userId: string, shopKey: number, now: Date]>(
  "note_seen",
  "update console_user set last_shop_key = $2, last_seen_at = $3 where user_id = $1",
);

/** Deletes a person who is not an operator and has no workspace, with their links, passkeys and sessions. Primary key. */
export const deleteForeignPerson = queryAny<[userId: string]>(
  "delete_foreign_person",
  `delete from console_user u
    where u.user_id = $1 and not u.is_operator
      and not exists (select from workspace_member m where m.user_id = u.user_id) returning 1 as gone`,
);
