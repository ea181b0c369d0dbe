import { query, requireRow, requireValue } from "../query.ts";

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

/** The schema of 1.0.0: a database that had run the migrations of 0.x keeps their rows before it. */
export const FIRST_MIGRATION = "0001_schema";

/** Whether the database has run any migration: an error would be a line in its log at each first start. */
export const hasMigrations = requireValue<boolean>(
  "has_migrations",
  "select to_regclass('schema_migration') is not null as has_migrations",
);

/**
 * One row per migration of 1.0.0 and later that the database has run, or else per migration of 0.x, oldest first; read as JSON
 * since early schemas lack the second column.
 */
export const appliedMigrations = query<AppliedMigration>(
  "applied_migrations",
  `select m.name, to_jsonb(m) ->> 'works_with' as works_with from schema_migration m
    where m.id >= coalesce((select max(f.id) from schema_migration f where f.name = '${FIRST_MIGRATION}'), 0) order by m.id`,
);
