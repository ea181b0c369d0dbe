import { command, queryAny, queryColumn, queryRow, requireRow } from "../query.ts";

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

/** A person by primary key, held until the transaction ends. */
export const lockPerson = requireRow<PersonRow, [userId: string]>(
  "lock_person",
  `select ${COLUMNS} from console_user u where u.user_id = $1 for update`,
);

/** Notes which workspace a person looks at, by primary key. */
export const noteLastShop = command<[userId: string, shopKey: number]>(
  "note_last_shop",
  "update console_user set last_shop_key = $2 where user_id = $1",
);
