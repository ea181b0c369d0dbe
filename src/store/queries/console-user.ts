import type { Connection } from "../database.ts";
import { command, query, queryAny, queryRow, requireRow } from "../query.ts";

/** A person who uses the console. */
export type PersonRow = {
  user_id: string;
  name: string;
  is_operator: boolean;
  /** null = may sign in. */
  disabled_at: Date | null;
};

export const COLUMNS = "u.user_id, u.name, u.is_operator, u.disabled_at";
/** In SQL, each as "shop.example (owner)". */
export const MEMBERSHIPS = `array(select d.shop_domain || ' (' || m.role || ')'
                            from workspace_member m join shop_directory d on d.shop_key = m.shop_key
                           where m.user_id = u.user_id order by d.shop_domain)`;

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

/** The memberships of a person, locked until the transaction ends: workspace_member_user. */
export const lockMemberships = query<{ shop_key: number }, [userId: string], Connection>(
  "lock_memberships",
  "select m.shop_key from workspace_member m where m.user_id = $1 order by m.shop_key for update",
);

/** Records which workspace a person opened, and when, by primary key. */
export const noteSeen = command<[userId: string, shopKey: number, now: Date]>(
  "note_seen",
  "update console_user set last_shop_key = $2, last_seen_at = $3 where user_id = $1",
);

/** Whether a person has looked at no page yet and has no passkey: primary keys, and console_passkey by person. */
export const isNewcomer = queryAny<[userId: string]>(
  "is_newcomer",
  `select 1 as is_new from console_user u
    where u.user_id = $1 and u.last_seen_at is null
      and not exists (select from console_passkey p where p.user_id = u.user_id)`,
);
