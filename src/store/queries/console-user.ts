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

/** A person by name: console_user_name_key. */
export const findPerson = queryRow<PersonRow, [name: string]>(
  "find_person",
  `select ${COLUMNS} from console_user u where u.name = $1`,
);

/** The operator who has been one for longest and may sign in: a scan, of some dozens of people. */
export const findFirstOperator = queryRow<PersonRow>(
  "find_first_operator",
  `select ${COLUMNS} from console_user u
    where u.is_operator and u.disabled_at is null order by u.created_at, u.user_id limit 1`,
);

/** The ids of all operators who may sign in: a scan, of some dozens of people. */
export const listOperators = queryColumn<string>(
  "list_operators",
  `select u.user_id from console_user u
    where u.is_operator and u.disabled_at is null order by u.created_at, u.user_id`,
);

/** Makes a person; false = somebody has that name already. */
export const insertPerson = queryAny<[name: string, isOperator: boolean, now: Date]>(
  "insert_person",
  `insert into console_user (name, is_operator, created_at) values ($1, $2, $3)
   on conflict (name) do nothing returning 1 as made`,
);

/** A person by primary key. */
export const loadPerson = requireRow<PersonRow, [userId: string]>(
  "load_person",
  `select ${COLUMNS} from console_user u where u.user_id = $1`,
);

/** A person by primary key, held until the transaction ends. */
export const lockPerson = requireRow<PersonRow, [userId: string]>(
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

/** The operators who may sign in, held until the transaction ends, so that of two at once one is the last: a scan. */
export const lockOperators = query<{ user_id: string }>(
  "lock_operators",
  `select u.user_id from console_user u where u.is_operator and u.disabled_at is null
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

/** Notes which workspace a person looks at, and when, by primary key. */
export const noteSeen = command<[userId: string, shopKey: number, now: Date]>(
  "note_seen",
  "update console_user set last_shop_key = $2, last_seen_at = $3 where user_id = $1",
);

/** Forgets a person who is no operator and sees no workspace any more, with their links, passkeys and sessions. Primary key. */
export const deleteForeignPerson = queryAny<[userId: string]>(
  "delete_foreign_person",
  `delete from console_user u
    where u.user_id = $1 and not u.is_operator
      and not exists (select from workspace_member m where m.user_id = u.user_id) returning 1 as gone`,
);
