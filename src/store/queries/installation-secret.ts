import type { Connection } from "../database.ts";
import { command, query } from "../query.ts";

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
