import type { Connection } from "../database.ts";
import { command, query, queryValue, requireRow } from "../query.ts";

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

/** The database server's version: 180004 and "18.4". */
export const serverVersion = requireRow<{ number: number; name: string }>(
  "server_version",
  "select current_setting('server_version_num')::integer as number, current_setting('server_version') as name",
);

/** A root secret that opens the keys. */
export type RootSecretRow = { version: number; fingerprint: Buffer; sealed_keys: Buffer };

/** Waits for whoever adds or removes a root secret, until the end of the transaction. On the coordinator of a Citus. */
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

/** A migration that the database has run. */
export type AppliedMigration = {
  name: string;
  /** The last migration that a version must know at least to work with the schema of this one; null = this one. */
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
