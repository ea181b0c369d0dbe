import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";

const APPLIED_MIGRATIONS = defineStatement({
  name: "applied_migrations",
  text: "select name from schema_migration order by id",
});

/** One name per migration the database has run, oldest first. */
export async function appliedMigrations(database: Queryable): Promise<string[]> {
  const rows = await database.rows<{ name: string }>(APPLIED_MIGRATIONS, []);
  return rows.map((row) => row.name);
}
