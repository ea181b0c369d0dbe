import type { Connection, Database } from "../../src/store/database.ts";

type Step = (connection: Connection) => Promise<void>;

/** The same database with an extra step at the start of each transaction and before its commit. */
export function withSteps(database: Database, steps: { first?: Step; last?: Step }): Database {
  return {
    ...database,
    transaction: (work, signal) =>
      database.transaction(async (connection) => {
        await steps.first?.(connection);
        const result = await work(connection);
        await steps.last?.(connection);
        return result;
      }, signal),
  };
}

/** The same database with a call before each statement of a transaction. */
export function withStatements(database: Database, onStatement: (name: string) => unknown): Database {
  return {
    ...database,
    transaction: (work, signal) =>
      database.transaction(
        (connection) =>
          work({
            ...connection,
            rows: async <Row>(...asked: Parameters<Database["rows"]>) => {
              await onStatement(asked[0].name);
              return connection.rows<Row>(...asked);
            },
          }),
        signal,
      ),
  };
}

/** The tables that nothing else may analyze, vacuum or alter before this transaction ends. */
export async function listKeptTables(connection: Connection): Promise<string[]> {
  const kept = await connection.rows<{ table: string }>(
    {
      name: "test_kept_tables",
      text: `select distinct c.relname as table from pg_locks l join pg_class c on c.oid = l.relation
              where l.pid = pg_backend_pid() and c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
                and l.mode not in ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')
              order by c.relname`,
    },
    [],
  );
  return kept.map(({ table }) => table);
}

/** Rows and index entries that this transaction has read so far, of all tables. */
export async function countRowsRead(connection: Connection): Promise<number> {
  const [row] = await connection.rows<{ read: number }>(
    {
      name: "test_rows_read",
      text: `select coalesce(sum(pg_stat_get_xact_tuples_returned(c.oid)), 0)::bigint as read
               from pg_class c where c.relkind in ('r', 'i')`,
    },
    [],
  );
  return row?.read ?? 0;
}
