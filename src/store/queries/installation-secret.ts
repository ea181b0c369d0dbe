import type { Connection } from "../database.ts";
import { command, query, requireRow } from "../query.ts";

/** A root secret that the installation has had; `sealed_keys`: null = it is retired, at `retired_at`. */
export type RootSecretRow = {
  version: number;
  fingerprint: Buffer;
  sealed_keys: Buffer | null;
  created_at: Date;
  retired_at: Date | null;
};

const COLUMNS = "version, fingerprint, sealed_keys, created_at, retired_at";

/** Waits for whoever adds or retires a root secret, until the end of the transaction. On the coordinator of a Citus. */
export const lockRootSecrets = command<[], Connection>(
  "lock_root_secrets",
  "select pg_advisory_xact_lock(hashtextextended('root secrets', 0)) is null as locked from coordinator",
);

/** Every root secret, oldest first; empty before a version that has this table first used one. A scan of a few rows. */
export const listRootSecrets = query<RootSecretRow>(
  "list_root_secrets",
  `select ${COLUMNS} from installation_secret order by version`,
);

/** One row; the row of installation has to be there. */
export const insertRootSecret = requireRow<
  RootSecretRow,
  [version: number, fingerprint: Buffer, sealedKeys: Buffer],
  Connection
>(
  "insert_root_secret",
  `insert into installation_secret (version, fingerprint, sealed_keys) values ($1, $2, $3) returning ${COLUMNS}`,
);

/** Forgets what a root secret opens. Primary key. */
export const retireRootSecret = requireRow<RootSecretRow, [version: number], Connection>(
  "retire_root_secret",
  `update installation_secret set sealed_keys = null, retired_at = now() where version = $1 returning ${COLUMNS}`,
);
