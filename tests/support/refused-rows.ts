import type pg from "pg";

/**
 * Makes the database refuse new and changed rows of a table that match the condition; the error has the name. By a constraint, since
 * Citus allows no trigger on a distributed table. Resolves to a function that removes it.
 */
export async function refuseRows(
  database: pg.Pool,
  table: string,
  name: string,
  condition: string,
): Promise<() => Promise<void>> {
  await database.query(`alter table ${table} add constraint ${name} check (not (${condition})) not valid`);
  return async () => {
    await database.query(`alter table ${table} drop constraint ${name}`);
  };
}
