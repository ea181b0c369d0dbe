import type pg from "pg";

/**
 * Has the database refuse new and changed rows of a table that fit the condition; the error says the name. A constraint, since a
 * Citus takes no trigger on a distributed table. Resolves to what takes it back.
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
