import type { Connection } from "../../store/database.ts";
import type { CopiedTable } from "../../store/table-copy.ts";
import { command, query, requireValue, queryValue } from "../../store/query.ts";

const OF_NO_EXTENSION = `not exists (select from pg_depend d
                    where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`;

/**
 * Every table of the schema, by name, quoted where necessary; except that of the migrations, which is created with the schema.
 * `bytes` is its size on disk. From the catalogue, so that new tables are included.
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
 * Position of every sequence of the schema, by name, quoted where necessary; `last_value` null: not used yet. Snapshots do not
 * include them.
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

/** Whether the database has no table, view or sequence besides those of extensions. */
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

/** Notes when the newest backup was begun, also in place of a time to come. The one row of installation. */
export const noteBackup = command<[begunAt: Date], Connection>(
  "note_backup",
  "update installation set backed_up_at = $1 where backed_up_at is null or backed_up_at not between $1 and now()",
);

/** Gives the planner the sizes of all tables. */
export const analyzeEverything = command<[]>("analyze_everything", "analyze");

/** Keeps the fingerprint of the token pepper that was first used; a later one changes nothing. */
export const keepSecretFingerprint = command<[fingerprint: Buffer]>(
  "keep_secret_fingerprint",
  "insert into installation (secret_fingerprint) values ($1) on conflict (is_only_row) do nothing",
);

/** The kept fingerprint; null before the first secret was used. */
export const findSecretFingerprint = queryValue<Buffer>(
  "find_secret_fingerprint",
  "select secret_fingerprint from installation",
);

/** A root secret that opens the keys. */
export type RootSecretRow = { version: number; fingerprint: Buffer; sealed_keys: Buffer };

/** Serializes additions and removals of root secrets until the end of the transaction. On the coordinator of a Citus. */
export const lockRootSecrets = command<[], Connection>(
  "lock_root_secrets",
  "select pg_advisory_xact_lock(hashtextextended('root secrets', 0)) is null as locked from coordinator",
);

/** Every root secret, newest last; empty before a version that has this table first used one. A scan of a few rows. */
export const listRootSecrets = query<RootSecretRow>(
  "list_root_secrets",
  `select version, fingerprint, sealed_keys from installation_secret where sealed_keys is not null order by version`,
);

/** One row; the row of installation has to be there. */
export const insertRootSecret = command<
  [version: number, fingerprint: Buffer, sealedKeys: Buffer],
  Connection
>(
  "insert_root_secret",
  "insert into installation_secret (version, fingerprint, sealed_keys) values ($1, $2, $3)",
);

/** Removes root secrets, and the rows of those that an earlier version retired. A scan of a few rows. */
export const removeRootSecrets = command<[versions: number[]], Connection>(
  "remove_root_secrets",
  "delete from installation_secret where version = any($1) or sealed_keys is null",
);
