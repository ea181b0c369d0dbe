import type pg from "pg";
import type { Queryable } from "../../src/store/database.ts";
import { isCitus } from "./citus.ts";
import { eventually } from "./worker.ts";

const COUNT_WAITING = {
  name: "test_count_waiting",
  text: `select count(*) as waiting from pg_locks
          where locktype = 'advisory' and not granted
            and database = (select oid from pg_database where datname = current_database())`,
};

/** How many statements wait for a shop's lock in this database; the server's other databases have their own. */
export async function countWaitingForLocks(database: Queryable): Promise<number> {
  const [row] = await database.rows<{ waiting: number }>(COUNT_WAITING, []);
  return row?.waiting ?? 0;
}

/** Resolves once a statement waits for a shop's lock. */
export async function untilLockIsAwaited(database: Queryable): Promise<void> {
  const isAwaited = async (): Promise<boolean> => (await countWaitingForLocks(database)) > 0;
  await eventually(isAwaited, "a statement waits for the lock", 30);
}

const COUNT_LOCK_WAITS = `select count(*)::integer as waiting from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`;

/** How many statements wait for a row or table of this database; with Citus those on its nodes too. */
export async function countLockWaits(database: pg.Pool): Promise<number> {
  const text = isCitus()
    ? `select sum(result::integer)::integer as waiting from run_command_on_all_nodes($$${COUNT_LOCK_WAITS}$$)`
    : COUNT_LOCK_WAITS;
  const { rows } = await database.query<{ waiting: number }>(text);
  return rows[0]?.waiting ?? 0;
}
