import { command, query, requireRow } from "../query.ts";

/** The database server's version: 180004 and "18.4". */
export const serverVersion = requireRow<{ number: number; name: string }>(
  "server_version",
  "select current_setting('server_version_num')::integer as number, current_setting('server_version') as name",
);

/** A migration that the database has run. */
export type AppliedMigration = {
  name: string;
  /** The oldest migration that a version must know to be compatible with this schema; null: this one. */
  works_with: string | null;
};

/** One row per migration the database has run, oldest first; read as JSON since early schemas lack the second column. */
export const appliedMigrations = query<AppliedMigration>(
  "applied_migrations",
  "select m.name, to_jsonb(m) ->> 'works_with' as works_with from schema_migration m order by m.id",
);

/** Keeps which versions work with a migration's schema. A scan, of some dozens of rows. */
export const keepWorksWith = command<[name: string, worksWith: string]>(
  "keep_works_with",
  "update schema_migration set works_with = $2 where name = $1",
);
