import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";

const KEEP_FINGERPRINT = defineStatement({
  name: "keep_secret_fingerprint",
  text: "insert into installation (secret_fingerprint) values ($1) on conflict (is_only_row) do nothing",
});

/** Keeps the fingerprint of the first secret that was used; a later one changes nothing. */
export async function keepSecretFingerprint(database: Queryable, fingerprint: Buffer): Promise<void> {
  await database.rows(KEEP_FINGERPRINT, [fingerprint]);
}

const FIND_FINGERPRINT = defineStatement({
  name: "find_secret_fingerprint",
  text: "select secret_fingerprint from installation",
});

/** The kept fingerprint; null before the first secret was used. */
export async function findSecretFingerprint(database: Queryable): Promise<Buffer | null> {
  const [row] = await database.rows<{ secret_fingerprint: Buffer }>(FIND_FINGERPRINT, []);
  return row?.secret_fingerprint ?? null;
}

const SERVER_VERSION = defineStatement({
  name: "server_version",
  text: "select current_setting('server_version_num')::integer as number, current_setting('server_version') as name",
});

/** The database server's version: 180004 and "18.4". */
export async function serverVersion(database: Queryable): Promise<{ number: number; name: string }> {
  const [row] = await database.rows<{ number: number; name: string }>(SERVER_VERSION, []);
  if (row === undefined) throw new Error("The database server did not say its version.");
  return row;
}
