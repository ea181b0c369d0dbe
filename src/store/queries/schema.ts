import { queryColumn } from "../query.ts";

/** One name per migration the database has run, oldest first. */
export const appliedMigrations = queryColumn<string>(
  "applied_migrations",
  "select name from schema_migration order by id",
);
