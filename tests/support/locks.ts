import type pg from "pg";
import { eventually } from "./worker.ts";

/** Resolves once a statement waits for a shop's lock in this database; the server's other databases have their own. */
export async function untilLockIsAwaited(database: pg.Pool): Promise<void> {
  const isAwaited = async (): Promise<boolean> => {
    const { rowCount } = await database.query(
      `select from pg_locks
        where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`,
    );
    return rowCount !== 0;
  };
  await eventually(isAwaited, "a statement waits for the lock", 30);
}
