import type { Connection } from "../database.ts";
import type { CopiedTable } from "../table-copy.ts";
import { command, query, requireValue } from "../query.ts";

const OF_NO_EXTENSION = `not exists (select from pg_depend d
                    where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`;

/**
 * Every table of the schema, by name, quoted where they have to be; not that of the migrations, which is made with the
 * schema. `bytes` is its size on disk. From the catalogue, so that none that a migration brings is forgotten.
 */
export const listStoredTables = query<CopiedTable & { bytes: number }, [], Connection>(
  "list_stored_tables",
  `select quote_ident(c.relname) as name, array_agg(quote_ident(a.attname) order by a.attnum) as columns,
                pg_table_size(c.oid) as bytes
           from pg_class c join pg_attribute a on a.attrelid = c.oid
          where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
            and c.relname <> 'schema_migration' and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
            and ${OF_NO_EXTENSION}
          group by c.oid, c.relname order by c.relname`,
);

/**
 * Where every sequence of the schema is, by name, quoted where they have to be; `last_value` null = it has never moved. No
 * snapshot holds them.
 */
export const listSequences = query<{ name: string; last_value: number | null }, [], Connection>(
  "list_sequences",
  `select quote_ident(s.sequencename) as name, s.last_value
           from pg_sequences s
          where s.schemaname = 'public' and s.sequencename <> 'schema_migration_id_seq'
          order by 1`,
);

export const moveSequence = command<[name: string, lastValue: number], Connection>(
  "move_sequence",
  "select setval(('public.' || $1::text)::regclass, $2::bigint)",
);

/** Whether the database holds no table, view or sequence but those of extensions. */
export const isEmptyDatabase = requireValue<boolean, [], Connection>(
  "is_empty_database",
  `select not exists (select from pg_class c
                where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
                  and ${OF_NO_EXTENSION}) as is_empty`,
);

/**
 * A data version above those that a server can remember of this database: versions count changes, and there are fewer
 * of them than milliseconds.
 */
export const findUnusedDataVersion = requireValue<number, [], Connection>(
  "find_unused_data_version",
  `select greatest(floor(extract(epoch from clock_timestamp()) * 1000)::bigint, max(w.data_version)) + 1 as data_version
           from workspace w`,
);

/** Early warnings that were evaluated at the version of a workspace stay so at its new one. */
export const raiseWarnedVersions = command<[dataVersion: number], Connection>(
  "raise_warned_versions",
  "update workspace set warned_version = $1 where warned_version = data_version",
);

export const raiseDataVersions = command<[dataVersion: number], Connection>(
  "raise_data_versions",
  "update workspace set data_version = $1",
);

/** Notes when the newest backup was begun. The one row of installation. */
export const noteBackup = command<[begunAt: Date], Connection>(
  "note_backup",
  "update installation set backed_up_at = greatest(backed_up_at, $1)",
);

/** Gives the planner the sizes of all tables. */
export const analyzeEverything = command<[]>("analyze_everything", "analyze");
