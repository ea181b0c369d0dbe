import type { Connection, Database } from "../store/database.ts";

/** A database whose transactions are all this one, so that an action and its audit row stand or fall together. */
export function joinTransaction(connection: Connection): Database {
  return {
    rows: (statement, values) => connection.rows(statement, values),
    transaction: (work) => work(connection),
    close: async () => {},
  };
}
