import type { Connection } from "../database.ts";
import {
  command,
  query,
  queryAny,
  queryColumn,
  queryRow,
  queryValue,
  requireRow,
  requireValue,
} from "../query.ts";

/** The workspace of a shop key; `moving_to`: where it moves, null = nowhere; `moved_at`: since when it is served there. */
type MoveRow = { shop_id: string; moving_to: string | null; moved_at: Date | null };

/** Null = there is none. Primary key. */
export const findMove = queryRow<MoveRow, [shopKey: number]>(
  "find_move",
  "select w.shop_id, w.moving_to, w.moved_at from workspace w where w.shop_key = $1",
);

/** Stops a workspace for its move; false = it is gone, going to be erased, or on another move. Primary key. */
export const beginMove = queryAny<[shopKey: number, target: string]>(
  "begin_move",
  `update workspace set moving_to = $2
    where shop_key = $1 and erase_after is null and moved_at is null and coalesce(moving_to, $2) = $2 returning 1 as begun`,
);

/** Has a workspace served here that was stopped for a move. Primary key. */
export const endMove = command<[shopKey: number]>(
  "end_move",
  "update workspace set moving_to = null, moved_at = null where shop_key = $1",
);

/** Notes that a workspace is served elsewhere. Primary key. */
export const noteMoved = command<[shopKey: number, now: Date], Connection>(
  "note_moved",
  "update workspace set moved_at = $2 where shop_key = $1 and moved_at is null",
);

/** Whether a workspace moves or has moved, which stays so until the transaction ends; null = it is gone. Primary key. */
export const holdWhetherMoving = queryValue<boolean, [shopKey: number], Connection>(
  "hold_whether_moving",
  "select w.moving_to is not null as is_moving from workspace w where w.shop_key = $1 for key share",
);

/** One move of a workspace at a time, until the transaction ends. */
export const tryLockMove = requireValue<boolean, [shopKey: number], Connection>(
  "try_lock_move",
  "select pg_try_advisory_xact_lock(hashtextextended('move of a shop', $1)) as is_locked from coordinator",
);

/** Waits for the transactions that hold whether a workspace moves, or have added rows of it. Primary key. */
export const waitForChanges = command<[shopKey: number], Connection>(
  "wait_for_changes",
  "select 1 as is_there from workspace where shop_key = $1 for update",
);

/** Whose a shop key and a domain are in the directory: its two unique indexes. */
export const listDirectoryHolders = query<
  { shop_key: number; shop_domain: string },
  [shopKey: number, shopDomain: string]
>(
  "list_directory_holders",
  "select d.shop_key, d.shop_domain from shop_directory d where d.shop_key = $1 or d.shop_domain = $2",
);

/** What shop keys an installation gives out, and the last that it gave; null = none yet. */
export type ShopKeyRange = { first: number; last: number; given: number | null };

const SEQUENCE = "pg_get_serial_sequence('shop_directory', 'shop_key')::regclass";

export const findShopKeyRange = requireRow<ShopKeyRange>(
  "find_shop_key_range",
  `select s.min_value as first, least(s.max_value, 9007199254740991) as last, s.last_value as given
     from pg_sequences s where format('%I.%I', s.schemaname, s.sequencename)::regclass = ${SEQUENCE}`,
);

/** Shop keys here that are of another installation: a scan of the directory. */
export const listForeignShopKeys = queryColumn<number, [first: number, last: number]>(
  "list_foreign_shop_keys",
  "select d.shop_key from shop_directory d where d.shop_key not between $1 and $2 order by d.shop_key",
);

/** A person who is a member of a workspace. */
type MovedPersonRow = {
  user_id: string;
  name: string;
  created_at: Date;
  disabled_at: Date | null;
};

/** The members of a workspace as people, by name: its range of workspace_member, and look-ups by person. */
export const listMovedPeople = query<MovedPersonRow, [shopKey: number]>(
  "list_moved_people",
  `select u.user_id, u.name, u.created_at, u.disabled_at
     from workspace_member m join console_user u on u.user_id = m.user_id
    where m.shop_key = $1 order by u.name, u.user_id`,
);

/** Adds a person of another installation, who cannot sign in without a link; false = there is one of that id. */
export const insertMovedPerson = queryAny<[person: MovedPersonRow], Connection>(
  "insert_moved_person",
  `insert into console_user (user_id, name, created_at, disabled_at) values ($1, $2, $3, $4)
   on conflict (user_id) do nothing returning 1 as is_new`,
  (person) => [person.user_id, person.name, person.created_at, person.disabled_at],
);
